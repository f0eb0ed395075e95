"""The MSI, by wixl and msibuild of Debian, which know Windows Installer's tables without Windows."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import quoteattr

from releasing import NAME, PUBLISHER, ReleaseError

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


def build(program: Path, target: Path, release: str) -> None:
    """Leave at `target` an installer of the program's folder."""
    _check(release)
    values = {
        "ProductCode": product_code(release),
        "Publisher": PUBLISHER,
        "UpgradeCode": upgrade_code(),
        "Version": release,
    }
    with tempfile.TemporaryDirectory(prefix="wmcb-installer-") as place:
        folder = Path(place)
        shutil.copytree(program, folder, dirs_exist_ok=True)
        folders = "".join(_element(program, path) for path in sorted(program.iterdir()) if path.is_dir())
        references = "".join(f'<ComponentRef Id="{each}" />' for each in _folders(program))
        text = SOURCE.read_text("utf-8").replace("<?folders?>", folders).replace("<?references?>", references)
        (folder / SOURCE.name).write_text(text, "utf-8")
        defined = [word for name, value in values.items() for word in ("-D", f"{name}={value}")]
        # Sources are found beside its file, and nowhere else.
        _run(["wixl", "--arch", "x64", *defined, "--output", "wmcb.msi", SOURCE.name], folder)
        # Known by its folder: by a library Windows would compare versions, and keep one that it removes next.
        by_folder = [
            f"UPDATE `Component` SET `KeyPath` = '' WHERE `Component` = '{each}'"  # noqa: S608 - our own names
            for each in _folders(program)
        ]
        for statement in (*_amendments(values), *by_folder):
            _run(["msibuild", "wmcb.msi", "-q", statement], folder)
        content = "".join(hashlib.sha256(file.read_bytes()).hexdigest() for file in _all(program))
        code = _braced(uuid.uuid5(UPGRADE_CODE, f"{release} {content}"))
        _run(["msibuild", "wmcb.msi", "-s", f"{NAME} {release}", PUBLISHER, "x64;1033", code], folder)
        shutil.copyfile(folder / "wmcb.msi", target)


def _all(program: Path) -> list[Path]:
    return sorted(path for path in program.rglob("*") if path.is_file())


def _id(program: Path, path: Path) -> str:
    """Return an identifier for a file or folder, the same for the same path in all versions."""
    return f"Of{uuid.uuid5(UPGRADE_CODE, path.relative_to(program).as_posix()).hex}"


def _folders(program: Path) -> list[str]:
    return [_id(program, path) for path in sorted(program.rglob("*")) if path.is_dir()]


def _elements(program: Path, folder: Path) -> str:
    """Return the elements of what is in a folder of the program's, with one component for its files."""
    known = _id(program, folder)
    found = f'<Component Id="{known}" Guid="{uuid.uuid5(UPGRADE_CODE, known)}" Win64="yes">'
    paths = sorted(folder.iterdir(), key=lambda path: (path.is_dir(), path.name))
    for path in paths:
        if path.is_file():
            place = quoteattr(path.relative_to(program).as_posix())
            found += f'<File Id="{_id(program, path)}" Name={quoteattr(path.name)} Source={place} />'
    return f"{found}</Component>" + "".join(_element(program, path) for path in paths if path.is_dir())


def _element(program: Path, folder: Path) -> str:
    name, known = quoteattr(folder.name), _id(program, folder)
    return f'<Directory Id="{known}" Name={name}>{_elements(program, folder)}</Directory>'


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
