"""Headers of tar that say what cannot be: each is refused in a line."""

from __future__ import annotations

import gzip
import tarfile
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.artifacts.means import Unusable
from unit.artifacts.archives_made import refusal, unpacked

DAMAGED = "it is no tar archive, or is damaged"
SIZE = slice(124, 136)
CHECKSUM = slice(148, 156)


def header(size: bytes, kind: bytes = tarfile.REGTYPE, name: str = "tool.exe") -> bytes:
    """A member whose size is said in these bytes."""
    info = tarfile.TarInfo(name)
    info.type = kind
    made = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    made[SIZE] = size.ljust(12, b"\0")
    made[CHECKSUM] = b" " * 8
    made[CHECKSUM] = b"%06o\0 " % sum(made)
    return bytes(made)


def padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % 512)


def extended(content: bytes, kind: bytes = tarfile.XHDTYPE) -> bytes:
    return header(b"%011o" % len(content), kind) + padded(content)


def archive(*parts: bytes) -> bytes:
    return gzip.compress(b"".join(parts) + bytes(1024))


MEMBER = header(b"00000000003") + padded(b"MZ!")

SIZES = {
    "digits": (b"00000000003", ""),
    "digits with blanks around": (b"   3 \0", ""),
    "bytes, as GNU writes what is large": (b"\x80" + (3).to_bytes(11, "big"), ""),
    "a negative number": (b"-3", DAMAGED),
    "a negative number in bytes": (b"\xff" * 11 + b"\xfd", DAMAGED),
    "a number with a sign": (b"+3", DAMAGED),
    "a number as Python writes it": (b"0o3", DAMAGED),
    "a number with a bar": (b"0_3", DAMAGED),
    "digits that are not octal": (b"9", DAMAGED),
    "digits with a blank between": (b"0 3", DAMAGED),
    "letters": (b"abc", DAMAGED),
    "more than the archive has": (b"00000777777", "it is cut short"),
    "more than any disk has": (b"\x80" + b"\xff" * 11, "it unpacks to more than 4 GiB"),
    "more in bytes than there are for it": (b"\x81" + bytes(11), DAMAGED),
}


@pytest.mark.parametrize(("size", "says"), SIZES.values(), ids=SIZES)
def test_the_size_of_a_member(size: bytes, says: str) -> None:
    assert refusal(archive(header(size), padded(b"MZ!"))) == says


RECORDS = {
    "a path": (b"17 path=tool.com\n", ""),
    "two records": (b"17 path=tool.com\n9 a=1234\n", ""),
    "a size": (b"9 size=3\n", ""),
    "a size that is negative": (b"11 size=-3\n", DAMAGED),
    "a size that is none": (b"11 size=3x\n", DAMAGED),
    "a size of nothing": (b"8 size=\n", DAMAGED),
    "a size of many digits": (b"5008 size=%s\n" % (b"9" * 4997), DAMAGED),
    "a size beyond the archive": (b"14 size=99999\n", "it is cut short"),
    "a length beyond the header": (b"99 path=tool.com\n", DAMAGED),
    "a length of nothing": (b"0 path=tool.com\n", DAMAGED),
    "a length that ends in itself": (b"1 path=tool.com\n", DAMAGED),
    "a negative length": (b"-16 path=tool.com\n", DAMAGED),
    "no length": (b"path=tool.com\n", DAMAGED),
    "a length without a blank": (b"16path=tool.com\n", DAMAGED),
    "no length after a record": (b"9 a=1234\nb=1\n", DAMAGED),
    "a length of many digits": (b"9" * 6 + b" a=1\n", DAMAGED),
    "no end of line": (b"16 path=tool.com", DAMAGED),
    "no value": (b"8 path0\n", DAMAGED),
}


@pytest.mark.parametrize(("records", "says"), RECORDS.values(), ids=RECORDS)
def test_what_a_header_of_pax_tells(records: bytes, says: str) -> None:
    assert refusal(archive(extended(records), MEMBER)) == says


def test_many_records_are_read_once() -> None:
    records = b"6 a=b\n" * 10_000
    assert unpacked(archive(extended(records), MEMBER)) == {"tool.exe": b"MZ!"}


def test_headers_of_many_members_have_an_end() -> None:
    """Each is small enough, and all of them pack well."""
    told = extended(b"65536 a=".ljust(65535, b".") + b"\n")
    parts = [part for at in range(140) for part in (*[told] * 8, header(b"0", name=f"{at}"))]
    assert refusal(archive(*parts)) == "more than 64 MiB in it tell of its members"


@settings(max_examples=300, deadline=None)
@given(
    st.binary(min_size=12, max_size=12),
    st.sampled_from([b"0", b"5", b"2", b"3", b"L", b"K", b"x", b"g"]),
    st.one_of(
        st.binary(max_size=40), st.from_regex(rb"[0-9]{1,3} (path|size|a)=[0-9-]{0,9}\n", fullmatch=True)
    ),
)
def test_any_header_is_taken_or_refused(size: bytes, kind: bytes, told: bytes) -> None:
    with suppress(Unusable):
        unpacked(archive(header(size, kind), extended(told), MEMBER))
