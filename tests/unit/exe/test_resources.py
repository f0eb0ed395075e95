"""What Windows reads in the exe, where it needs no exe to look at; the rest is in tests/windows."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from xml.etree import ElementTree

from exebuild import resources


def _entries(content: bytes) -> Iterator[tuple[int, int, bytes]]:
    place = 0
    while place < len(content):
        size, header_size, _, kind, _, name = struct.unpack_from("<IIHHHH", content, place)
        yield kind, name, content[place + header_size : place + header_size + size]
        place += -(-(header_size + size) // 4) * 4


def test_a_resource_file_holds_all_kinds() -> None:
    found = [(kind, name) for kind, name, _ in _entries(resources.build("1.2.3", "c" * 40))]
    assert found == [(0, 0), (3, 1), (3, 2), (3, 3), (11, 1), (14, 1), (16, 1), (24, 1)]


def test_the_log_runner_is_known_by_a_digest_of_its_sources_and_has_the_texts_of_events() -> None:
    found = {kind: content for kind, _, content in _entries(resources.build_for_log_runner("0123abcd"))}
    assert sorted(found) == [0, 11, 16, 24]
    assert found[11] == resources.event_texts()
    assert "0123abcd\0".encode("utf-16-le") in found[16]


def test_the_icon_group_names_each_picture_with_its_size() -> None:
    kinds = {(kind, name): content for kind, name, content in _entries(resources.build("1.2.3", "c"))}
    group = kinds[14, 1]
    for i, size in enumerate((16, 32, 48)):
        width, height, *_, length, number = struct.unpack_from("<BBBBHHIH", group, 6 + 14 * i)
        assert (width, height) == (size, size)
        assert len(kinds[3, number]) == length


def test_the_manifest_asks_for_no_rights_and_allows_long_paths() -> None:
    manifest = ElementTree.fromstring(resources.MANIFEST.encode())  # noqa: S314 - our own
    texts = {element.tag.rpartition("}")[2]: (element.text or "").strip() for element in manifest.iter()}
    (level,) = (each for each in manifest.iter() if each.tag.endswith("requestedExecutionLevel"))
    assert level.attrib == {"level": "asInvoker", "uiAccess": "false"}
    assert texts["longPathAware"] == "true"
    assert texts["activeCodePage"] == "UTF-8"
    assert "{8e0f7a12-bfb3-4fe8-b9a5-48fd50a15a9a}" in resources.MANIFEST, "Windows 10, Server 2016 and later"


def test_each_event_is_shown_as_it_was_logged() -> None:
    table = resources.event_texts()
    blocks, first, last, place = struct.unpack_from("<IIII", table)
    assert (blocks, first, last) == (1, 1, 255)
    for _ in range(first, last + 1):
        length, is_unicode = struct.unpack_from("<HH", table, place)
        assert is_unicode == 1
        assert table[place + 4 : place + length].decode("utf-16-le").rstrip("\0") == "%1\r\n"
        place += length
    assert place == len(table)
