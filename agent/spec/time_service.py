"""Windows' own service that keeps the clock right."""

from __future__ import annotations

from typing import ClassVar

from agent.records import frozen
from agent.spec.want import Key, Want

W32TIME = "W32Time"


@frozen
class TimeService(Want):
    """Started with Windows, and running. Where it takes the time from is not said here."""

    kind: ClassVar[str] = "time_service"

    @property
    def key(self) -> Key:
        return Key(self.kind, W32TIME)
