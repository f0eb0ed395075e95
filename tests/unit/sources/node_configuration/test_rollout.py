from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sources.node_configuration.model import Rollout, Turn, turn

NODES = [f"win-{number}.example.com" for number in range(5000)]
HOUR = 3600.0


@pytest.mark.parametrize(
    ("rollout", "expected"),
    [
        (None, Turn(has_come=True)),
        (Rollout(), Turn(has_come=True)),
        (Rollout(percentage=0), Turn(has_come=False)),
        (Rollout(start=100.0), Turn(has_come=True, at=100.0)),
        (Rollout(start=1000.0), Turn(has_come=True, at=1000.0)),
        (Rollout(start=1001.0), Turn(has_come=False, at=1001.0)),
        (Rollout(start=100.0, percentage=0), Turn(has_come=False)),
    ],
)
def test_whose_turn_it_is(rollout: Rollout | None, expected: Turn) -> None:
    assert turn("win-1", rollout, 1000.0) == expected


def test_a_nodes_turn_never_changes() -> None:
    """These are a contract: another release that told otherwise would restart a fleet at once."""
    rollout = Rollout(start=0.0, window=HOUR, percentage=50)
    found = {name: turn(name, rollout, 0.0).at for name in ("win-1", "win-2", "win-3", "win-4")}
    assert {name: at and round(at, 3) for name, at in found.items()} == {
        "win-1": 2381.749,
        "win-2": None,
        "win-3": 2982.713,
        "win-4": None,
    }
    assert turn("WIN-1", rollout, 0.0) == turn("win-1", rollout, 0.0)


@pytest.mark.parametrize("percentage", [1, 10, 50, 99])
def test_a_percentage_of_a_fleet_takes_part(percentage: int) -> None:
    share = sum(turn(node, Rollout(percentage=percentage), 0.0).has_come for node in NODES) / len(NODES) * 100
    assert share == pytest.approx(percentage, abs=2)


def test_a_fleet_is_spread_evenly_over_its_window() -> None:
    """Of 5,000 nodes in an hour no minute has twice its share, and at no time it goes backwards."""
    rollout = Rollout(start=0.0, window=HOUR, percentage=100)
    minutes = [0] * 60
    for node in NODES:
        at = turn(node, rollout, 0.0).at
        assert at is not None
        minutes[int(at // 60)] += 1
    assert max(minutes) < 2 * len(NODES) / 60
    assert min(minutes) > 0


@given(st.sampled_from(NODES), st.floats(0, 100), st.floats(0, 100), st.floats(0, 86_400), st.floats(0, 1e10))
def test_more_nodes_take_part_and_none_loses_its_turn(
    node: str, percentage: float, more: float, window: float, now: float
) -> None:
    before = turn(node, Rollout(1e9, window, min(percentage, more)), now)
    after = turn(node, Rollout(1e9, window, max(percentage, more)), now)
    assert before in (after, Turn(has_come=False))
    if after.at is not None:
        assert 1e9 <= after.at <= 1e9 + window
        assert after.has_come == (now >= after.at)
