"""`python -m releasing`: the steps of a release, for public CI and for whoever tries them."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from agent.release import RELEASE
from releasing import (
    ReleaseError,
    archive,
    changelog,
    installer,
    signing,
    versions,
    vulnerabilities,
)

REPOSITORY = Path(__file__).parents[3]
DIST = REPOSITORY / "dist"
LOCKS = REPOSITORY / "packaging" / "locks"


def _check(given: argparse.Namespace) -> str:
    tag = {f"the tag {given.tag}": versions.of_tag(given.tag)} if given.tag else {}
    versions.agree(RELEASE, {**versions.of_sources(REPOSITORY), **tag})
    versions.check_changelog(_changelog(), RELEASE, is_tagged=bool(given.tag))
    return RELEASE


def _changelog() -> str:
    return (REPOSITORY / "CHANGELOG.md").read_text("utf-8")


def _collect(given: argparse.Namespace) -> str:
    from releasing import collecting  # noqa: PLC0415 - yaml, which the job that asks pip-audit does not install
    from releasing.winget import Published  # noqa: PLC0415 - yaml, likewise

    text = _changelog()
    versions.agree(RELEASE, versions.of_built(DIST))
    published = Published(RELEASE, changelog.day_of(text, RELEASE), given.address)
    return "\n".join(collecting.collect(DIST, DIST / "release", published, changelog.notes(text, RELEASE)))


def _installer(_: argparse.Namespace) -> str:
    target, zipped = DIST / installer.file_name(RELEASE), DIST / archive.file_name(RELEASE)
    installer.build(DIST / "wmcb", target, RELEASE)
    archive.build(DIST / "wmcb", zipped)
    return f"built {target.name} and {zipped.name}"


def _sign(given: argparse.Namespace) -> str:
    if not signing.wanted():
        raise ReleaseError(
            f"nothing signs: name {signing.COMMAND}, or {signing.CERTIFICATE} and {signing.KEY}"
        )
    for file in given.files:
        signing.sign(Path(file))
    return f"signed {' '.join(given.files)}"


def _vulnerabilities(given: argparse.Namespace) -> str:
    files = vulnerabilities.lock_files(LOCKS)
    verdict = vulnerabilities.judged(vulnerabilities.locked(files), vulnerabilities.ask(files))
    text = vulnerabilities.report(verdict)
    if verdict.known or (given.must_answer and verdict.unanswered):
        raise ReleaseError(text)
    return text


def arguments() -> argparse.ArgumentParser:
    """The steps, and what each takes."""
    parser = argparse.ArgumentParser(prog="releasing", description=__doc__)
    commands = parser.add_subparsers(required=True)
    check = commands.add_parser("check", help="whether the sources are what their tag says")
    check.add_argument("tag", nargs="?", metavar="TAG")
    check.set_defaults(run=_check)
    installer = commands.add_parser("installer", help="dist/wmcb-VERSION.msi and .zip of dist/wmcb")
    installer.set_defaults(run=_installer)
    sign = commands.add_parser("sign", help="signs by the key or the command that variables name")
    sign.add_argument("files", nargs="+", metavar="FILE")
    sign.set_defaults(run=_sign)
    collect = commands.add_parser("collect", help="dist/release, with checksums and winget's manifests")
    collect.add_argument("address", metavar="URL", help="where its files will be")
    collect.set_defaults(run=_collect)
    known = commands.add_parser("vulnerabilities", help="known ones of all that packaging/locks pins")
    known.add_argument("--must-answer", action="store_true", help="fail where a package is not told of")
    known.set_defaults(run=_vulnerabilities)
    return parser


def main() -> int:
    """Says in a line what was done, or why it was not."""
    given = arguments().parse_args()
    try:
        sys.stdout.write(f"{given.run(given)}\n")
    except (ReleaseError, signing.SigningError, OSError) as error:
        sys.stderr.write(f"releasing: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
