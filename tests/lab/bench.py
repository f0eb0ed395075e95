"""`python -m lab bench`: how long, how large, how much memory, beside the least that anybody could need.

All figures are of one run on one node whose wineserver stays. Each round takes every program once, so that
what else this machine does meanwhile falls on all alike. Never a test: figures are for reading.
"""

from __future__ import annotations

import hashlib
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent.release import RELEASE
from lab import cache, kubernetes, machine, namespace, repository, routes, toolchains, windows_python, wine
from lab import prefix as prefixes
from lab.cluster import bench as join_bench
from lab.cluster import many, pod_routes, resident
from lab.cluster.kubelet_node import KubeletNode
from lab.figures import MEGABYTE, judged, megabytes, show
from lab.means import Missing
from lab.namespace import ADDRESS
from lab.node import Node
from lab.services import State
from lab.standin_kubelet import StandinKubelet
from lab.web import Page, serving

BENCH = repository.ROOT / "tests" / "bench"
SHIPPED = repository.ROOT / "dist" / "wmcb.exe"
ROUNDS = 15
SERVICE = "wmcb"

# Where the programs are on the node.
DOWNLOADED = r"C:\bench\wmcb.exe"
INSTALLED = rf"C:\Program Files\wmcb\{RELEASE}\wmcb.exe"
SMALL_GO = r"C:\bench\small.exe"
EMPTY = r"C:\bench\empty\empty.exe"

_BUILDING = "/lab/building"

_BOOTSTRAP_ROUNDS = 7
_RUNTIME = r"C:\Program Files\containerd\containerd.exe"
_KUBELET = r"C:\bench\kubelet.exe"
_DOCUMENT = r"C:\bench\worker.ign"
_CONFIGURATION = r"C:\bench\node.yaml"
_WANTED = ("--ignition", _DOCUMENT, "--kubelet", _KUBELET, "--ignore-preflight-errors", "containerd-pipe")

_POD_NETWORK = r"""apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
podNetwork: {name: cbr0}
"""

_ARTIFACTS = 3
_ARTIFACT_MEGABYTES = 100
_GLANCE_SECONDS = 0.02
_BY_PYTHON, _BY_WMCB = "fetched by requests, then hashed", "fetched, proven, placed by wmcb"
_AGAIN = "again, nothing to do"


@dataclass(frozen=True)
class Timed:
    what: str
    command: tuple[str, ...]


def run(arguments: Sequence[str]) -> int:
    """From outside: builds what is measured against, then goes in. `--also PATH` as often as wanted."""
    also = [Path(value) for option, value in zip(arguments[::2], arguments[1::2], strict=False)]
    if len(arguments) % 2 or any(option != "--also" for option in arguments[::2]):
        raise Missing("bench takes --also PATH and nothing else")
    for file in (*also, SHIPPED):
        if not file.is_file():
            raise Missing(f"{file} is not there; make exe builds dist/wmcb.exe")
    kubernetes.prepare()
    programs = [_small_go(), _empty(), *(file.resolve() for file in also)]
    # The latter with a control plane that has not been asked for anything yet.
    return machine.enter([sys.executable, "-m", "lab.bench", *map(str, programs)]) or many.run(())


def _small_go() -> Path:
    source = BENCH / "small"

    def build(into: Path) -> None:
        toolchains.build_go(source, into / "small.exe", options=["-ldflags=-s -w"])

    return cache.built("bench-go", cache.digest(toolchains.folder().name, source), build) / "small.exe"


def _empty() -> Path:
    """The folder of a program that does nothing, as PyInstaller freezes it."""
    source = BENCH / "empty.py"

    def build(into: Path) -> None:
        building = namespace.Mount(into, _BUILDING, writable=True)
        if machine.enter([sys.executable, "-m", "lab.bench"], mounts=[building]) != 0:
            raise Missing("the empty program could not be built, see above")

    key = cache.digest(windows_python.folder().name, source, _build_empty)
    return cache.built("bench-empty", key, build) / "empty"


def _build_empty() -> None:
    """Inside: PyInstaller as it is without a word more."""
    node = "/lab/nodes/empty"
    prefixes.layer(machine.prepared_prefix(), wine.outside(node))
    folders = ["--distpath", r"Z:\lab\building", "--workpath", r"C:\work", "--specpath", r"C:\work"]
    build = ["-m", "PyInstaller", "--onedir", "--log-level=WARN", *folders, r"Z:\repo\tests\bench\empty.py"]
    wine.run([wine.LOADER, windows_python.PROGRAM, *build], wine.environment(f"{node}/prefix"))


# Inside


