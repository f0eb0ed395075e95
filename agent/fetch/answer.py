"""An answer, and its body in blocks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from agent.amounts import in_bytes
from agent.fetch.failure import Failed
from agent.fetch.messages import begun
from agent.fetch.response import CutShort, NotHttp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from agent.fetch.deadline import Deadline
    from agent.fetch.wire import Wire

BLOCK = 1 << 20
"""The largest piece that comes at once. What breaks off before the first is whole is asked for again."""
_DATE = re.compile(r"[A-Z][a-z]{2}, (\d{2}) ([A-Z][a-z]{2}) (\d{4}) (\d{2}):(\d{2}):(\d{2}) GMT")
_MONTHS = "JanFebMarAprMayJunJulAugSepOctNovDec"
_STRONG_TAG = re.compile(r'"[\x21\x23-\x7e]*"')


class Answer:
    def __init__(self, wire: Wire, method: str, place: str) -> None:
        """Waits until its headers are there. Raises Failed, or TimeoutError."""
        self._wire = wire
        self._place = place
        self._response = begun(wire, method, place)
        self.status = self._response.status
        self.size = self._response.length
        """Of the body, where it is told."""

    def header(self, name: str) -> str:
        return self._response.header(name)

    @property
    def tag(self) -> str:
        """What changes with the contents; empty where the server has no such thing."""
        tag = self.header("ETag")
        return tag if _STRONG_TAG.fullmatch(tag) else ""

    def wait(self, now: float) -> float:
        """Seconds that the server asks to be left alone for. `now` counts from 1970."""
        text = self.header("Retry-After").strip()
        if text.isascii() and text.isdigit():
            return float(text[:9])
        moment = self._moment(text)
        return 0.0 if moment is None else max(0.0, moment - now)

    def moment(self) -> float | None:
        """What time the server has, in seconds since 1970; None where it does not say so."""
        return self._moment(self.header("Date"))

    @staticmethod
    def _moment(date: str) -> float | None:
        found = _DATE.fullmatch(date)
        if found is None:
            return None
        from datetime import UTC, datetime

        day, month, year, hour, minute, second = found.groups()
        try:
            number = _MONTHS.index(month) // 3 + 1
            return datetime(
                int(year), number, int(day), int(hour), int(minute), int(second), 0, UTC
            ).timestamp()
        except ValueError:
            return None

    def blocks(self, deadline: Deadline, silence: float) -> Iterator[bytes]:
        gathered: list[bytes] = []
        size = 0
        for piece in self.pieces(deadline, silence):
            gathered.append(piece)
            size += len(piece)
            while size >= BLOCK:
                whole = b"".join(gathered)
                gathered, size = [whole[BLOCK:]], size - BLOCK
                yield whole[:BLOCK]
        if size:
            yield b"".join(gathered)

    def pieces(self, deadline: Deadline, silence: float) -> Iterator[bytes]:
        """The body, as it comes."""
        received = 0
        while piece := self._piece(deadline, silence, received):
            received += len(piece)
            yield piece

    @property
    def leaves_open(self) -> bool:
        """The wire is of further use: all of the body came, and nothing after it."""
        return self._response.leaves_open

    def close(self) -> None:
        self._wire.close()

    def _piece(self, deadline: Deadline, silence: float, received: int) -> bytes:
        with deadline.within(silence, f"{self._place} sends nothing more after {in_bytes(received)}"):
            try:
                return self._response.piece()
            except (NotHttp, CutShort):
                raise self._broken(received) from None

    def _broken(self, received: int) -> Failed:
        so_far = f"{received:,} of {in_bytes(self.size)}" if self.size is not None else in_bytes(received)
        return Failed(f"{self._place} breaks off after {so_far}", transient=True)
