"""The resident service beside a Ready Node, from outside: what it costs, how soon it does what it is for."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from lab import repository, usage
from lab.cluster.fleet import Fleet
from lab.cluster.kubelet_node import SERVICE as KUBELET
from lab.cluster.kubelet_node import KubeletNode
from lab.means import Missing
from lab.processes import Process
from lab.services import State
from lab.standin_kubelet import StandinKubelet
from lab.waiting import until

MINUTE_SECONDS = 60.0
FLEETS = (1, 100, 1000)
"""Node objects in the cluster, its own one among them."""

_ROUNDS = 7
_KILLS = 5
_SERVICE = "wmcb"
_PROGRAM = "wmcb.exe"
_MANIFESTS = repository.ROOT / "packaging" / "manifests"
_CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
_NAME = "windows-nodes"
_MADE = r"C:\ProgramData\wmcb\made"
_LOG = r"C:\ProgramData\wmcb\logs\wmcb.log"
_SETTINGS = r"C:\bench\followed\settings.txt"
_EXPORTER = r"C:\bench\exporter.exe"
_TIMES = r"C:\bench\killed_times.py"
_LEASES_SECONDS = 10.0
_LOOK_SECONDS = 0.1
_CALM_AFTER_SECONDS = 15.0
"""Copies are kept and reports are sent some seconds after a run."""

_HEAD = "apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\n"
_FILE = r"files: [{{path: 'C:\bench\followed\settings.txt', text: '{}'}}]"
_EXPORTING = r"""
services:
- {{name: exporter, program: 'C:\bench\exporter.exe', arguments: [--windows-service, --round={}]}}
"""


@dataclass
class Minute:
    """Of the service's process, as Linux counts it."""

    cpu_seconds: float
    switches: int
    """Of its threads: one woke up, or its turn was over. Under Wine a call of Windows' is one, too."""
    awake: int
    """In how many of its tenths of a second there were any."""


@dataclass
class Asked:
    """Of the API server in a minute."""

    requests: int
    bytes: int


@dataclass
class Memory:
    resident: int = 0
    private: int = 0


@dataclass
class Figures:
    keeping_memory: Memory = field(default_factory=Memory)
    keeping: Minute = field(default_factory=lambda: Minute(0, 0, 0))
    kills: list[float] = field(default_factory=list)
    hung_seconds: float = 0.0
    """From when the kubelet does not go on any more until there is another."""
    following_memory: Memory = field(default_factory=Memory)
    following: Minute = field(default_factory=lambda: Minute(0, 0, 0))
    files: list[float] = field(default_factory=list)
    services: list[float] = field(default_factory=list)
    asked: dict[int, Asked] = field(default_factory=dict)
    """By how many Node objects there are."""


def measure(machine: KubeletNode, installed: str) -> Figures:
    """On a machine with the exe as the service, which does not run, and that is no node of a cluster yet."""
    return _Resident(machine, installed).figures()


