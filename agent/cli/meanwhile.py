"""Work that is done in a thread of its own, while nobody needs what comes of it yet."""

from __future__ import annotations

from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeVar

    R = TypeVar("R")


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
        thread.join()
        if faults:
            raise faults[0]
        return results[0]

    return result
