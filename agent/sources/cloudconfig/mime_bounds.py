"""Bounds of a MIME message, counted before Python's email parser reads it.

That parser makes an object of every part, tries every boundary that is open on every line, and takes
quadratic time for the parameters of one header. Counting takes a fixed number of passes over the bytes.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from email import message_from_bytes

from agent.sources.cloudconfig.unpacking import Unreadable

MOST_PARTS = 100
MOST_NESTED = 10
"""Multipart messages and attached messages, the outermost included: all of them may lie in one another."""
MOST_LINES = 500_000
LONGEST_HEADER = 8192

_HEADER = re.compile(rb"^content-[a-z-]{1,40}:[^\n]*(?:\n[ \t][^\n]*)*", re.IGNORECASE | re.MULTILINE)
_NESTING = re.compile(rb"message/|boundary[\s*0-9]*=", re.IGNORECASE)
"""The email parser reads a multipart message without a boundary as text.

RFC 2231 has `boundary*=` and `boundary*0=`.
"""
_REPORT = b"message/delivery-status"
"""The email parser makes a message of each of its paragraphs."""


def check_bounds(message: bytes) -> None:
    """Raise Unreadable for a message with more of anything than user data needs."""
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
    for match in _HEADER.finditer(text):
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
