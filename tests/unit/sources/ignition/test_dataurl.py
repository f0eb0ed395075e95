from __future__ import annotations

import pytest

from agent.sources.ignition import rules


@pytest.mark.parametrize(
    ("url", "data"),
    [
        ("data:,", b""),
        ("data:,hello", b"hello"),
        ("data:,hello%20world%0a", b"hello world\n"),
        ("data:,%00%fF%Ff", b"\x00\xff\xff"),
        ("data:,a=b&c=%3D=", b"a=b&c==="),
        ("data:,a,b", b"a,b"),
        ("data:,a?b", b"a?b"),
        ("data:;base64,", b""),
        ("data:;base64,aGVsbG8=", b"hello"),
        ("data:;base64,/+AA", b"\xff\xe0\x00"),
        ("data:text/plain;charset=utf-8;base64,aGkK", b"hi\n"),
        ("data:application/vnd.x+json,{}".replace("{}", "x"), b"x"),
        ("data:x-mine/,x", b"x"),
        ("data:message/rfc822;a=b;c=%41,x", b"x"),
        ('data:;a="b c\\x41\\u00e4\\n",x', b"x"),
        ("data:;base64=x,a", b"a"),
        ("data:;%a=b,x", b"x"),
    ],
)
def test_decoded(url: str, data: bytes) -> None:
    assert rules.decode_data_url(url) == data


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("DATA:,x", "does not begin with data: in lower case"),
        ("data:x", "no comma"),
        ("data:text/plain", "no comma"),
        ("data:foo/bar,x", "no media type"),
        ("data:text,x", "no media type"),
        ("data:text/plain;,x", "no media type"),
        ("data:text/plain;x,x", "no media type"),
        ("data:;base64;a=b,x", "no media type"),
        ("data:;a=,x", "no media type"),
        ("data:\u00e4/b,x", "no media type"),
        ("data:;a=%zz,x", "parameters"),
        ('data:;a="\\q",x', "parameters"),
        ('data:;a="\n",x', "parameters"),
        ("data:;#%z=b,x", "two hexadecimal digits"),
        ("data:,a b", "U+0020"),
        ("data:,\u00e4", "U+00E4"),
        ("data:,a#b", "U+0023"),
        ("data:,[", "U+005B"),
        ("data:,a\nb", "U+000A"),
        ("data:,%", "two hexadecimal digits"),
        ("data:,%4", "two hexadecimal digits"),
        ("data:,%4g", "two hexadecimal digits"),
        ("data:,%%41", "two hexadecimal digits"),
        ("data:,100%!", "two hexadecimal digits"),
        ("data:;base64,aGVsbG8", "not base64"),
        ("data:;base64,aGVsbG8==", "not base64"),
        ("data:;base64,aGVsbG=8", "not base64"),
        ("data:;base64,aGVs====", "not base64"),
        ("data:;base64,aGTVsbG8=", "not base64"),
        ("data:;base64,=aGV", "not base64"),
        ("data:;base64,aGVs\nbG8=", "not base64"),
        ("data:;base64,aGVs bG8=", "not base64"),
        ("data:;base64,-_AA", "not base64"),
        ("data:;base64,aGk%3D", "not base64"),
        ("data:;base64,\u00e4\u00e4\u00e4\u00e4", "not base64"),
    ],
)
def test_not_decodable(url: str, why: str) -> None:
    with pytest.raises(rules.NotDecodable, match=why.replace("+", r"\+")):
        rules.decode_data_url(url)


def test_every_byte_in_every_spelling() -> None:
    for value in range(256):
        for spelling in (f"{value:02x}", f"{value:02X}", f"{value >> 4:x}{value & 15:X}"):
            assert rules.decode_data_url(f"data:,a%{spelling}b") == b"a" + bytes([value]) + b"b"
