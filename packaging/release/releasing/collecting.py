"""All files of a release in one folder, and the checksums of them."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from exebuild import parts, shipping
from releasing import ReleaseError, archive, installer, winget
from releasing.winget import Published

CHECKSUMS = "SHA256SUMS"
NOTES = "release-notes.md"


def collect(dist: Path, target: Path, published: Published, notes: str) -> list[str]:
    """Fills `target` anew, and puts the notes beside it; the names of what there is to publish."""
    msi = dist / installer.file_name(published.release)
    zipped = dist / archive.file_name(published.release)
    others = (shipping.PROGRAM, shipping.LOG_PROGRAM, parts.BILL_FILE, parts.LICENSES_FILE)
    files = [msi, zipped, *(dist / name for name in others)]
    for file in files:
        if not file.exists():
            raise ReleaseError(f"{file.name} is not built")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for file in files:
        shutil.copyfile(file, target / file.name)
    for name, text in winget.manifests(published, msi).items():
        (target / name).write_text(text, "utf-8", newline="\n")
    names = sorted(file.name for file in target.iterdir())
    (target / CHECKSUMS).write_text("".join(_sum(target / name) for name in names), "utf-8", newline="\n")
    (dist / NOTES).write_text(f"{notes}\n", "utf-8", newline="\n")
    return [*names, CHECKSUMS]


def _sum(file: Path) -> str:
    """As sha256sum writes it of a binary file."""
    return f"{hashlib.sha256(file.read_bytes()).hexdigest()} *{file.name}\n"
