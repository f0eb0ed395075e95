"""A part of the host that is made when something is asked of it first."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

Part = TypeVar("Part")


def later(make: Callable[[], Part]) -> Part:
    """Return what stands for the part that `make` returns, and calls it when an attribute is first asked.

    A process that asks nothing of the part does not load what it needs: `make` imports it.
    """
    return cast(Part, _Later(make))


class _Later:
    def __init__(self, make: Callable[[], object]) -> None:
        self._make = make
        self._part: object

    def __getattr__(self, name: str) -> Any:
        if "_part" not in self.__dict__:
            self._part = self._make()
        return getattr(self._part, name)
