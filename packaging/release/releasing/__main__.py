"""`python -m releasing`: the steps of a release, for public CI and for whoever tries them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from exebuild import assembly, signing
from releasing import ReleaseError

REPOSITORY = Path(__file__).parents[3]
DIST = REPOSITORY / "dist"


def _installer(_: argparse.Namespace) -> str:
    from releasing import installer

    release = assembly.release_of(REPOSITORY)
    target = DIST / installer.file_name(release)
    installer.build(DIST / "wmcb.exe", target, release)
    return f"built {target.name}"


def _sign(given: argparse.Namespace) -> str:
    for file in given.files:
        signing.sign(Path(file))
    return f"signed {' '.join(given.files)}"


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="releasing", description=__doc__)
    commands = parser.add_subparsers(required=True)
    installer = commands.add_parser("installer", help="dist/wmcb-VERSION.msi, of dist/wmcb.exe")
    installer.set_defaults(run=_installer)
    sign = commands.add_parser("sign", help="signs by the key or the command that variables name")
    sign.add_argument("files", nargs="+", metavar="FILE")
    sign.set_defaults(run=_sign)
    return parser


def main() -> int:
    """Says in a line what was done, or why it was not."""
    given = _arguments().parse_args()
    try:
        sys.stdout.write(f"{given.run(given)}\n")
    except (ReleaseError, signing.SigningError, OSError) as error:
        sys.stderr.write(f"releasing: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
