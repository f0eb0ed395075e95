"""User data taken apart: what of it is cloud-config, a script, a boot hook, or elsewhere.

A part is what its type says; where that says little, or says shell script, it is what it begins with, as
cloud-init has it.
"""

from __future__ import annotations

import base64
import binascii
import enum
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from email import message_from_bytes
from typing import TYPE_CHECKING

from agent.secret_fields import registers_secrets
from agent.sources.cloudconfig.document import value_name
from agent.sources.cloudconfig.model import Findings, Refused
from agent.sources.ignition.model import Packing, Unsound, in_blocks
from agent.sources.report import Origin

if TYPE_CHECKING:
    from email.message import Message


class Kind(enum.Enum):
    CONFIG = "text/cloud-config"
    SCRIPT = "text/x-shellscript"
    SCRIPT_EACH_BOOT = "text/x-shellscript-per-boot"
    BOOT_HOOK = "text/cloud-boothook"
    INCLUDE = "text/x-include-url"
    TEMPLATE = "text/jinja2"
    OTHER = "other"
    """It belongs to somebody else: for cloud-init that is a part without a handler."""


@registers_secrets
@dataclass(frozen=True, slots=True)
class Part:
    name: str
    """For a person: user data, or part 2 (setup.ps1) of user data."""
    kind: Kind
    text: str = field(repr=False)
    file_name: str = ""
    merge: str = ""
    """Its header Merge-Type: how it is to be merged with the parts before it."""
    content_type: str = ""


_BEGINNINGS = (
    ("#cloud-config-archive", "text/cloud-config-archive"),
    ("#cloud-config-jsonp", "text/cloud-config-jsonp"),
    ("#cloud-config", Kind.CONFIG.value),
    ("#cloud-boothook", Kind.BOOT_HOOK.value),
    ("#include", Kind.INCLUDE.value),
    ("#part-handler", "text/part-handler"),
    ("## template:", Kind.TEMPLATE.value),
    ("##template:", Kind.TEMPLATE.value),
    ("#ps1", Kind.SCRIPT.value),
    ("#!", Kind.SCRIPT.value),
    ("<powershell>", Kind.SCRIPT.value),
    ("<script>", Kind.SCRIPT.value),
)
_LONGEST_BEGINNING = max(len(start) for start, _ in _BEGINNINGS)
_CMD = re.compile(r"\s*rem\s+cmd\s", re.IGNORECASE)
_KINDS = {
    **{kind.value: kind for kind in Kind},
    "text/x-include-once-url": Kind.INCLUDE,
    "text/x-shellscript-per-instance": Kind.SCRIPT,
    "text/x-shellscript-per-once": Kind.SCRIPT,
}
_ANY_BYTES = "application/octet-stream"
_SAYS_LITTLE = frozenset({
    "", "text/plain", "text/x-not-multipart", "text/x-shellscript", _ANY_BYTES,
    "application/gzip", "application/gzip-compressed", "application/gzipped", "application/x-gzip",
    "application/x-gzip-compressed", "application/x-compress", "application/x-compressed",
    "application/x-gunzip",
})  # fmt: skip
_REFUSED = {
    "text/cloud-config-archive": "such an archive is not read here; send its entries as multipart MIME",
    "text/cloud-config-jsonp": "JSON patches are not understood here; send one whole cloud-config",
    "text/part-handler": "a part handler is a Python program, for which a Windows node has no interpreter",
}
_HEADER = re.compile(r"[!-9;-~]+:.*|[ \t].*|From .*")
_MIME = re.compile(r"^(mime-version|content-type)[ \t]*:", re.IGNORECASE | re.MULTILINE)
_LONGEST_HEADERS = 8192
_CUT_SHORT = "CloseBoundaryNotFoundDefect"


def parts(name: str, raw: bytes, findings: Findings) -> list[Part]:
    """Raises Refused."""
    try:
        data = unpacked(raw)
        # Of its parts not all need be text.
        if is_multipart(data[:_LONGEST_HEADERS].decode(errors="replace").replace("\r\n", "\n")):
            return list(_parts_of(name, data, findings))
        text = text_of(data)
    except Unreadable as fault:
        raise Refused(Origin(name), str(fault)) from None
    if not text.strip():
        raise Refused(Origin(name), "it is empty; cloud-config, a script or multipart MIME is expected")
    return [_part(name, "", text)]


