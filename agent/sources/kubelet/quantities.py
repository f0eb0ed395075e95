"""Kubernetes' way to write an amount: 500m, 2Gi, 1e3."""

import re
from fractions import Fraction

_QUANTITY = re.compile(
    r"(?P<number>[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30}))"
    r"(?P<suffix>[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d{1,2})?",
    re.ASCII,
)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = "KMGTPE"


def quantity(text: str) -> Fraction | None:
    """None if it is not one."""
    found = _QUANTITY.fullmatch(text)
    if found is None:
        return None
    number = Fraction(found["number"].rstrip("."))
    suffix = found["suffix"] or ""
    if suffix.endswith("i"):
        return number * _power(1024, _BINARY.index(suffix[0]) + 1)
    exponent = _DECIMAL[suffix] if suffix in _DECIMAL else int(suffix[1:] or 0)
    return number * _power(10, exponent) if exponent >= 0 else number / _power(10, -exponent)


def _power(base: int, exponent: int) -> int:
    result: int = base**exponent
    return result
