"""A node's way into the cluster while something else waits for it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from ansible_collections.wmcb.windows.plugins.module_utils import admission
from ansible_collections.wmcb.windows.plugins.module_utils.admission import Admission
from ansible_collections.wmcb.windows.plugins.module_utils.certificate_requests import Expected
from ansible_collections.wmcb.windows.plugins.module_utils.cluster import Unanswered

EXPECTED = Expected("win1", ["10.0.0.5"], [], ["system:bootstrap:.*"])
PATIENCE_SECONDS = 20.0


class Cluster:
    """Fails each time it is asked."""

    def __init__(self, fault: Exception) -> None:
        self._fault = fault
        self.asked = threading.Semaphore(0)

    def find(self, *_: Any) -> None:
        self.asked.release()
        raise self._fault


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(admission, "_PAUSE", 0.001)


def test_a_cluster_that_does_not_answer_is_asked_again() -> None:
    cluster = Cluster(Unanswered("no route to host"))
    with Admission(cluster, EXPECTED).meanwhile():  # type: ignore[arg-type]
        assert all(cluster.asked.acquire(timeout=PATIENCE_SECONDS) for _ in range(3))


def test_a_fault_of_its_own_is_told_in_the_end() -> None:
    cluster = Cluster(KeyError("status"))
    with (
        pytest.raises(KeyError, match="status"),
        Admission(cluster, EXPECTED).meanwhile(),  # type: ignore[arg-type]
    ):
        assert cluster.asked.acquire(timeout=PATIENCE_SECONDS)
