"""Reading what reg.exe exports."""

from __future__ import annotations

import pytest

from lab.registry import Key, Value, parse

PATH = r"HKLM\Software\Lab"
EXPORT = r"""Windows Registry Editor Version 5.00

[HKEY_LOCAL_MACHINE\Software\Lab]
@="default"
"Text"="a \\ \"b\""
"Number"=dword:ffffffff
"Bytes"=hex:00,01,\
  02
"Expanded"=hex(2):25,00,50,00,25,00,00,00
"List"=hex(7):61,00,00,00,62,00,00,00,00,00
"Long"=hex(b):00,00,00,00,00,00,00,80
"With=sign"="x"

[HKEY_LOCAL_MACHINE\Software\Lab\Below]
"Text"="not this one"

[HKEY_LOCAL_MACHINE\Software\Lab\Below\Deeper]
"""


@pytest.fixture
def key() -> Key:
    return parse(EXPORT.replace("\n", "\r\n"), PATH)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("", Value("REG_SZ", "default")),
        ("Text", Value("REG_SZ", 'a \\ "b"')),
        ("number", Value("REG_DWORD", 0xFFFFFFFF)),
        ("BYTES", Value("REG_BINARY", b"\0\1\2")),
        ("Expanded", Value("REG_EXPAND_SZ", "%P%")),
        ("List", Value("REG_MULTI_SZ", ["a", "b"])),
        ("Long", Value("REG_QWORD", 1 << 63)),
        ("With=sign", Value("REG_SZ", "x")),
    ],
)
def test_values_are_read_by_their_types(key: Key, name: str, value: Value) -> None:
    assert key[name] == value


def test_only_the_keys_directly_below_are_named(key: Key) -> None:
    assert key.keys == ["Below"]


def test_what_is_not_there_is_none(key: Key) -> None:
    assert "Nothing" not in key
    assert key.data("Nothing") is None
