"""Work that is done in a thread of its own, while nobody needs what comes of it yet."""

from __future__ import annotations

from threading import Lock, Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    R = TypeVar("R")
    Notice = Callable[[str], None]
    """Takes a line for a person."""

_HEARD_WITHIN_SECONDS = 0.5


def begun(work: Callable[[], R]) -> Callable[[], R]:
    """What is returned waits for the rest of it, and raises what it raised."""
    results: list[R] = []
    faults: list[Exception] = []

    def run() -> None:
        try:
            results.append(work())
        except Exception as fault:  # noqa: BLE001 - it is raised where it is waited for
            faults.append(fault)

    thread = Thread(target=run, daemon=True)
    thread.start()

    def result() -> R:
        while thread.is_alive():
            # On Windows whoever waits for a thread hears of Ctrl-C only when the wait is over.
            thread.join(_HEARD_WITHIN_SECONDS)
        if faults:
            raise faults[0]
        return results[0]

    return result


def begun_quietly(work: Callable[[Notice], R]) -> Callable[[Notice], R]:
    """The same for what has something to say: that is said to whoever waits for the rest."""
    sayings = _Sayings()
    result = begun(lambda: work(sayings.say))

    def said(notice: Notice) -> R:
        sayings.tell(notice)
        return result()

    return said


class _Sayings:
    """Kept until somebody wants to hear them."""

    def __init__(self) -> None:
        self._kept: list[str] = []
        self._say: Notice = self._kept.append
        self._lock = Lock()

    def say(self, line: str) -> None:
        with self._lock:
            self._say(line)

    def tell(self, notice: Notice) -> None:
        with self._lock:
            for line in self._kept:
                notice(line)
            self._say = notice