def _measure(small_go: Path, empty: Path, also: Sequence[Path]) -> None:
    node = Node()
    try:
        node.copy_in(SHIPPED, DOWNLOADED)
        node.copy_in(small_go, SMALL_GO)
        for file in empty.rglob("*"):
            if file.is_file():
                node.copy_in(file, rf"C:\bench\empty\{str(file.relative_to(empty)).replace('/', chr(92))}")
        for script in ("service_times.py", "killed_times.py", "fetched_times.py"):
            node.copy_in(BENCH / script, rf"C:\bench\{script}")
        for file in also:
            node.copy_in(file, _on_node(file))
        installed = node.run(DOWNLOADED, "daemon", "install")
        if installed.code != 0:
            raise Missing(f"wmcb daemon install failed: {installed.err}")
        show(_starts(node, also))
        show(_sizes(also))
        show(_service(node))
        show(_bootstrap(node))
        show(_artifacts(node))
        _succeeded(node, DOWNLOADED, "reset")
        with join_bench.with_a_cluster(node) as (control_plane, machine):
            show(_joins(machine, control_plane.started_in))
            show(_resident(machine))
            show(_routes(machine))
    finally:
        node.close()


def _on_node(file: Path) -> str:
    return rf"C:\bench\also\{file.name}"


def _starts(node: Node, also: Sequence[Path]) -> list[tuple[str, ...]]:
    python = windows_python.PROGRAM
    timed = [
        Timed("small Go program", (SMALL_GO,)),
        Timed("python -I -S -c pass", (python, "-I", "-S", "-c", "pass")),
        Timed("python -c pass", (python, "-c", "pass")),
        Timed("empty one-folder program", (EMPTY,)),
        Timed("wmcb version, downloaded", (DOWNLOADED, "version")),
        Timed("wmcb version, installed", (INSTALLED, "version")),
        Timed("wmcb --help, installed", (INSTALLED, "--help")),
        *(Timed(f"{file.name} version", (_on_node(file), "version")) for file in also),
    ]
    taken: dict[str, list[float]] = {each.what: [] for each in timed}
    for each in timed:
        node.run(*each.command)  # what is read from the disk is read now
    for _ in range(ROUNDS):
        for each in timed:
            taken[each.what].append(node.run(*each.command).seconds)
    medians = {what: statistics.median(seconds) for what, seconds in taken.items()}
    floor = medians["empty one-folder program"]
    goals = {
        "wmcb version, installed": floor + 0.1,
        "wmcb version, downloaded": medians["wmcb version, installed"] + 0.15,
    }
    rows: list[tuple[str, ...]] = [
        (f"start to exit, {ROUNDS} rounds", "median", "least", "to the empty", "goal", "")
    ]
    for what, seconds in taken.items():
        median = medians[what]
        told = judged(median, goals[what], f"{goals[what]:.3f} s") if what in goals else ("", "")
        rows.append((what, f"{median:.3f} s", f"{min(seconds):.3f} s", f"{median / floor:.2f}", *told))
    return rows


def _sizes(also: Sequence[Path]) -> list[tuple[str, ...]]:
    size = SHIPPED.stat().st_size
    rows: list[tuple[str, ...]] = [("size", "", "goal", "")]
    rows.append(("wmcb.exe", megabytes(size), *judged(size, 24 * MEGABYTE, "24 MB")))
    rows += [(file.name, megabytes(file.stat().st_size), "", "") for file in also]
    return rows


def _service(node: Node) -> list[tuple[str, ...]]:
    asked = node.python(r"C:\bench\service_times.py", SERVICE, str(ROUNDS))
    if asked.code != 0:
        raise Missing(f"the service could not be timed: {asked.err}")
    times = json.loads(asked.out)
    to_running = statistics.median(begun for begun, _ in times)
    to_stopped = statistics.median(ended for _, ended in times)
    node.start_service(SERVICE)
    node.wait_for_service(SERVICE, State.RUNNING)
    processes = node.processes("wmcb.exe")
    resident = sum(process.resident_bytes for process in processes)
    node.stop_service(SERVICE)  # beside each of the runs that follow it would have work
    node.wait_for_service(SERVICE, State.STOPPED)
    return [
        ("the resident service", "", "goal", ""),
        ("start to RUNNING", f"{to_running:.3f} s", *judged(to_running, 0.5, "0.500 s")),
        ("stop to STOPPED", f"{to_stopped:.3f} s", "", ""),
        ("processes", f"{len(processes)}", *judged(len(processes), 1, "1")),
        ("resident", megabytes(resident), *judged(resident, 40 * MEGABYTE, "40 MB")),
    ]