def is_multipart(text: str) -> bool:
    """Its first lines are a message's headers, and one of them is MIME's."""
    headers = text.lstrip().partition("\n\n")[0][:_LONGEST_HEADERS]
    lines = headers.split("\n")
    return bool(_MIME.search(headers)) and all(_HEADER.fullmatch(line) for line in lines[:20])


def begins_as(text: str) -> str:
    """The type of what begins so; empty where nothing is known to begin so."""
    if _CMD.match(text):
        return Kind.SCRIPT.value
    start = text.lstrip()[:_LONGEST_BEGINNING].lower()
    return next((kind for beginning, kind in _BEGINNINGS if start.startswith(beginning)), "")


def template_of(part: Part, text: str) -> Part:
    """What a template turned out to be."""
    said = part.content_type if part.content_type != Kind.TEMPLATE.value else ""
    return _part(part.name, begins_as(text) or said, text, part.file_name, part.merge)


def _parts_of(name: str, data: bytes, findings: Findings) -> Iterator[Part]:
    """Raises Refused, and Unreadable for what is out of bounds."""
    check_bounds(data)
    number = 0
    for message in message_from_bytes(data.lstrip()).walk():
        if fault := _fault(message):
            raise Refused(Origin(name), fault)
        if any(type(defect).__name__ == _CUT_SHORT for defect in message.defects):
            findings.warn(name, "its closing boundary is missing: its end may be missing, too")
        if message.get_content_maintype() == "multipart":
            continue
        number += 1
        yield from _part_of(name, number, message)


def _part_of(name: str, number: int, message: Message) -> Iterator[Part]:
    file_name = value_name(message.get_filename() or "")
    called = f"{name} part {number}" + (f" ({file_name})" if file_name else "")
    payload = message.get_payload(decode=True)
    if not isinstance(payload, bytes) or not payload.strip():
        return
    said = message.get_content_type()
    if said not in _KINDS and said not in _SAYS_LITTLE and said not in _REFUSED:
        # It may be anything, a program say.
        yield Part(called, Kind.OTHER, "", file_name, content_type=said)
        return
    try:
        text = text_of(unpacked(payload))
    except Unreadable as fault:
        if said == _ANY_BYTES:
            yield Part(called, Kind.OTHER, "", file_name, content_type=said)
            return
        raise Refused(Origin(called), str(fault)) from None
    if is_multipart(text):
        raise Refused(Origin(called), "it is multipart MIME, packed into a part; send its parts as they are")
    merge = message.get("Merge-Type") or message.get("X-Merge-Type") or ""
    yield _part(called, said, text, file_name, str(merge))


def _part(name: str, said: str, text: str, file_name: str = "", merge: str = "") -> Part:
    content_type = said.lower()
    if content_type in _SAYS_LITTLE:
        content_type = begins_as(text) or (content_type if "shellscript" in content_type else "")
    if content_type == Kind.CONFIG.value and begins_as(text) == Kind.TEMPLATE.value:
        content_type = Kind.TEMPLATE.value
    if content_type in _REFUSED:
        raise Refused(Origin(name), _REFUSED[content_type])
    if not content_type and not said:
        raise Refused(Origin(name, line=1, column=1), _unknown(text))
    return Part(name, _KINDS.get(content_type, Kind.OTHER), text, file_name, merge, said or content_type)


def _unknown(text: str) -> str:
    decoded = base64_decoded(text.encode())
    if decoded is not None and begins_as(decoded.decode(errors="replace")):
        return "it is base64; decode it first"
    if text.lstrip().startswith("{"):
        return "it is JSON, maybe Ignition, and that is for --ignition; user data begins with #cloud-config"
    return (
        "it begins like no user data that is known here: "
        "#cloud-config, ## template: jinja, #ps1_sysnative, rem cmd, or multipart MIME"
    )


