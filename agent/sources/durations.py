"""Spans of time as Go writes them: 1h30m, 1.5s, 0."""

import re

_PART = re.compile(r"(?<![0-9.])([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)", re.ASCII)
_WHOLE = re.compile(rf"[-+]?(?:0|(?:{_PART.pattern})+)", re.ASCII)
_MICROSECOND, _MILLISECOND, _SECOND, _MINUTE = 10**3, 10**6, 10**9, 60 * 10**9
_NANOSECONDS = {
    "ns": 1, "us": _MICROSECOND, "µs": _MICROSECOND, "μs": _MICROSECOND, "ms": _MILLISECOND, "s": _SECOND,
    "m": _MINUTE, "h": 60 * _MINUTE,
}  # fmt: skip
_LONGEST_TEXT = 200
_MOST = 2**63
"""Nanoseconds: some 292 years."""


def seconds(text: str) -> float | None:
    """None if it is no such span, or one that Go has no room for."""
    found = _nanoseconds(text)
    return None if found is None else found / _SECOND


def in_full(text: str) -> str:
    """As Go writes it itself: 90m as 1h30m0s. What is no such span stays."""
    found = _nanoseconds(text)
    if found is None:
        return text
    sign = "-" if found < 0 else ""
    return sign + _in_full(abs(found))


def _nanoseconds(text: str) -> int | None:
    if len(text) > _LONGEST_TEXT or not _WHOLE.fullmatch(text):
        return None
    parts = _PART.findall(text)
    total = sum(_product(number, _NANOSECONDS[unit]) for number, unit in parts)
    if total >= _MOST:
        return None
    return -total if text.startswith("-") else total


def _product(number: str, worth: int) -> int:
    """Whole nanoseconds. Not by `fractions`, which imports for longer than all of a node's spans take."""
    whole, _, rest = number.partition(".")
    divisor: int = 10 ** len(rest)
    return int(whole + rest or "0") * worth // divisor


def _in_full(span: int) -> str:
    if span == 0:
        return "0s"
    for unit, worth, below in (
        ("ns", 1, _MICROSECOND),
        ("µs", _MICROSECOND, _MILLISECOND),
        ("ms", _MILLISECOND, _SECOND),
    ):
        if span < below:
            return _decimal(span, worth) + unit
    minutes, rest = divmod(span, _MINUTE)
    hours, minutes = divmod(minutes, 60)
    before = f"{hours}h{minutes}m" if hours else f"{minutes}m" if minutes else ""
    return f"{before}{_decimal(rest, _SECOND)}s"


def _decimal(number: int, worth: int) -> str:
    whole, rest = divmod(number, worth)
    if not rest:
        return str(whole)
    return f"{whole}.{str(rest).rjust(len(str(worth)) - 1, '0').rstrip('0')}"
