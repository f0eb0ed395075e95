"""How often Windows is asked for a feature: each time it starts a program of its own."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from agent.host.port import FeatureState
from agent.host.windows import features
from agent.host.windows.features import WindowsFeatures

STAGED, INSTALLED = 2, 4


class Clock:
    time = 0.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time

    def boot(self) -> int:
        return 1

    def sleep(self, seconds: float) -> None:
        self.time += seconds


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What reaches DISM; a feature is on once it has been enabled."""
    asked: list[str] = []

    @contextmanager
    def session() -> Iterator[int]:
        yield 1

    def state_number(_session: int, name: str) -> int:
        asked.append(f"state {name}")
        return INSTALLED if f"enable {name}" in asked else STAGED

    def enable(_session: int, name: str, **_: object) -> bool:
        asked.append(f"enable {name}")
        return False

    for function in (session, state_number, enable):
        monkeypatch.setattr(features, function.__name__, function)
    return asked


def test_what_was_seen_just_now_is_not_asked_again(asked: list[str]) -> None:
    clock = Clock()
    windows = WindowsFeatures(clock)
    assert [windows.state(name) for name in ("A", "a", "B")] == [FeatureState.DISABLED] * 3
    assert asked == ["state A", "state B"]
    clock.sleep(6)
    windows.state("A")
    assert asked == ["state A", "state B", "state A"]


def test_after_a_change_it_is(asked: list[str]) -> None:
    windows = WindowsFeatures(Clock())
    windows.state("A")
    windows.enable("A", with_parents=False)
    assert windows.state("A") is FeatureState.ENABLED
    assert asked == ["state A", "enable A", "state A"]
