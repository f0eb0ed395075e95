"""How a watch waits, and is closed while another thread waits at it."""

import math
import threading
from abc import abstractmethod
from collections.abc import Sequence

import win32event
import win32file

from agent.host.port import Clock, T_co, Watch
from agent.host.windows.api.processes import wait_for_any


class Closing(Watch[T_co]):
    """One thread at a time waits, `_busy`, for `_closing` among others; any may close it, two at once, too:
    whoever waits does so when that is over.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._busy = threading.Lock()
        self._ending = threading.Lock()
        self._closing = win32event.CreateEvent(None, True, False, None)
        self._closed = False

    def wait(self, seconds: float) -> Sequence[T_co]:
        deadline = self._clock.monotonic() + seconds
        with self._busy:
            while not self._closed:
                if news := self._news():
                    return news
                left = min(deadline - self._clock.monotonic(), self._longest_wait())
                if left <= 0 or wait_for_any([self._closing, *self._events()], left) == 0:
                    break
        return []

    def close(self) -> None:
        with self._ending:
            if self._closed:
                return
            win32event.SetEvent(self._closing)
            with self._busy:
                self._closed = True
                self._let_go()
                win32file.CloseHandle(self._closing)

    @abstractmethod
    def _news(self) -> Sequence[T_co]:
        """What has happened since this was called last."""

    @abstractmethod
    def _events(self) -> Sequence[int]:
        """Handles, signalled when there is news."""

    def _longest_wait(self) -> float:
        """Return how many seconds may go by without another look, should no handle be signalled."""
        return math.inf

    @abstractmethod
    def _let_go(self) -> None:
        """Of all that is watched."""
