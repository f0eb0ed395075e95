"""Sections added to a program, read back by an independent reader of such files."""

from __future__ import annotations

import struct

import pefile  # type: ignore[import-untyped]
import pytest

from exebuild import image

PAGE = 4096


def program(*, sections: int = 1, room_for_headers: int = 0x400) -> bytes:
    """The least that is a 64-bit Windows program: headers, and one section or more with a little code."""
    dos = b"MZ" + bytes(58) + struct.pack("<I", 64)
    file_header = struct.pack("<4sHHIIIHH", b"PE\0\0", 0x8664, sections, 0, 0, 0, 240, 0x22)
    optional = struct.pack(
        "<HBBIIIIIQIIHHHHHHIIIIHHQQQQII",
        *(0x20B, 14, 0, 0x200, 0, 0, 0x1000, 0x1000, 0x140000000, 0x1000, 0x200, 6, 0, 0, 0, 6, 0, 0),
        *(0x1000 * (sections + 1), room_for_headers, 0, 3, 0x160, 1 << 20, 1 << 12, 1 << 20, 1 << 12, 0, 16),
    )
    optional += bytes(240 - len(optional))
    table = b"".join(
        struct.pack(
            "<8sIIIIIIHHI", b".text", 16, 0x1000 * (i + 1), 0x200, 0x400 + 0x200 * i, 0, 0, 0, 0, 0x60000020
        )
        for i in range(sections)
    )
    return (dos + file_header + optional + table).ljust(0x400, b"\0") + b"\xc3".ljust(0x200, b"\0") * sections


@pytest.mark.parametrize("size", [1, PAGE - 1, PAGE, PAGE + 1, 3 * PAGE + 17])
def test_a_section_is_found_with_its_content(size: int) -> None:
    content = bytes(i % 251 for i in range(size))
    parsed = pefile.PE(data=image.add_section(program(), ".payload", content))
    first, added = parsed.sections
    assert added.Name == b".payload"
    assert added.get_data()[:size] == content
    assert added.Misc_VirtualSize == size
    assert first.get_data()[:1] == b"\xc3", "what was there is as it was"


def test_it_is_mapped_behind_all_others_and_at_a_page_of_the_file() -> None:
    parsed = pefile.PE(data=image.add_section(program(sections=3), ".payload", bytes(range(250)) * 20))
    *others, added = parsed.sections
    alignment = parsed.OPTIONAL_HEADER.SectionAlignment
    assert added.VirtualAddress % alignment == 0
    assert all(added.VirtualAddress >= each.VirtualAddress + each.Misc_VirtualSize for each in others)
    assert (
        added.VirtualAddress + 5000 <= parsed.OPTIONAL_HEADER.SizeOfImage < added.VirtualAddress + 5000 + PAGE
    )
    assert added.PointerToRawData % PAGE == 0, "or Windows copies it instead of mapping it"
    # It is also wary of a file that has as much padding as this one.
    assert not [each for each in parsed.get_warnings() if not each.startswith("Byte 0x00 makes up")]


def test_it_can_be_read_and_nothing_else() -> None:
    added = pefile.PE(data=image.add_section(program(), ".payload", b"x")).sections[-1]
    assert (added.IMAGE_SCN_MEM_READ, added.IMAGE_SCN_MEM_WRITE, added.IMAGE_SCN_MEM_EXECUTE) == (1, 0, 0)


@pytest.mark.parametrize(
    ("what", "wrong"),
    [
        ("not a Windows program", b"\x7fELF".ljust(1024, b"\0")),
        ("no room for another section header", program(sections=2, room_for_headers=64 + 24 + 240 + 2 * 40)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_get_a_section_is_refused(what: str, wrong: bytes) -> None:
    with pytest.raises(ValueError, match=what):
        image.add_section(wrong, ".x", b"x")
