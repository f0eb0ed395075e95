"""Routes to other Nodes' pods on a machine with a `podNetwork`, as these Nodes come, change and go: how soon
each is there, and what it costs.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Any

from lab import repository, routes, usage
from lab.cluster.cluster import Cluster
from lab.cluster.fleet import NODES
from lab.cluster.kubelet_node import KubeletNode
from lab.hns import Hns
from lab.node import Node
from lab.processes import Process
from lab.routes import Seen
from lab.waiting import until

RIGHTS = str(repository.ROOT / "packaging" / "manifests" / "pod-network")
COUNT = 50
_ALONE, _AT_ONCE = 5, 8
_PROGRAM = "wmcb.exe"
_LOG = r"C:\ProgramData\wmcb\logs\wmcb.log"
_SOON_SECONDS = 60.0


def route_to(number: int, address: int | None = None) -> str:
    return f"10.245.{number}.0/24 over 10.77.0.{address or 100 + number}"


class Others:
    """Nodes without machines; each call answers when the API server did."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def come(self, number: int) -> float:
        pods = f"10.245.{number}.0/24"
        node: dict[str, Any] = {
            "metadata": {"name": _name(number)},
            "spec": {"podCIDR": pods, "podCIDRs": [pods]},
            "status": {"addresses": _addresses(100 + number)},
        }
        self._cluster.api.create(NODES, node)
        return time.time()

    def moves(self, number: int, address: int) -> float:
        change = {"status": {"addresses": _addresses(address)}}
        self._cluster.api.patch(f"{NODES}/{_name(number)}/status", change)
        return time.time()

    def go(self, number: int) -> float:
        self._cluster.api.delete(f"{NODES}/{_name(number)}")
        return time.time()


def _name(number: int) -> str:
    return f"other-{number}"


def _addresses(number: int) -> list[dict[str, str]]:
    return [{"type": "InternalIP", "address": f"10.77.0.{number}"}]


@contextmanager
def pod_network(machine: KubeletNode, wmcb: Callable[..., None], *with_document: str) -> Iterator[Hns]:
    """Has `wmcb` join the machine with a document that wants one, and keep it. The endpoint's address is put
    on the machine, as Windows does with the adapter that it makes of it.
    """
    node, hns = machine.machine, Hns(machine.machine)
    runtime = ("--cri-socket", machine.runtime.endpoint, "--runtime-service", "none")
    trust = ("--discovery-token-ca-cert-hash", machine.cluster.ca_hash)
    token = machine.cluster.fresh_bootstrap_token()
    wmcb("join", machine.cluster.address, "--token", token, *trust, *runtime, *with_document)
    pods = until(lambda: _pods_of(machine), "the cluster gives it a podCIDR")
    address = (f"{IPv4Network(pods)[2]}/24", "dev", "eth0peer")
    subprocess.run(["ip", "addr", "add", *address], check=True)
    try:
        wmcb("daemon", "install", "--start")
        until(lambda: "by the Nodes" in _log(node), "it is made", _SOON_SECONDS, lambda: _log(node))
        yield hns
    finally:
        subprocess.run(["ip", "addr", "del", *address], check=True)


def _pods_of(machine: KubeletNode) -> str | None:
    found = machine.cluster.node(machine.name)
    return found["spec"].get("podCIDR") if found else None


def _log(node: Node) -> str:
    place = node.path(_LOG)
    return place.read_text() if place.exists() else "no log"


@dataclass
class Change:
    """Of Nodes, and what came of it on the machine."""

    what: str
    seconds: Sequence[float]
    """For each Node, from when the API server had answered until the machine's routes were so."""
    bytes_each: float
    """Between the API server and the resident service, for each Node."""
    cpu_each: float
    """Seconds of a processor that the resident service took, for each Node."""

    @property
    def longest(self) -> float:
        return max(self.seconds)


class Following:
    """What a machine's routes do when Nodes do something; the first few Nodes are there in the end."""

    def __init__(self, machine: KubeletNode) -> None:
        self._node = machine.machine
        self._cluster = machine.cluster
        self._others = Others(machine.cluster)

    def changes(self) -> Iterator[Change]:
        alone, burst = range(1, _ALONE + 1), range(_ALONE + 1, COUNT + 1)
        many = f"{len(burst)} Nodes {{}} at once"
        with routes.seen(self._node) as seen:
            yield self._one_by_one(seen, alone)
            yield self._change(many.format("come"), burst, self._others.come, seen, route_to)
            yield self._change(
                "a Node has another address",
                range(1, 2),
                lambda number: self._others.moves(number, 200 + number),
                seen,
                lambda number: route_to(number, 200 + number),
            )
            assert route_to(1) not in seen.there
            yield self._change(many.format("go"), burst, self._others.go, seen, route_to, is_there=False)

    @property
    def left(self) -> Mapping[str, int]:
        """The routes that are there then, and their metrics."""
        return {route_to(1, 201): 256, **{route_to(number): 256 for number in range(2, _ALONE + 1)}}

    def _one_by_one(self, seen: Seen, numbers: range) -> Change:
        parts = [
            self._change("a Node comes", range(number, number + 1), self._others.come, seen, route_to)
            for number in numbers
        ]
        seconds = [time for part in parts for time in part.seconds]
        bytes_each, cpu_each = (
            sum(each) / len(parts)
            for each in zip(*((part.bytes_each, part.cpu_each) for part in parts), strict=True)
        )
        return Change(parts[0].what, seconds, bytes_each, cpu_each)

    def _change(
        self,
        what: str,
        numbers: range,
        do: Callable[[int], float],
        seen: Seen,
        route: Callable[[int], str],
        *,
        is_there: bool = True,
    ) -> Change:
        service = self._service
        self._cluster.forget_requests()
        cpu = usage.cpu_seconds(service.pid)
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            answered = dict(zip(numbers, pool.map(do, numbers), strict=True))
        when = seen.since if is_there else seen.gone_at
        until(
            lambda: all(when(route(number)) for number in numbers),
            f"{what}: the routes follow",
            _SOON_SECONDS,
            lambda: (_log(self._node), seen.there),
        )
        cpu = usage.cpu_seconds(service.pid) - cpu
        assert self._cluster.requests(program="wmcb") == [], "it has asked the API server anew"
        traffic = self._cluster.traffic()[_PROGRAM]
        taken = [(when(route(number)) or 0.0) - time for number, time in answered.items()]
        return Change(what, taken, (traffic.sent + traffic.received) / len(taken), cpu / len(taken))

    @property
    def resident_bytes(self) -> int:
        return self._service.resident_bytes

    @property
    def _service(self) -> Process:
        # A command's process may not be quite gone yet.
        (service,) = (each for each in self._node.processes(_PROGRAM) if "daemon" in each.command)
        return service