_DEFECTS = {
    "StartBoundaryNotFoundDefect": "no part begins with the boundary that its header names",
    "NoBoundaryInMultipartDefect": "it is multipart, and names no boundary",
    "MultipartInvariantViolationDefect": "it says that it is multipart, and has no parts",
    "InvalidMultipartContentTransferEncodingDefect": "as a whole it has an encoding, which only parts can",
}


def _fault(message: Message) -> str | None:
    message.get_payload(decode=True)
    names = [type(defect).__name__ for defect in message.defects]
    known = next((_DEFECTS[name] for name in names if name in _DEFECTS), None)
    if known is None and any("Base64" in name for name in names):
        return "a part of it is not base64, though its header says so, or it is damaged"
    return known


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
    """User data as it travels: plain, gzip, or gzip in base64. Bounded by what comes out. Raises Unreadable.

    Base64 of anything else is not decoded: most words of a batch file are valid base64, so only gzip's magic
    number behind it tells one from the other. A platform that encodes user data decodes it before
    cloudbase-init writes it to a file, and a part of a multipart message has a header for that.
    """
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


MOST_PARTS = 100
MOST_NESTED = 10
"""Multipart messages and attached messages, the outermost included: all of them may lie in one another."""
MOST_LINES = 500_000
LONGEST_HEADER = 8192

_CONTENT_HEADER = re.compile(rb"^content-[a-z-]{1,40}:[^\n]*(?:\n[ \t][^\n]*)*", re.IGNORECASE | re.MULTILINE)
_NESTING = re.compile(rb"message/|boundary[\s*0-9]*=", re.IGNORECASE)
"""The email parser reads a multipart message without a boundary as text.

RFC 2231 has `boundary*=` and `boundary*0=`.
"""
_REPORT = b"message/delivery-status"
"""The email parser makes a message of each of its paragraphs."""


def check_bounds(message: bytes) -> None:
    """Raise Unreadable for a message with more of anything than user data needs.

    Python's email parser makes an object of every part, tries every boundary that is open on every line, and
    takes quadratic time for the parameters of one header. Counting takes a fixed number of passes over the
    bytes, before that parser reads them.
    """
    # The email parser ends a line at each of the three.
    text = message.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if text.count(b"\n") > MOST_LINES:
        raise Unreadable(f"it is multipart MIME of more than {MOST_LINES:,} lines")
    nesting = list(_nesting_headers(text))
    delimiter = _delimiter(nesting)
    if sum(1 for _ in delimiter.finditer(text)) > MOST_PARTS:
        raise Unreadable(f"it has more than {MOST_PARTS} parts")


def _nesting_headers(text: bytes) -> Iterator[bytes]:
    """Yield what may be headers of multipart messages with a boundary, and of attached messages,
    wherever they stand.
    """
    found = 0
    for match in _CONTENT_HEADER.finditer(text):
        header = match[0]
        if len(header) > LONGEST_HEADER:
            line = text[: match.start()].count(b"\n") + 1
            raise Unreadable(f"its header in line {line} is longer than {LONGEST_HEADER:,} bytes")
        if not _NESTING.search(header):
            continue
        found += 1
        if found > MOST_NESTED:
            raise Unreadable(f"it nests more than {MOST_NESTED} multipart messages")
        if _REPORT in header.lower():
            raise Unreadable(
                "a part of it is a report on the delivery of mail, which user data has no use for"
            )
        yield header


def _delimiter(headers: list[bytes]) -> re.Pattern[bytes]:
    """Return a pattern of the lines that begin a part."""
    named = []
    for header in headers:
        boundary = message_from_bytes(header).get_boundary()
        # Lines are compared as ASCII with surrogates for other bytes, so no other letter ever matches one.
        with suppress(UnicodeEncodeError):
            named += [re.escape(boundary.encode("ascii", "surrogateescape"))] if boundary is not None else []
    return re.compile(rb"^--(?:" + b"|".join(named) + rb")[ \t]*$" if named else rb"(?!)", re.MULTILINE)
