"""What the resident service does for kube-proxy and Flannel in containers when HNS has forgotten them."""

from __future__ import annotations

import json
import pathlib
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PureWindowsPath

import pytest

from agent.host.errors import HostError
from agent.host.networks import ContainerNetwork, NetworkEndpoint, Subnet
from agent.host.port import Host, ProcessInfo
from agent.host.protection import PROGRAM_FILE
from agent.host.sandbox.networks import DOCUMENT
from agent.host.sandbox.state import FOLDER_NAME
from agent.host.services import ServiceDefinition
from agent.spec import Specification
from agent.spec.networks import ForeignEndpoint
from agent.spec.services import ContainerProgram
from sandbox.engine.world import changed
from sandbox.service.keeper import Keeper
from service.telling import Event
from service.work_queue import Signal, Source

SVCHOST = PureWindowsPath(r"C:\Windows\System32\svchost.exe")
HNS_ITSELF = Signal(Source.SERVICE, "hns")
FLANNEL, PROXY = "flanneld.exe", "kube-proxy.exe"
SHIM = r"C:\Program Files\containerd\containerd-shim-runhcs-v1.exe"

HNS_PID, FLANNEL_PID, PROXY_PID, SERVICE_PID, ORPHAN_PID = 11, 21, 23, 31, 41
RUNNING = (
    ProcessInfo(1, 0, None),
    ProcessInfo(2, 1, PureWindowsPath(r"C:\Windows\System32\services.exe")),
    ProcessInfo(20, 2, PureWindowsPath(SHIM)),
    ProcessInfo(FLANNEL_PID, 20, PureWindowsPath(r"C:\hpc\flannel\flanneld.exe")),
    ProcessInfo(22, 20, PureWindowsPath(r"C:\Windows\System32\cmd.exe")),
    ProcessInfo(PROXY_PID, 22, PureWindowsPath(r"C:\hpc\kube-proxy\Kube-Proxy.exe")),
    ProcessInfo(24, 20, PureWindowsPath(r"C:\hpc\kube-proxy.exe\kubectl.exe")),
    ProcessInfo(SERVICE_PID, 2, PureWindowsPath(r"C:\k\kube-proxy.exe")),
    ProcessInfo(ORPHAN_PID, 4711, PureWindowsPath(r"C:\k\kube-proxy.exe")),
)
"""kube-proxy three times, of which containerd has one, by a script."""


class Processes:
    """That the kubelet starts anew at once, as the same."""

    def __init__(self) -> None:
        self.running: Sequence[ProcessInfo] = RUNNING
        self.ended: list[int] = []

    def end(self, pid: int) -> None:
        self.ended.append(pid)

    def taken(self) -> Sequence[int]:
        """Who was ended since the last time."""
        ended, self.ended = self.ended, []
        return ended


@pytest.fixture
def processes() -> Processes:
    return Processes()


@pytest.fixture
def keeper(tmp_path: pathlib.Path, host: Host, processes: Processes) -> Keeper:
    host.files.write(SVCHOST, b"MZ", PROGRAM_FILE)
    host.services.create(ServiceDefinition("hns", (str(SVCHOST),)))
    host.services.start("hns")
    make(host)
    keeper = Keeper(
        tmp_path,
        host,
        processes={"list": lambda: processes.running, "end": processes.end},
    )
    keeper.make(
        Specification.of(
            [
                ContainerProgram(FLANNEL, makes=("cbr0",)),
                ForeignEndpoint("cbr0_ep", FLANNEL),
                ContainerProgram(PROXY, needs=("cbr0",)),
            ]
        )
    )
    keeper.told()
    return keeper


def make(host: Host) -> ContainerNetwork:
    """What flanneld makes: each time another one."""
    network = ContainerNetwork(str(uuid.uuid4()), "cbr0", "L2Bridge", (Subnet("10.244.7.0/24"),))
    host.networks.create(network)
    endpoint = NetworkEndpoint(str(uuid.uuid4()), "cbr0_ep", network.id, "10.244.7.2", 24)
    host.networks.create_endpoint(endpoint)
    host.networks.attach(endpoint.id)
    return network


def change(folder: pathlib.Path, **parts: object) -> None:
    file = folder / FOLDER_NAME / DOCUMENT
    file.write_text(json.dumps({**json.loads(file.read_text()), **parts}))


def crash(keeper: Keeper) -> None:
    keeper.crash("hns")
    keeper.host.services.start("hns")
    keeper.happened(HNS_ITSELF)


def test_nothing_of_it_is_to_be_made_nor_ends_anybody(keeper: Keeper, processes: Processes) -> None:
    keeper.pass_time(3600)
    assert (keeper.watches.services, processes.ended, keeper.told()) == ({"hns"}, [], [])


