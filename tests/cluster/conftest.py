"""One control plane for the session, and for each test a cluster that no other test has left anything in."""

from __future__ import annotations

import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from itertools import count
from pathlib import Path
from typing import Protocol

import pytest

from lab import kubernetes, repository
from lab.buildkit import ImageBuilding
from lab.cluster.cluster import Cluster
from lab.cluster.control_plane import ControlPlane
from lab.cluster.kubelet_node import KubeletNode
from lab.cluster.runtime import ContainerRuntime
from lab.fixtures import demand_the_lab, node
from lab.node import Node

Lend = Callable[[], AbstractContextManager[Cluster]]

__all__ = ["node"]

DOCKERFILE = repository.ROOT / "packaging" / "manifests" / "installing" / "Dockerfile"

_numbers = count(1)
_FIGURE = "figure"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--keep-kubeadm-files",
        action="store_true",
        help="write tests/data/kubeadm-join-* anew (test_kubeadm.py)",
    )


class Figure(Protocol):
    def __call__(self, what: str, value: float, unit: str = "s") -> None: ...


@pytest.fixture
def figure(record_property: Callable[[str, object], None]) -> Figure:
    """Takes what seconds, or another unit, were spent on, and how many; printed when all tests have ended."""

    def record(what: str, value: float, unit: str = "s") -> None:
        record_property(_FIGURE, (what, value, unit))

    return record


@pytest.fixture
def timed(figure: Figure) -> Callable[[str], AbstractContextManager[None]]:
    """Adds to the figures how long a block took."""

    @contextmanager
    def measure(what: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        figure(what, time.monotonic() - began)

    return measure


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    # Out of the reports, which come from other processes: that of a test's call, and not of its set-up too.
    reports = [report for kind in ("passed", "failed") for report in terminalreporter.getreports(kind)]
    told = [pair for report in reports if report.when == "call" for pair in report.user_properties]
    figures = [value for name, value in told if name == _FIGURE]
    if figures:
        terminalreporter.section("figures")
        for what, amount, unit in figures:
            terminalreporter.write_line(f"{amount:8.2f} {unit}  {what}")


@pytest.fixture(scope="session")
def control_plane() -> Iterator[ControlPlane]:
    demand_the_lab()
    started = ControlPlane(kubernetes.linux())
    started.start()
    yield started
    started.stop()


@pytest.fixture
def clusters(control_plane: ControlPlane, request: pytest.FixtureRequest) -> Lend:
    """Lends the control plane as a cluster, as often as wanted, one after the other."""
    name = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower())[:50].strip("-")

    @contextmanager
    def lend() -> Iterator[Cluster]:
        lent = Cluster(control_plane, f"{name}-{next(_numbers)}")
        lent.begin()
        yield lent
        lent.tidy()

    return lend


@pytest.fixture
def cluster(clusters: Lend) -> Iterator[Cluster]:
    """The API server is up, the network good, no Node there; `cluster.namespace` is the test's own."""
    with clusters() as lent:
        yield lent


@pytest.fixture
def container_runtime(cluster: Cluster, tmp_path: Path) -> Iterator[ContainerRuntime]:
    """The stand-in for containerd, in good health and empty. Before `cluster` is tidied it is gone."""
    del cluster
    runtime = ContainerRuntime(tmp_path)
    runtime.start()
    yield runtime
    runtime.stop()


@pytest.fixture(scope="module")
def image_building() -> Iterator[ImageBuilding]:
    """BuildKit, and a registry that has the base of our image."""
    demand_the_lab()
    base = re.search(r"^FROM (\S+)$", DOCKERFILE.read_text(), re.MULTILINE)
    assert base is not None
    with tempfile.TemporaryDirectory(prefix="wmcb-lab-") as folder:
        building = ImageBuilding(Path(folder), base[1])
        building.start()
        yield building
        building.stop()


@pytest.fixture
def bare_node(cluster: Cluster, container_runtime: ContainerRuntime, node: Node) -> KubeletNode:
    """A fresh Windows machine with the kubelet among its services and kubeadm.exe beside it; not joined."""
    bare = KubeletNode(cluster, container_runtime, node)
    bare.install()
    return bare


@pytest.fixture
def ready_node(bare_node: KubeletNode) -> KubeletNode:
    """The same, joined to the cluster by `kubeadm.exe join`, and Ready."""
    joined = bare_node.join()
    assert joined.code == 0, joined.err
    bare_node.wait_until_ready()
    return bare_node
