"""Of every test."""

from __future__ import annotations

import pytest

from agent import redaction


@pytest.fixture(autouse=True)
def no_secret_of_another_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process knows the secrets of what it has read, and many tests share one."""
    monkeypatch.setattr(redaction, "_registry", redaction.Registry())
