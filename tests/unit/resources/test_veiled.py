from __future__ import annotations

import hashlib

import pytest

from agent.resources import kind
from agent.resources.kind import Value, veiled


@pytest.mark.parametrize(
    ("value", "other"),
    [
        pytest.param("1234", "1235", id="short"),
        pytest.param("", " ", id="next-to-nothing"),
        pytest.param("größe", "grosse", id="beyond-ascii"),
        pytest.param(["a", "b"], ["a", "c"], id="a-list"),
    ],
)
def test_two_can_be_told_apart_and_none_be_guessed(
    value: Value, other: Value, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = veiled(value)
    assert shown == veiled(value)
    assert shown != veiled(other)
    assert hashlib.sha256(str(value).encode()).hexdigest()[:8] not in shown
    # In the next process it is another.
    monkeypatch.setattr(kind, "_KEY_OF_VEILS", b"another key")
    assert shown != veiled(value)
