"""How a watch is closed while another thread waits at it."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import threading
from abc import ABC, abstractmethod
from typing import Self

from agent.host.windows.api.processes import close, event, set_event


class Closing(ABC):
    """One thread at a time waits, `_busy`, for `_closing` among others; any may close it, two at once, too:
    whoever waits does so when that is over.
    """

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._ending = threading.Lock()
        self._closing = event()
        self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._ending:
            if self._closed:
                return  # and by now the event may be another's
            set_event(self._closing)
            with self._busy:
                self._closed = True
                self._let_go()
                close(self._closing)

    @abstractmethod
    def _let_go(self) -> None:
        """Of all that is watched."""
