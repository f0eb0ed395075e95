"""Waiting for what other processes do: on a condition and with a deadline, never for a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

PATIENCE_SECONDS = 60.0
"""Against waiting for ever: what takes a second takes many where a machine does other things as well."""


def until(
    condition: Callable[[], Result | None],
    what: str,
    seconds: float = PATIENCE_SECONDS,
    explain: Callable[[], object] = lambda: "",
) -> Result:
    """What `condition` answers as soon as that is true; an AssertionError that says what never came about,
    and what `explain` then finds.
    """
    deadline = time.monotonic() + seconds
    pause = 0.01
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() >= deadline:
            raise AssertionError(f"not within {seconds:g} s: {what}. {explain()}".rstrip())
        time.sleep(pause)
        pause = min(pause * 1.5, 0.2)
