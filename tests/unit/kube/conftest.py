from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from unit.fetch.authority import issue, serving
from unit.kube.api_server import ROOT, ApiServer


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ApiServer]:
    """An API server whose certificate the cluster's authority signed."""
    with ApiServer(serving(tmp_path, issue("api", ROOT))) as started:
        yield started