def test_when_hns_has_started_anew_those_of_containers_are_ended_once(
    keeper: Keeper, processes: Processes
) -> None:
    crash(keeper)
    assert processes.taken() == [FLANNEL_PID, PROXY_PID]
    why = "service hns, which it depends on, has started anew"
    assert keeper.told() == [
        (Event.BEREFT, f"container program flanneld.exe was ended, and starts anew: {why}"),
        (Event.BEREFT, f"container program kube-proxy.exe was ended, and starts anew: {why}"),
    ]
    keeper.happened(HNS_ITSELF)
    keeper.pass_time(3600)
    assert processes.taken() == []


def test_so_they_are_where_the_look_before_came_to_nothing(
    keeper: Keeper, processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(*_: object) -> None:
        raise HostError("look at", "everything", 1450)

    with monkeypatch.context() as hindered:
        hindered.setattr("service.keeping.drifted", failing)
        keeper.signals.put(Signal(Source.ASKED))
        crash(keeper)
    assert processes.taken() == []
    keeper.pass_time(60)
    assert processes.taken() == [FLANNEL_PID, PROXY_PID]


def test_so_they_are_when_that_was_while_nobody_looked(
    keeper: Keeper, processes: Processes, tmp_path: pathlib.Path
) -> None:
    status = keeper.host.services.status
    times = {HNS_PID: 1_100.0, FLANNEL_PID: 1_000.0, PROXY_PID: 1_200.0}
    host = changed(keeper.host, services={"status": lambda name: replace(status(name), pid=HNS_PID)})
    again = Keeper(
        tmp_path,
        host,
        processes={
            "list": lambda: processes.running,
            "end": processes.end,
            "started_at": times.__getitem__,
        },
    )
    again.pass_time(3600)
    assert processes.taken() == [FLANNEL_PID]


def test_who_needs_a_network_that_is_lost_is_ended_when_it_is_there(
    keeper: Keeper, processes: Processes, tmp_path: pathlib.Path
) -> None:
    change(tmp_path, networks={})
    crash(keeper)
    assert processes.taken() == [FLANNEL_PID]
    assert keeper.host.networks.endpoints() == [], "it would be in flanneld's way"
    keeper.pass_time(30)
    assert processes.taken() == []
    make(keeper.host)
    keeper.pass_time(2)
    assert processes.taken() == [PROXY_PID]
    assert keeper.turns(60) <= 2, "nothing more to look for"


def test_a_network_that_never_comes_is_not_looked_for_each_second(
    keeper: Keeper, tmp_path: pathlib.Path
) -> None:
    change(tmp_path, networks={}, endpoints={})
    crash(keeper)
    keeper.pass_time(310)
    assert keeper.turns(3000) <= 20


def test_a_network_that_was_made_anew_is_told_to_who_needs_it(
    keeper: Keeper, processes: Processes, tmp_path: pathlib.Path
) -> None:
    change(tmp_path, networks={}, endpoints={})
    make(keeper.host)
    keeper.pass_time(600)
    assert processes.taken() == [PROXY_PID]


def test_without_hns_nothing_is_taken_for_lost(keeper: Keeper, processes: Processes) -> None:
    keeper.crash("hns")
    keeper.pass_time(60)
    assert processes.taken() == []


def test_load_balancers_of_endpoints_that_are_lost_go_with_who_made_them(
    keeper: Keeper, tmp_path: pathlib.Path
) -> None:
    change(tmp_path, load_balancers={str(uuid.uuid4()): {"HostComputeEndpoints": [str(uuid.uuid4())]}})
    crash(keeper)
    assert keeper.host.networks.load_balancers() == []


AS_A_SERVICE = ProcessInfo(FLANNEL_PID, 2, PureWindowsPath(r"C:\k\flanneld.exe"))
WHO_RUNS = {"who makes it": RUNNING, "the same as a service": (RUNNING[1], AS_A_SERVICE), "nobody": ()}


@pytest.mark.parametrize("who", WHO_RUNS)
def test_an_endpoint_that_is_attached_to_nothing(
    keeper: Keeper, processes: Processes, tmp_path: pathlib.Path, who: str
) -> None:
    """It is on its way, or a start of Windows has left it."""
    processes.running = WHO_RUNS[who]
    endpoints = json.loads((tmp_path / FOLDER_NAME / DOCUMENT).read_text())["endpoints"]
    for each in endpoints.values():
        del each["HostComputeNamespace"]
    change(tmp_path, endpoints=endpoints)
    keeper.happened(HNS_ITSELF)
    assert bool(keeper.host.networks.endpoints()) is bool(WHO_RUNS[who])
