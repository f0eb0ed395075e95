"""Whether an Ed25519 signature (RFC 8032) is one. Nothing secret comes here, so its time tells nothing.

In Python, as the program carries no library for this: a verification takes some milliseconds, and one is
needed when a document changes.
"""

from __future__ import annotations

import hashlib

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT_OF_MINUS_ONE = pow(2, (_P - 1) // 4, _P)

_Point = tuple[int, int, int, int]
"""x, y and z of the projective plane, and x*y/z."""
_NEUTRAL: _Point = (0, 1, 1, 0)


def verifies(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Strictly: each number below its bound, so that nothing has a second form; and no key of small order."""
    if len(public_key) != 32 or len(signature) != 64:
        return False
    key, commitment = _point(public_key), _point(signature[:32])
    scalar = int.from_bytes(signature[32:], "little")
    if key is None or commitment is None or scalar >= _ORDER or _is_neutral(_times(8, key)):
        return False
    digest = hashlib.sha512(signature[:32] + public_key + message).digest()
    challenge = int.from_bytes(digest, "little") % _ORDER
    return _same(_times(scalar, _BASE), _sum(commitment, _times(challenge, key)))


def _point(encoded: bytes) -> _Point | None:
    number = int.from_bytes(encoded, "little")
    y, odd = number & ((1 << 255) - 1), number >> 255
    x = _x_of(y, odd)
    return None if x is None else (x, y, 1, x * y % _P)


def _x_of(y: int, odd: int) -> int | None:
    if y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    if square == 0:
        return None if odd else 0
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * _ROOT_OF_MINUS_ONE % _P
    if (x * x - square) % _P:
        return None
    return _P - x if x & 1 != odd else x


def _sum(one: _Point, other: _Point) -> _Point:
    a = (one[1] - one[0]) * (other[1] - other[0]) % _P
    b = (one[1] + one[0]) * (other[1] + other[0]) % _P
    c = 2 * one[3] * other[3] * _D % _P
    d = 2 * one[2] * other[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % _P, g * h % _P, f * g % _P, e * h % _P)


def _times(count: int, point: _Point) -> _Point:
    total = _NEUTRAL
    while count:
        if count & 1:
            total = _sum(total, point)
        point = _sum(point, point)
        count >>= 1
    return total


def _same(one: _Point, other: _Point) -> bool:
    return (one[0] * other[2] - other[0] * one[2]) % _P == 0 == (one[1] * other[2] - other[1] * one[2]) % _P


def _is_neutral(point: _Point) -> bool:
    return _same(point, _NEUTRAL)


def _base() -> _Point:
    y = 4 * pow(5, -1, _P) % _P
    x = _x_of(y, 0)
    assert x is not None, "RFC 8032 names it"
    return (x, y, 1, x * y % _P)


_BASE = _base()
