"""The ZIP of the program's folder, with the same bytes each time."""

from __future__ import annotations

import zipfile
from pathlib import Path

from releasing import NAME

_NO_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest that the format knows."""


def file_name(release: str) -> str:
    """Return the name of this release's archive."""
    return f"{NAME}-{release}.zip"


def build(program: Path, target: Path) -> None:
    """Leave at `target` an archive of the program's folder, which is the only one in it."""
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(path for path in program.rglob("*") if path.is_file()):
            name = f"{NAME}/{path.relative_to(program).as_posix()}"
            archive.writestr(zipfile.ZipInfo(name, _NO_TIME), path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
