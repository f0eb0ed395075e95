"""Fixtures for tests that run inside the lab. A conftest.py imports what its tests ask for."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from lab import namespace
from lab.node import Node

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def node() -> Iterator[Node]:
    """A Windows node, fresh and up."""
    demand_the_lab()
    node = Node()
    yield node
    node.close()


def demand_the_lab() -> None:
    """Skips a test that was started outside the lab; in CI that is a failure, never a skip."""
    if namespace.inside():
        return
    why = "needs the lab: start it by `python -m lab enter -- python -m pytest ...` (or make test-windows)"
    if os.environ.get("CI"):
        pytest.fail(why)
    pytest.skip(why)
