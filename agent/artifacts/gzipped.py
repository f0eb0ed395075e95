"""What a gzip file holds, a piece at a time."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from agent.artifacts.failure import Unusable

if TYPE_CHECKING:
    from agent.host.port import Reading

_GZIP = 31
"""zlib's number for it."""
_PIECE = 1 << 16
_DAMAGED = "it is no gzip file, or is damaged"


class Gunzip:
    def __init__(self, packed: Reading) -> None:
        self._packed = packed
        self._unpacking = zlib.decompressobj(_GZIP)
        self._waiting = b""

    def read(self, size: int) -> bytes:
        """Up to so many bytes; none at the end. Raises Unusable."""
        while True:
            if self._unpacking.eof:
                # Several may stand behind each other, and zeros after the last.
                self._waiting = (self._waiting or self._packed.read(_PIECE)).lstrip(b"\0")
                if not self._waiting:
                    return b""
                self._unpacking = zlib.decompressobj(_GZIP)
            packed = self._waiting or self._packed.read(_PIECE)
            try:
                piece = self._unpacking.decompress(packed, size)
            except zlib.error:
                raise Unusable(_DAMAGED) from None
            self._waiting = self._unpacking.unused_data or self._unpacking.unconsumed_tail
            if piece:
                return piece
            if not packed and not self._unpacking.eof:
                raise Unusable("it is cut short")
