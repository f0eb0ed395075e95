"""How a watch is closed while another thread waits at it."""

import threading
from abc import abstractmethod

import win32event
import win32file

from agent.host.port import T_co, Watch


class Closing(Watch[T_co]):
    """One thread at a time waits, `_busy`, for `_closing` among others; any may close it, two at once, too:
    whoever waits does so when that is over.
    """

    def __init__(self) -> None:
        self._busy = threading.Lock()
        self._ending = threading.Lock()
        self._closing = win32event.CreateEvent(None, True, False, None)
        self._closed = False

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
    def _let_go(self) -> None:
        """Of all that is watched."""
