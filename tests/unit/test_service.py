"""The resident service, between start and stop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent.host.port import Control
from service.program import STOP_SECONDS, resident

if TYPE_CHECKING:
    from collections.abc import Sequence


class Scm:
    """Asks what it is told to ask, and writes down what the service says."""

    def __init__(self, *requests: Control) -> None:
        self.arguments: Sequence[str] = ()
        self.heard: list[object] = []
        self._requests = list(requests)

    def running(self) -> None:
        self.heard.append("running")

    def stopping(self, wait_hint_seconds: float) -> None:
        self.heard.append(wait_hint_seconds)

    def next(self, seconds: float | None = None) -> Control | None:
        assert seconds is None, "it waits to be asked, and does not poll"
        return self._requests.pop(0)


@pytest.mark.parametrize(
    "end", [Control.STOP, Control.PRESHUTDOWN, Control.SHUTDOWN], ids=lambda each: each.name
)
def test_runs_until_it_is_asked_to_end(end: Control) -> None:
    scm = Scm(Control.PARAMETERS_CHANGED, end)
    assert resident(scm) == 0
    assert scm.heard == ["running", STOP_SECONDS]
