"""The MSI, by wixl and msibuild of Debian, which know Windows Installer's tables without Windows."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING

from releasing import NAME, PUBLISHER, ReleaseError

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCE, AMENDMENTS = (Path(__file__).parents[1] / name for name in ("wmcb.wxs", "wmcb.sql"))
UPGRADE_CODE = uuid.UUID("8a5f54e6-54e5-4a49-a9f6-5e3f1c5b8a57")
"""What all versions have in common. Never another: Windows would install two of them side by side."""
_LARGEST = (255, 255, 65535)


def file_name(release: str) -> str:
    """Of the installer of this release."""
    return f"{NAME}-{release}.msi"


def product_code(release: str) -> str:
    """Another one for each version, or Windows takes a newer one for a repair of the older."""
    return _braced(uuid.uuid5(UPGRADE_CODE, release))


def upgrade_code() -> str:
    """As Windows Installer writes it."""
    return _braced(UPGRADE_CODE)


def build(exe: Path, target: Path, release: str) -> None:
    """Leaves at `target` an installer of `exe`."""
    _check(release)
    values = {
        "ProductCode": product_code(release),
        "Publisher": PUBLISHER,
        "UpgradeCode": upgrade_code(),
        "Version": release,
    }
    with tempfile.TemporaryDirectory(prefix="wmcb-installer-") as place:
        folder = Path(place)
        shutil.copyfile(exe, folder / "wmcb.exe")
        shutil.copyfile(SOURCE, folder / SOURCE.name)
        defined = [word for name, value in values.items() for word in ("-D", f"{name}={value}")]
        # Sources are found beside its file, and nowhere else.
        _run(["wixl", "--arch", "x64", *defined, "--output", "wmcb.msi", SOURCE.name], folder)
        for statement in _amendments(values):
            _run(["msibuild", "wmcb.msi", "-q", statement], folder)
        code = _braced(uuid.uuid5(UPGRADE_CODE, f"{release} {hashlib.sha256(exe.read_bytes()).hexdigest()}"))
        _run(["msibuild", "wmcb.msi", "-s", f"{NAME} {release}", PUBLISHER, "x64;1033", code], folder)
        shutil.copyfile(folder / "wmcb.msi", target)


def _check(release: str) -> None:
    parts = release.split(".")
    fits = len(parts) == len(_LARGEST) and all(part.isdecimal() for part in parts)
    if not fits or any(int(part) > most for part, most in zip(parts, _LARGEST, strict=True)):
        raise ReleaseError(f"{release} is no version for Windows Installer: X.Y.Z, at most 255.255.65535")


def _amendments(values: dict[str, str]) -> Iterator[str]:
    for line in AMENDMENTS.read_text("utf-8").splitlines():
        if line and not line.startswith("--"):
            yield line.replace("$(Version)", values["Version"])


def _braced(code: uuid.UUID) -> str:
    return f"{{{code}}}".upper()


def _run(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        raise ReleaseError(
            f"{command[0]} is not there: it is in Debian's packages wixl and msitools"
        ) from None
    if done.returncode != 0 or "WARNING" in done.stdout:
        raise ReleaseError(f"{command[0]} ended with {done.returncode}: {done.stdout.strip()}")
