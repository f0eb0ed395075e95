"""What Windows reads in a program, as a file for the linker: version, icon, manifest, texts of events."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

# Kinds of resources, by Windows' numbers.
_ICON, _MESSAGES, _ICON_GROUP, _VERSION, _MANIFEST = 3, 11, 14, 16, 24
_LANGUAGE, _CODE_PAGE = 0x0409, 1200  # English, UTF-16

ICON = Path(__file__).parents[1] / "wmcb.ico"
"""Bitmaps: a node (a hexagon) with a window in it."""

_FIXED_FILE_INFO = 0xFEEF04BD
EVENT_IDS = range(1, 256)

_COPYRIGHT = "Licensed under the Apache License, Version 2.0"

# asInvoker: `version` and `--help` need no rights, and what does need them says so itself. The code page is
# for functions of Windows that take bytes; Python calls the ones that take UTF-16.
MANIFEST = """\
<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<assembly xmlns="urn:schemas-microsoft-com:asm.v1" manifestVersion="1.0">
  <trustInfo xmlns="urn:schemas-microsoft-com:asm.v3">
    <security>
      <requestedPrivileges><requestedExecutionLevel level="asInvoker" uiAccess="false"/></requestedPrivileges>
    </security>
  </trustInfo>
  <compatibility xmlns="urn:schemas-microsoft-com:compatibility.v1">
    <application><supportedOS Id="{8e0f7a12-bfb3-4fe8-b9a5-48fd50a15a9a}"/></application>
  </compatibility>
  <application xmlns="urn:schemas-microsoft-com:asm.v3">
    <windowsSettings>
      <longPathAware xmlns="http://schemas.microsoft.com/SMI/2016/WindowsSettings">true</longPathAware>
      <activeCodePage xmlns="http://schemas.microsoft.com/SMI/2019/WindowsSettings">UTF-8</activeCodePage>
    </windowsSettings>
  </application>
</assembly>
"""


def build(release: str, commit: str) -> bytes:
    """The whole .res file of wmcb.exe."""
    icons = ICON.read_bytes()
    entries = list(struct.iter_unpack("<8sII", icons[6 : 6 + 16 * struct.unpack_from("<H", icons, 4)[0]]))
    pictures = [icons[place : place + size] for _, size, place in entries]
    group = icons[:6] + b"".join(
        struct.pack("<8sIH", about, size, number) for number, (about, size, _) in enumerate(entries, 1)
    )
    return b"".join(
        (
            _resource(0, 0, b""),  # what every such file begins with
            *(_resource(_ICON, number, picture) for number, picture in enumerate(pictures, 1)),
            _resource(_MESSAGES, 1, event_texts()),
            _resource(_ICON_GROUP, 1, group),
            _resource(_VERSION, 1, version(release, commit)),
            _resource(_MANIFEST, 1, MANIFEST.encode()),
        )
    )


def build_for_log_runner(digest: str) -> bytes:
    """The same for wmcb-log.exe, known by a digest of its sources.

    Release and commit would make it another file with each of ours, for which a kubelet had to be restarted.
    The texts of events are in it because it stays on a node where wmcb.exe has come and gone.
    """
    texts = {
        "FileDescription": "Writes the log of a Kubernetes node's service",
        "FileVersion": digest,
        "InternalName": "wmcb-log",
        "LegalCopyright": _COPYRIGHT,
        "OriginalFilename": "wmcb-log.exe",
        "ProductName": "wmcb",
    }
    return b"".join(
        (
            _resource(0, 0, b""),
            _resource(_MESSAGES, 1, event_texts()),
            _resource(_VERSION, 1, _version([0, 0, 0, 0], texts)),
            _resource(_MANIFEST, 1, MANIFEST.encode()),
        )
    )


def _aligned(content: bytes) -> bytes:
    return content + bytes(-len(content) % 4)


def _resource(kind: int, name: int, content: bytes) -> bytes:
    # 0xFFFF says that a number follows and not a text.
    header = struct.pack("<IIHHHHIHHII", len(content), 32, 0xFFFF, kind, 0xFFFF, name, 0, 0, _LANGUAGE, 0, 0)
    return _aligned(header + content)


def version(release: str, commit: str) -> bytes:
    """VS_VERSIONINFO of wmcb.exe."""
    numbers = [*(int(part) for part in re.findall(r"\d+", release)), 0, 0, 0, 0][:4]
    texts = {
        "FileDescription": "Turns a Windows Server machine into a Kubernetes worker node",
        "FileVersion": release,
        "InternalName": "wmcb",
        "LegalCopyright": _COPYRIGHT,
        "OriginalFilename": "wmcb.exe",
        "ProductName": "wmcb",
        "ProductVersion": f"{release}+{commit}",
    }
    return _version(numbers, texts)


def file_version(program: bytes) -> str:
    """The numbers of a program's version resource, found by their signature."""
    numbers = program.partition(struct.pack("<I", _FIXED_FILE_INFO))[2]
    minor, major, private, build = struct.unpack_from("<4H", numbers, 4)
    return f"{major}.{minor}.{build}.{private}"


def _version(numbers: Sequence[int], texts: Mapping[str, str]) -> bytes:
    high, low = numbers[0] << 16 | numbers[1], numbers[2] << 16 | numbers[3]
    # Signature, structure's version, file's and product's version, flags, Windows NT, a program.
    fixed = struct.pack("<13I", _FIXED_FILE_INFO, 0x10000, high, low, high, low, 0x3F, 0, 0x40004, 1, 0, 0, 0)
    strings = [_block(name, _text(text), len(text) + 1, is_text=True) for name, text in texts.items()]
    table = _block(f"{_LANGUAGE:04X}{_CODE_PAGE:04X}", children=strings)
    translation = _block("Translation", struct.pack("<HH", _LANGUAGE, _CODE_PAGE), 4)
    children = [_block("StringFileInfo", children=[table]), _block("VarFileInfo", children=[translation])]
    return _block("VS_VERSION_INFO", fixed, len(fixed), children=children)


def _text(text: str) -> bytes:
    return (text + "\0").encode("utf-16-le")


def _block(
    key: str,
    value: bytes = b"",
    length: int = 0,
    *,
    is_text: bool = False,
    children: list[bytes] | None = None,
) -> bytes:
    """Length, value's length (in characters where it is text), kind, key, value, children; each aligned."""
    inner = _aligned(struct.pack("<HHH", 0, length, is_text) + _text(key)) + value
    for child in children or []:
        inner = _aligned(inner) + child
    return struct.pack("<H", len(inner)) + inner[2:]


def event_texts() -> bytes:
    """A message table by which Event Viewer shows, for each event, just the text that was logged."""
    text = _text("%1\r\n")
    entry = _aligned(struct.pack("<HH", len(_aligned(bytes(4) + text)), 1) + text)
    only_block = struct.pack("<III", EVENT_IDS.start, EVENT_IDS.stop - 1, 4 + 12)
    return struct.pack("<I", 1) + only_block + entry * len(EVENT_IDS)
