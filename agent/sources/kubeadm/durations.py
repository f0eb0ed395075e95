"""Spans of time as Go writes them: 1h30m, 1.5s, 0."""

from __future__ import annotations

import re
from fractions import Fraction

_PART = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_WHOLE = re.compile(rf"[-+]?(?:0|(?:{_PART.pattern})+)", re.ASCII)
_NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "µs": 10**3,
    "μs": 10**3,
    "ms": 10**6,
    "s": 10**9,
    "m": 60 * 10**9,
    "h": 3600 * 10**9,
}
_LONGEST_TEXT = 200
_MOST = 2**63
"""Nanoseconds: some 292 years."""


def seconds(text: str) -> float | None:
    """None if it is no such span, or one that Go has no room for."""
    if len(text) > _LONGEST_TEXT or not _WHOLE.fullmatch(text):
        return None
    total = sum(
        Fraction(number.rstrip(".") or "0") * _NANOSECONDS[unit] for number, unit in _PART.findall(text)
    )
    if total >= _MOST:
        return None
    return float(total / 10**9) * (-1 if text.startswith("-") else 1)