class _Resident:
    def __init__(self, machine: KubeletNode, installed: str) -> None:
        self._kubelet = machine
        self._node = machine.machine
        self._cluster = machine.cluster
        self._installed = installed

    def figures(self) -> Figures:
        found = Figures()
        self._join()
        self._begin_anew()
        self._settle()
        found.keeping = self._minute()
        found.keeping_memory = self._memory()
        found.kills = [self._kill() for _ in range(_KILLS)]
        found.hung_seconds = self._hang()
        self._follow()
        found.files = self._changes(_FILE.format, lambda word: self._text() == word)
        exporter = StandinKubelet(self._node, _EXPORTER, address="127.0.0.1:20248")
        found.services = self._changes(_EXPORTING.format, lambda word: _was_started(exporter, word))
        self._settle()
        others: list[Fleet] = []
        there = 1
        for count in FLEETS:
            others.append(self._cluster.make_nodes(count - there, f"beside-{count}"))
            there = count
            found.asked[count], minute = self._beside(others)
            if count == 1:
                found.following, found.following_memory = minute, self._memory()
        self._leave()
        return found

    # A node and its end

    def _join(self) -> None:
        cluster, runtime = self._cluster, ("--cri-socket", self._kubelet.runtime.endpoint)
        trust = (
            "--token",
            cluster.fresh_bootstrap_token(),
            "--discovery-token-ca-cert-hash",
            cluster.ca_hash,
        )
        self._wmcb("join", cluster.address, *trust, *runtime, "--runtime-service", "none")
        self._kubelet.wait_until_ready()

    def _follow(self) -> None:
        self._cluster.kubectl("apply", "-f", str(_MANIFESTS / "following" / "following.yaml"))
        self._wmcb("daemon", "install", "--config-map", f"kube-system/{_NAME}")
        self._node.wait_for_service(_SERVICE, State.RUNNING)

    def _leave(self) -> None:
        self._wmcb("daemon", "install", "--unfollow")
        self._wmcb("reset")
        until(lambda: not self._node.processes("kubelet.exe"), "the kubelet has ended")
        self._cluster.forget_node(self._kubelet.name)

    def _wmcb(self, *words: str) -> None:
        done = self._node.run(self._installed, *words)
        if done.code != 0:
            raise Missing(f"wmcb {words[0]} failed: {done.err}")

    def _begin_anew(self) -> None:
        """One that remembers no end of the kubelet's; it has looked at everything when this returns."""
        kept = self._log().count("keeping kubelet")
        service = self._node.service(_SERVICE)
        if service is not None and service.state is State.RUNNING:
            self._node.stop_service(_SERVICE)
            self._node.wait_for_service(_SERVICE, State.STOPPED)
        self._node.start_service(_SERVICE)
        until(lambda: self._log().count("keeping kubelet") > kept, "the node is kept", 30, self._log)

    def _settle(self) -> None:
        until(lambda: self._node.path(_MADE).is_dir(), "copies are kept", 60, self._log)
        time.sleep(_CALM_AFTER_SECONDS)

    # What it costs

    def _minute(self, meanwhile: Callable[[], None] = lambda: None) -> Minute:
        begun, cpu, seen = time.monotonic(), self._cpu_seconds(), [self._switches()]
        other = threading.Thread(target=meanwhile)
        other.start()
        while time.monotonic() - begun < MINUTE_SECONDS:
            time.sleep(_LOOK_SECONDS)
            seen.append(self._switches())
        other.join()
        awake = sum(before != after for before, after in pairwise(seen))
        return Minute(self._cpu_seconds() - cpu, seen[-1] - seen[0], awake)

    def _beside(self, others: Sequence[Fleet]) -> tuple[Asked, Minute]:
        """In a minute each of them renews its lease six times and says once how it is, as in five."""

        def live() -> None:
            for number in _every(_LEASES_SECONDS, MINUTE_SECONDS):
                for fleet in others:
                    fleet.renew_leases()
                    if number == 0:
                        fleet.report_status()

        self._cluster.forget_requests()
        minute = self._minute(live)
        requests = len(self._cluster.requests(program=_SERVICE))
        traffic = self._cluster.traffic().get(_PROGRAM)
        return Asked(requests, traffic.sent + traffic.received if traffic else 0), minute

    def _processes(self) -> Sequence[Process]:
        return self._node.processes(_PROGRAM)

    def _memory(self) -> Memory:
        processes = self._processes()
        resident = sum(process.resident_bytes for process in processes)
        return Memory(resident, sum(usage.private_bytes(process.pid) for process in processes))

    def _cpu_seconds(self) -> float:
        return sum(usage.cpu_seconds(process.pid) for process in self._processes())

    def _switches(self) -> int:
        return sum(usage.switches(process.pid) for process in self._processes())

    # How soon it does what it is for

    def _kill(self) -> float:
        # The first end is followed by a start at once; only of a service that has seen none is it the first.
        self._begin_anew()
        done = self._node.python(_TIMES, KUBELET, "kubelet.exe")
        if done.code != 0:
            raise Missing(f"the kubelet was not started again: {done.err}")
        self._kubelet.wait_until_ready()
        return float(json.loads(done.out))

    def _hang(self) -> float:
        self._settle()  # one that was never seen well may be slow to start, and has four minutes
        hung = {process.pid for process in self._node.processes("kubelet.exe")}
        begun = time.monotonic()
        for pid in hung:
            os.kill(pid, signal.SIGSTOP)
        until(
            lambda: {each.pid for each in self._node.processes("kubelet.exe")} - hung,
            "another",
            240,
            self._log,
        )
        taken = time.monotonic() - begun
        self._kubelet.wait_until_ready()
        return taken

    def _changes(self, wanted: Callable[[str], str], is_so: Callable[[str], bool]) -> list[float]:
        """Seconds from the API server's answer to a change until it is so on the node."""
        taken = []
        for number in range(_ROUNDS + 1):
            word = f"word-{number}"
            self._say(_HEAD + wanted(word))
            begun = time.monotonic()
            while not is_so(word):
                if time.monotonic() - begun > MINUTE_SECONDS:
                    raise Missing(f"a ConfigMap was not followed: {self._log()}")
                time.sleep(0.001)
            taken.append(time.monotonic() - begun)
            until(self._is_told, "it is told", 30, self._log)
        return taken[1:]  # what is read from the disk is read by then

    def _say(self, text: str) -> None:
        thing = {"metadata": {"name": _NAME, "namespace": "kube-system"}, "data": {"node.yaml": text}}
        if self._cluster.api.find(f"{_CONFIG_MAPS}/{_NAME}") is None:
            self._cluster.api.create(_CONFIG_MAPS, thing)
        else:
            self._cluster.api.replace(f"{_CONFIG_MAPS}/{_NAME}", thing)

    def _is_told(self) -> bool:
        config_map = self._cluster.api.get(f"{_CONFIG_MAPS}/{_NAME}")
        node = self._cluster.node(self._kubelet.name) or {}
        annotations = node["metadata"].get("annotations", {})
        return bool(
            annotations.get("wmcb/state") == "applied"
            and annotations.get("wmcb/applied-version") == config_map["metadata"]["resourceVersion"]
        )

    def _text(self) -> str | None:
        path = self._node.path(_SETTINGS)
        return path.read_text() if path.exists() else None

    def _log(self) -> str:
        log = self._node.path(_LOG)
        return log.read_text() if log.exists() else ""


def _was_started(exporter: StandinKubelet, word: str) -> bool:
    return bool(exporter.starts) and f"--round={word}" in exporter.starts[-1]["arguments"]


def _every(seconds: float, whole: float) -> Iterator[int]:
    begun = time.monotonic()
    for number in range(int(whole // seconds)):
        yield number
        time.sleep(max(0.0, begun + (number + 1) * seconds - time.monotonic()))
