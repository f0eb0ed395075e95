from __future__ import annotations

import pathlib

import pytest

from agent.host.port import Host
from agent.host.sandbox import open_sandbox


@pytest.fixture
def host(tmp_path: pathlib.Path) -> Host:
    return open_sandbox(tmp_path)