def _bootstrap(node: Node) -> list[tuple[str, ...]]:
    """From an Ignition to a kubelet that is well, again, and back; with the stand-in for the kubelet."""
    StandinKubelet(node, _RUNTIME, address="127.0.0.1:10999", starts=r"C:\bench\containerd.txt")
    StandinKubelet(node, _KUBELET, starts=r"C:\bench\kubelet.txt")
    node.create_service("containerd", f'"{_RUNTIME}" --windows-service')
    node.start_service("containerd")
    node.wait_for_service("containerd", State.RUNNING)
    node.copy_in(repository.ROOT / "tests" / "data" / "ignition" / "worker-3.4.ign", _DOCUMENT)
    timed = [
        Timed("wmcb version, downloaded", (DOWNLOADED, "version")),
        Timed("wmcb plan", (DOWNLOADED, "plan", *_WANTED)),
        Timed("from an Ignition to a kubelet that is well", (DOWNLOADED, *_WANTED)),
        Timed("again, nothing to do", (DOWNLOADED, *_WANTED)),
        Timed("wmcb status", (DOWNLOADED, "status")),
        Timed("wmcb reset", (DOWNLOADED, "reset")),
    ]
    taken: dict[str, list[float]] = {each.what: [] for each in timed}
    for _ in range(_BOOTSTRAP_ROUNDS + 1):
        for each in timed:
            taken[each.what].append(_succeeded(node, *each.command))
    medians = {what: statistics.median(seconds[1:]) for what, seconds in taken.items()}
    floor = medians[timed[0].what]
    rows: list[tuple[str, ...]] = [
        (f"a node, {_BOOTSTRAP_ROUNDS} rounds", "median", "least", "above version", "goal", "")
    ]
    for what, median in medians.items():
        goal = judged(median - floor, 0.5, "0.500 s") if what == timed[2].what else ("", "")
        rows.append(
            (what, f"{median:.3f} s", f"{min(taken[what][1:]):.3f} s", f"{median - floor:.3f} s", *goal)
        )
    return rows


def _artifacts(node: Node) -> list[tuple[str, ...]]:
    """On a node that is made: what it takes above a run that finds nothing to do."""
    with serving() as web:
        bodies = {f"/{number}": os.urandom(MEGABYTE) * _ARTIFACT_MEGABYTES for number in range(_ARTIFACTS)}
        web.pages = {file: Page(body) for file, body in bodies.items()}
        lines = [
            f"- {{name: a{file[1:]}, source: '{web.url(file)}', path: 'C:\\tools\\{file[1:]}.exe', "
            f"sha256: {hashlib.sha256(body).hexdigest()}}}\n"
            for file, body in bodies.items()
        ]
        wanted = (*_WANTED, "--node-config", _CONFIGURATION)
        taken: dict[str, list[float]] = {_BY_PYTHON: [], _BY_WMCB: [], _AGAIN: []}
        most, base = 0, float("inf")
        for _ in range(_BOOTSTRAP_ROUNDS):
            _configure(node, "")
            _succeeded(node, DOWNLOADED, *wanted)
            base = min(base, _succeeded(node, DOWNLOADED, *wanted))
            fetched = node.python(r"C:\bench\fetched_times.py", f"{ADDRESS}:{web.port}", *bodies)
            taken[_BY_PYTHON].append(float(fetched.out))
            _configure(node, "".join(["artifacts:\n", *lines]))
            running = node.start(DOWNLOADED, *wanted)
            while not running.ended:
                most = max([most, *(each.resident_bytes for each in node.processes("wmcb.exe"))])
                time.sleep(_GLANCE_SECONDS)
            taken[_BY_WMCB].append(running.wait().seconds)
            taken[_AGAIN].append(_succeeded(node, DOWNLOADED, *wanted))
    for what in (_BY_WMCB, _AGAIN):
        taken[what] = [seconds - base for seconds in taken[what]]
    floor = min(taken[_BY_PYTHON])
    size = f"{_ARTIFACTS} artifacts of {_ARTIFACT_MEGABYTES} MB, {_BOOTSTRAP_ROUNDS} rounds"
    rows: list[tuple[str, ...]] = [(size, "least", "to Python's", "goal", "")]
    for what, seconds in taken.items():
        times = min(seconds) / floor
        goal = judged(times, 1.5, "1.50") if what == _BY_WMCB else ("", "")
        rows.append((what, f"{min(seconds):.3f} s", f"{times:.2f}", *goal))
    rows.append(("memory meanwhile", megabytes(most), "", *judged(most, 100 * MEGABYTE, "100 MB")))
    return rows


