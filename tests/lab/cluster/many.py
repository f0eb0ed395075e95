"""Many resident services that follow one ConfigMap, in a few processes, and what that costs the API server.

The services are tests/bench/many_daemons.py: real but for the machines, which are folders.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from lab import kubernetes, machine, repository, usage
from lab.cluster.cluster import Cluster
from lab.cluster.control_plane import DIRECT, HOST, PORT, ControlPlane
from lab.cluster.fleet import NODES
from lab.figures import megabytes, show
from lab.means import Missing
from lab.waiting import until

COUNT = 500
"""With two connections each."""
_PROCESSES = 2
_CHANGES = 5
_IDLE_SECONDS = 20.0

_CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
_NAME = "windows-nodes"
_PROGRAM = repository.ROOT / "tests" / "bench" / "many_daemons.py"
_RIGHTS = str(repository.ROOT / "packaging" / "manifests" / "following" / "following.yaml")
_LONG_SECONDS = 300.0
_FILE = r"C:\tools\settings.txt"
_WANTED = "apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\nfiles: [{{path: '{}', text: {}}}]\n"


@dataclass(frozen=True)
class Spread:
    """Of one change. Seconds since the API server had taken it."""

    seconds: list[float]
    """Until it was on a machine, for each, the quickest first."""
    told: float
    """Until the Node of each said so."""
    server_cpu_seconds: float


class Many:
    def __init__(self, cluster: Cluster, machines: list[Path], processes: list[int]) -> None:
        self._cluster = cluster
        self._files = [machine / "tools" / "settings.txt" for machine in machines]
        self._processes = processes

    @property
    def connections(self) -> int:
        """To the API server, which is all that they are connected to."""
        return sum(usage.connections(pid) for pid in self._processes)

    def change(self, word: str) -> Spread:
        server = self._cluster.api_server
        cpu = usage.cpu_seconds(server)
        version = _say(self._cluster, word)
        begun = time.monotonic()
        seconds: list[float] = []
        left = self._files
        while left:
            left = [file for file in left if not (file.exists() and file.read_text() == word)]
            passed = time.monotonic() - begun
            seconds += [passed] * (len(self._files) - len(left) - len(seconds))
            if passed > _LONG_SECONDS:
                raise Missing(f"{len(left)} of {len(self._files)} services have not followed")
            time.sleep(0.002)
        until(lambda: self._have_told(version), "all Nodes say so", _LONG_SECONDS)
        return Spread(seconds, time.monotonic() - begun, usage.cpu_seconds(server) - cpu)

    def _have_told(self, version: str) -> bool:
        found = [each["metadata"].get("annotations", {}) for each in self._cluster.api.items(NODES)]
        wanted = {"wmcb/state": "applied", "wmcb/applied-version": version}
        return all(wanted.items() <= each.items() for each in found)


@contextmanager
def many(cluster: Cluster, count: int) -> Iterator[Many]:
    """So many, each with its Node and the credentials of a kubelet, that all follow the ConfigMap by now."""
    cluster.kubectl("apply", "-f", _RIGHTS)
    names = cluster.make_nodes(count, "many").names
    _say(cluster, "begun")
    with tempfile.TemporaryDirectory() as place:
        shares = [Path(place) / str(number) for number in range(_PROCESSES)]
        machines = [shares[number % _PROCESSES] / name for number, name in enumerate(names)]
        with ThreadPoolExecutor(_PROCESSES) as pool:
            list(pool.map(lambda machine: _furnish(cluster, machine), machines))
        words = [sys.executable, str(_PROGRAM)]
        running = [
            subprocess.Popen([*words, str(share), f"kube-system/{_NAME}"], cwd=repository.ROOT)
            for share in shares
        ]
        try:
            found = Many(cluster, machines, [each.pid for each in running])
            found.change("there")
            yield found
        finally:
            for each in running:
                each.kill()
                each.wait()


def run(arguments: Sequence[str]) -> int:
    """From outside."""
    if len(arguments) > 1 or not all(word.isdecimal() for word in arguments):
        raise Missing("many takes a number of services and nothing else")
    kubernetes.prepare()
    return machine.enter([sys.executable, "-m", "lab.cluster.many", *arguments])


def measured(count: int) -> list[tuple[str, ...]]:
    """Inside, where no control plane runs."""
    control_plane = ControlPlane(kubernetes.linux())
    control_plane.start()
    cluster = Cluster(control_plane, "many")
    cluster.begin()
    alone = usage.resident_bytes(cluster.api_server)
    with many(cluster, count) as services:
        spreads = [services.change(f"word-{number}") for number in range(_CHANGES)]
        connections, all_of_it = services.connections, usage.resident_bytes(cluster.api_server)
        cpu = usage.cpu_seconds(cluster.api_server)
        time.sleep(_IDLE_SECONDS)
        idle = usage.cpu_seconds(cluster.api_server) - cpu
    control_plane.stop()
    seconds = {
        "ConfigMap changed, to the first machine": [each.seconds[0] for each in spreads],
        "to half of them": [statistics.median(each.seconds) for each in spreads],
        "to the last": [each.seconds[-1] for each in spreads],
        "to all Nodes saying so": [each.told for each in spreads],
        "API server: CPU for one change": [each.server_cpu_seconds for each in spreads],
    }
    rows = {
        "connections to the API server": f"{connections}",
        **{what: f"{statistics.median(each):.3f} s" for what, each in seconds.items()},
        "API server: CPU in a minute without a change": f"{idle * 60 / _IDLE_SECONDS:.2f} s",
        "API server: resident before": megabytes(alone),
        "API server: resident with them": megabytes(all_of_it),
    }
    return [(f"{count} services in {_PROCESSES} processes", f"median of {_CHANGES}"), *rows.items()]


def _furnish(cluster: Cluster, machine: Path) -> None:
    machine.mkdir(parents=True)
    place = cluster.kubeconfig(machine / "kubeconfig", f"system:node:{machine.name}", ["system:nodes"])
    # Past the proxy, which looks through all processes at each connection.
    past = f'server: "https://{DIRECT}:{PORT}", tls-server-name: {HOST}'
    place.write_text(place.read_text().replace(f'server: "https://{HOST}:{PORT}"', past))


def _say(cluster: Cluster, word: str) -> str:
    """The version that it has then."""
    text = _WANTED.format(_FILE, word)
    thing = {"metadata": {"name": _NAME, "namespace": "kube-system"}, "data": {"node.yaml": text}}
    api, path = cluster.api, f"{_CONFIG_MAPS}/{_NAME}"
    said = api.replace(path, thing) if api.find(path) else api.create(_CONFIG_MAPS, thing)
    return str(said["metadata"]["resourceVersion"])


if __name__ == "__main__":
    show(measured(int(sys.argv[1]) if sys.argv[1:] else COUNT))
