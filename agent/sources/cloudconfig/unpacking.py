"""User data as it travels: plain, gzip, or gzip in base64. Bounded by what comes out.

Base64 of anything else is not decoded: most words of a batch file are valid base64, so only gzip's magic
number behind it tells one from the other. A platform that encodes user data decodes it before cloudbase-init
writes it to a file, and a part of a multipart message has a header for that.
"""

import base64
import binascii
import re

from agent.sources.ignition.model import Packing, Unsound, in_blocks

LARGEST = 16 << 20
"""Clouds pass on some kilobytes, Cluster API's secrets hold one megabyte."""

_GZIP = b"\x1f\x8b"
_GZIP_IN_BASE64 = b"H4"
"""How the base64 of gzip begins."""
_MOST_LAYERS = 4
_BASE64 = re.compile(rb"[A-Za-z0-9+/\s]{16,}+={0,2}")
_BLANKS = re.compile(rb"\s+")


class Unreadable(Exception):
    """The text says why, without a word of the contents."""


def unpacked(raw: bytes, limit: int = LARGEST) -> bytes:
    """Raises Unreadable."""
    data = raw
    for _ in range(_MOST_LAYERS):
        if len(data) > limit:
            raise Unreadable(f"it is larger than {limit:,} bytes")
        inner = _inner(data, limit)
        if inner is None:
            return data
        data = inner
    raise Unreadable("it is packed in gzip or base64 again and again")


def text_of(data: bytes) -> str:
    """With \\n as the only line end. Raises Unreadable."""
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unreadable("it is UTF-16; save it as UTF-8")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as fault:
        line = data[: fault.start].count(b"\n") + 1
        raise Unreadable(f"it is not UTF-8: a byte in line {line} cannot be there") from None
    return text.replace("\r\n", "\n")


def gunzipped(data: bytes, limit: int = LARGEST) -> bytes:
    """Raises Unreadable."""
    try:
        return b"".join(Packing(compressed=True).unpack(in_blocks(data), limit))
    except Unsound as fault:
        raise Unreadable(str(fault)) from None


def from_base64(data: bytes) -> bytes:
    """White space in it is none of base64, and no fault. Raises Unreadable."""
    try:
        return base64.b64decode(_BLANKS.sub(b"", data), validate=True)
    except binascii.Error:
        raise Unreadable("it is not base64, or damaged") from None


def base64_decoded(data: bytes) -> bytes | None:
    """Return what `data` is the base64 of, None where it cannot be base64."""
    if not _BASE64.fullmatch(data.rstrip()):
        return None
    try:
        return from_base64(data)
    except Unreadable:
        return None


def _inner(data: bytes, limit: int) -> bytes | None:
    """Return what is packed in `data`, None where it is not packed."""
    if data.startswith(_GZIP):
        return gunzipped(data, limit)
    decoded = base64_decoded(data) if data.lstrip().startswith(_GZIP_IN_BASE64) else None
    return decoded if decoded is not None and decoded.startswith(_GZIP) else None
