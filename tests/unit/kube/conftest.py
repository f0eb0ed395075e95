from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from unit.fetch.authority import issue, serving
from unit.kube.api_server import ROOT, ApiServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiServer]:
    """An API server whose certificate the cluster's authority signed."""
    with ApiServer(serving(tmp_path, issue("api", ROOT))) as started:
        yield started
