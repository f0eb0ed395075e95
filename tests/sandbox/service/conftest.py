from __future__ import annotations

import pathlib

import pytest

from agent.host.port import Host
from agent.host.sandbox import open_sandbox
from sandbox.engine import nodes
from sandbox.service.keeper import Keeper


@pytest.fixture
def host(tmp_path: pathlib.Path) -> Host:
    return open_sandbox(tmp_path)


@pytest.fixture
def keeper(tmp_path: pathlib.Path, host: Host) -> Keeper:
    """It keeps a small node."""
    keeper = Keeper(tmp_path, host)
    keeper.make(nodes.node())
    keeper.starts.clear()
    keeper.told()
    return keeper
