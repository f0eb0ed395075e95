from __future__ import annotations

import pytest

from agent.fetch import retries


@pytest.fixture(autouse=True)
def _whole_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make each pause between attempts as long as it can be."""
    monkeypatch.setattr(retries, "random", lambda: 1.0)