def _configure(node: Node, artifacts: str) -> None:
    head = "apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\n"
    node.path(_CONFIGURATION).write_text(head + artifacts)


def _succeeded(node: Node, *command: str) -> float:
    result = node.run(*command)
    if result.code != 0:
        raise Missing(f"{' '.join(command[:2])} failed: {result.err}")
    return result.seconds


def _joins(machine: KubeletNode, begun: float) -> list[tuple[str, ...]]:
    joins = join_bench.measure(machine, DOWNLOADED, INSTALLED)
    floor = joins.median(join_bench.BY_KUBEADM)
    goals = {join_bench.INSTALLED: 1.3}
    rows: list[tuple[str, ...]] = [("with a cluster", "median", "least", "to kubeadm's", "goal", "")]
    for what, seconds in joins.taken.items():
        times = joins.median(what) / floor
        told = judged(times, goals[what], f"{goals[what]:.2f}") if what in goals else ("", "")
        rows.append((what, f"{joins.median(what):.3f} s", f"{min(seconds):.3f} s", f"{times:.2f}", *told))
    rows.append(("control plane from nothing", f"{begun:.3f} s", "", "", *judged(begun, 15, "15 s")))
    return rows


def _resident(machine: KubeletNode) -> list[tuple[str, ...]]:
    found = resident.measure(machine, INSTALLED)
    rows: list[tuple[str, ...]] = [
        ("the resident service beside a Ready Node", "", "goal", ""),
    ]
    for what, memory, most in (
        ("keeping", found.keeping_memory, 50),
        ("following too", found.following_memory, 75),
    ):
        goal_met = judged(memory.resident, most * MEGABYTE, f"{most} MB")
        rows.append((f"resident, {what}", megabytes(memory.resident), *goal_met))
        rows.append(("of it shared with no process", megabytes(memory.private), "", ""))
    for what, minute in (("keeping", found.keeping), ("following", found.following)):
        rows.append((f"CPU in a minute, {what}", f"{minute.cpu_seconds:.2f} s", "", ""))
        rows.append((f"switches between threads in it, {what}", f"{minute.switches}", "", ""))
        # The kubelet is asked every ten seconds whether it is healthy, the SCM each second.
        rows.append((f"awake in it, {what}", f"{minute.awake} of 600 times", "", ""))
    for what, seconds, goal in (
        ("ConfigMap changed, to the file on the node", found.files, 0.2),
        ("ConfigMap changed, to the service started with it", found.services, 0.2),
        ("kubelet killed, to RUNNING", found.kills, 0.5),
    ):
        median = statistics.median(seconds)
        rows.append((what, f"{median:.3f} s", *judged(median, goal, f"{goal:.2f} s")))
    rows.append(("kubelet hung, to another", f"{found.hung_seconds:.1f} s", "", ""))
    floor = found.asked[resident.FLEETS[0]]
    for count, asked in found.asked.items():
        told = f"{asked.requests} requests, {asked.bytes / 1000:.1f} kB"
        rows.append(
            (
                f"asked in a minute beside {count} Nodes",
                told,
                *judged(asked.bytes, 1.5 * floor.bytes, "constant"),
            )
        )
    return rows


def _routes(machine: KubeletNode) -> list[tuple[str, ...]]:
    """With HNS and a table of routes, which are stand-ins."""
    node, cluster = machine.machine, machine.cluster
    node.stop_service(SERVICE)  # it remembers what a library lacks
    node.wait_for_service(SERVICE, State.STOPPED)
    routes.install(node)
    cluster.kubectl("apply", "--server-side", "-k", pod_routes.RIGHTS)
    node.path(_CONFIGURATION).write_text(_POD_NETWORK)
    head = ("routes, after", "median", "longest", "goal", "", "a Node", "CPU")
    rows: list[tuple[str, ...]] = [head]

    def wmcb(*words: str) -> None:
        _succeeded(node, INSTALLED, *words)

    with pod_routes.pod_network(machine, wmcb, "--node-config", _CONFIGURATION):
        for change in pod_routes.Following(machine).changes():
            rows.append(
                (
                    change.what,
                    f"{statistics.median(change.seconds):.3f} s",
                    f"{change.longest:.3f} s",
                    *judged(change.longest, 1.0, "1.000 s"),
                    f"{change.bytes_each / 1000:.1f} kB",
                    f"{1000 * change.cpu_each:.0f} ms",
                )
            )
    return rows


if __name__ == "__main__":
    if len(sys.argv) == 1:
        _build_empty()
    else:
        first, second, *rest = map(Path, sys.argv[1:])
        _measure(first, second, rest)
