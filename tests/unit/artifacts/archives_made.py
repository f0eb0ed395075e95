"""Archives, made by Python's own tarfile and zipfile, or by hand where those would not."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import PureWindowsPath

from agent.artifacts.archives import wanted
from agent.artifacts.means import Unusable
from agent.spec import Unpacking


class Read(io.BytesIO):
    """As a host reads a file."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.size = len(content)

    def seek(self, offset: int, whence: int = 0) -> None:  # type: ignore[override]
        super().seek(offset, whence)


def tar(*members: tuple[str, bytes] | tarfile.TarInfo, form: int = tarfile.PAX_FORMAT) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=form) as archive:
        for member in members:
            if isinstance(member, tarfile.TarInfo):
                archive.addfile(member)
            else:
                info = tarfile.TarInfo(member[0])
                info.size = len(member[1])
                archive.addfile(info, io.BytesIO(member[1]))
    return made.getvalue()


def tar_gz(*members: tuple[str, bytes] | tarfile.TarInfo, form: int = tarfile.PAX_FORMAT) -> bytes:
    return gzip.compress(tar(*members, form=form), 1)


def special(name: str, kind: bytes, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def zipped(*members: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return made.getvalue()


def zip_link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, 0o120777 << 16
    return info


def unpacked(archive: bytes, *, strip: int = 0, members: Mapping[str, str] | None = None) -> dict[str, bytes]:
    unpacking = Unpacking(PureWindowsPath("C:\\t"), strip, members or {})
    return {name: b"".join(content) for name, content in wanted(Read(archive), unpacking)}


def refusal(archive: bytes, *, strip: int = 0, members: Mapping[str, str] | None = None) -> str:
    try:
        unpacked(archive, strip=strip, members=members)
    except Unusable as fault:
        return str(fault)
    return ""
