from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from agent.host.sandbox import open_sandbox

if TYPE_CHECKING:
    import pathlib

    from agent.host.port import Host


@pytest.fixture
def host(tmp_path: pathlib.Path) -> Host:
    return open_sandbox(tmp_path)
