"""A look at what the engine knows of a machine."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent.cli.failure import Failure
from agent.resources.kind import CannotBeSo

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def looking() -> Iterator[None]:
    """What stands in the way ends the command."""
    try:
        yield
    except CannotBeSo as obstacle:
        raise Failure(str(obstacle)) from obstacle
