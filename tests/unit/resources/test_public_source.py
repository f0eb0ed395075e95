"""Where an artifact is from, as anybody may see it."""

from __future__ import annotations

import pytest

from agent.resources.artifact import public

SOURCES = {
    "a query": ("https://host/a.zip?sig=swordfish", "https://host/a.zip"),
    "a password": ("https://user:swordfish@host/a.zip", "https://host/a.zip"),
    "a user of a domain": ("https://user@corp:swordfish@host/a.zip#b", "https://host/a.zip"),
    "a version in the path": ("https://host/tool@1.2/a.zip", "https://host/tool@1.2/a.zip"),
    "no path": ("https://host?sig=sword@fish/x", "https://host"),
    "a share": (r"\\server\share\a@b.zip", r"\\server\share\a@b.zip"),
}


@pytest.mark.parametrize(("source", "shown"), SOURCES.values(), ids=SOURCES)
def test_a_source_is_shown_without_its_secrets(source: str, shown: str) -> None:
    assert public(source) == shown
