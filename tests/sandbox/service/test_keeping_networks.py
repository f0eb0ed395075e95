"""What the resident service does when Windows' Host Networking Service loses what it was told."""

from __future__ import annotations

import json
import pathlib
from dataclasses import replace
from pathlib import PureWindowsPath
from typing import Any

import pytest

from agent.engine.progress import Silent
from agent.engine.run import Unfinished, make_so, take_back
from agent.host.errors import host_error
from agent.host.port import Host
from agent.host.protection import PROGRAM_FILE
from agent.host.sandbox.networks import DOCUMENT
from agent.host.sandbox.state import FOLDER_NAME
from agent.host.services import ServiceDefinition, ServiceStatus
from agent.spec import Directory, File, Inline, Protection, Service, Specification
from agent.spec.networks import HnsEndpoint, HnsNetwork, NetworkType, Route, Subnet
from sandbox.engine.world import Killed, Power, changed, powered
from sandbox.service.keeper import OWN, Keeper
from service.telling import Event
from service.work_queue import Signal, Source

SVCHOST = PureWindowsPath("C:\\Windows\\System32\\svchost.exe")
PROGRAM = PureWindowsPath("C:\\k\\kube-proxy.exe")
NETWORK = HnsNetwork("cbr0", NetworkType.L2BRIDGE, (Subnet("10.244.7.0/24", "10.244.7.1"),))
ENDPOINT = HnsEndpoint("cbr0_ep", "cbr0", "10.244.7.2")
ROUTE = Route("10.244.3.0/24", "192.0.2.33")
HNS_ITSELF = Signal(Source.SERVICE, "hns")
BEREFT = (
    Event.BEREFT,
    "service kube-proxy was restarted: service hns, which it depends on, has started anew",
)


@pytest.fixture
def keeper(tmp_path: pathlib.Path, host: Host) -> Keeper:
    """It keeps a proxy that lives by a network, and another program that does not."""
    host.files.write(SVCHOST, b"MZ", PROGRAM_FILE)
    host.services.create(ServiceDefinition("hns", (str(SVCHOST),)))
    host.services.start("hns")
    wants = [
        Directory(PROGRAM.parent, Protection.PROGRAM),
        File(PROGRAM, Inline(b"MZ"), Protection.PROGRAM),
        NETWORK,
        ENDPOINT,
        ROUTE,
        Service("kube-proxy", PROGRAM, reads=(NETWORK.key,), restarts_with=("hns",)),
        Service("exporter", PROGRAM),
    ]
    keeper = Keeper(tmp_path, host)
    keeper.make(Specification.of(wants))
    keeper.starts.clear()
    keeper.started.clear()
    keeper.told()
    return keeper


def lose(folder: pathlib.Path) -> None:
    """All networks."""
    file = folder / FOLDER_NAME / DOCUMENT
    document = json.loads(file.read_text())
    file.write_text(json.dumps({**document, "networks": {}}))


def test_the_service_that_networks_live_by_is_followed(keeper: Keeper) -> None:
    assert keeper.watches.services == {"hns", "kube-proxy", "exporter"}


def test_a_network_that_was_lost_is_made_again_and_who_reads_it_restarted(
    keeper: Keeper, tmp_path: pathlib.Path
) -> None:
    lose(tmp_path)
    keeper.happened(HNS_ITSELF)
    assert [each.name for each in keeper.host.networks.list()] == ["cbr0"]
    assert [each.is_attached for each in keeper.host.networks.endpoints()] == [True]
    assert keeper.started == ["kube-proxy"]
    assert [(event, text.partition(",")[0]) for event, text in keeper.told()] == [
        (Event.REPAIRED, "hns network cbr0 was gone"),
        (Event.REPAIRED, "hns endpoint cbr0_ep was gone"),
    ]


def test_when_hns_starts_anew_who_told_it_something_is_restarted_once(keeper: Keeper) -> None:
    keeper.crash("hns")
    assert keeper.started == [], "there is nobody to tell"
    keeper.host.services.start("hns")
    keeper.started.clear()
    keeper.happened(HNS_ITSELF)
    assert keeper.started == ["kube-proxy"]
    assert keeper.told() == [BEREFT]
    keeper.happened(HNS_ITSELF)
    keeper.pass_time(3600)
    assert keeper.started == ["kube-proxy"]


def test_when_hns_starts_after_this_service_nobody_is_restarted(keeper: Keeper) -> None:
    """At a start of Windows: whoever needs it has it started."""
    keeper.host.services.stop("hns")
    keeper.begin()
    keeper.pass_time(60)
    keeper.host.services.start("hns")
    keeper.started.clear()
    keeper.happened(HNS_ITSELF)
    assert keeper.started == []


def hns_starts_anew(keeper: Keeper) -> None:
    keeper.crash("hns")
    keeper.host.services.start("hns")
    keeper.started.clear()
    keeper.told()
    keeper.happened(HNS_ITSELF)


@pytest.mark.parametrize("fault", [host_error("add to", "journal", 32), Unfinished("cut off")], ids=str)
def test_who_cannot_be_restarted_at_once_is_restarted_when_that_is_over(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    def in_vain(*_: Any, **__: Any) -> None:
        raise fault

    with monkeypatch.context() as hindered:
        hindered.setattr("service.keeping.repair", in_vain)
        hns_starts_anew(keeper)
        keeper.pass_time(300)
    assert BEREFT not in keeper.told(), "it was not"
    keeper.pass_time(3600)
    assert keeper.started == ["kube-proxy"]
    assert keeper.told() == [BEREFT]


def test_nor_is_that_forgotten_while_somebodys_run_is_unfinished(keeper: Keeper) -> None:
    folder = PureWindowsPath("C:/x")
    files = [File(folder / name, Inline(b"1")) for name in ("a", "b")]
    with pytest.raises(Killed):
        wanted = Specification.of([Directory(folder), *files])
        make_so(powered(keeper.host, Power(6)), wanted, Silent(), beside=True)
    hns_starts_anew(keeper)
    assert keeper.started == []
    take_back(keeper.host, Silent())
    keeper.happened(OWN)
    keeper.pass_time(60)
    assert keeper.started == ["kube-proxy"]


def test_who_was_restarted_by_somebody_else_meanwhile_is_left_alone(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    def in_vain(*_: Any, **__: Any) -> None:
        raise host_error("add to", "journal", 32)

    with monkeypatch.context() as hindered:
        hindered.setattr("service.keeping.repair", in_vain)
        hns_starts_anew(keeper)
        keeper._services.stop("kube-proxy")
        keeper.happened(Signal(Source.SERVICE, "kube-proxy"))
    keeper._services.start("kube-proxy")
    keeper.pass_time(3600)
    assert keeper.started == []


def test_one_that_does_not_let_itself_be_stopped_is_told_and_tried_again(
    keeper: Keeper, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[float] = []

    def refused(*_: Any, **__: Any) -> None:
        tried.append(keeper.clock.time)
        raise host_error("stop", "service kube-proxy", 5)

    with monkeypatch.context() as hindered:
        hindered.setattr("agent.resources.service.stop", refused)
        hns_starts_anew(keeper)
        keeper.happened(HNS_ITSELF)
        assert len(tried) == 1, "not for every reason to look"
        keeper.pass_time(180)
        assert len(tried) == 4
    ((event, text),) = keeper.told()
    assert event is Event.TROUBLE
    assert text.startswith("service kube-proxy has to be restarted (service hns, which it depends on, has")
    assert text.endswith(": cannot stop service kube-proxy: access is denied (Windows error 5)")
    keeper.pass_time(3600)
    assert keeper.started == ["kube-proxy"]
    assert keeper.told() == [BEREFT]


PROXY_PID, HNS_PID = 20, 30
BEGAN = {
    "before hns, which started anew while nobody looked": (1_000.0, 1_006.0, ["kube-proxy"]),
    "and had it started": (1_000.0, 1_004.0, []),
    "after hns": (1_000.0, 900.0, []),
}


@pytest.mark.parametrize("began", BEGAN.values(), ids=BEGAN)
def test_at_its_own_start_it_knows_by_their_times_who_has_to_start_anew(
    tmp_path: pathlib.Path, keeper: Keeper, began: tuple[float, float, list[str]]
) -> None:
    proxy_began, hns_began, restarted = began
    times = {PROXY_PID: proxy_began, HNS_PID: hns_began}
    status = keeper.host.services.status

    def with_process(name: str) -> ServiceStatus:
        return replace(status(name), pid={"kube-proxy": PROXY_PID, "hns": HNS_PID}.get(name))

    host = changed(keeper.host, services={"status": with_process})
    again = Keeper(tmp_path, host, processes={"started_at": times.__getitem__})
    again.pass_time(60)
    assert again.started == restarted
    again.happened(HNS_ITSELF)
    again.pass_time(3600)
    assert again.started == restarted


def test_a_proxy_that_somebody_has_stopped_is_started_and_not_twice(keeper: Keeper) -> None:
    keeper.crash("hns")
    keeper.host.services.start("hns")
    keeper._services.stop("kube-proxy")
    keeper.started.clear()
    keeper.happened(HNS_ITSELF, Signal(Source.SERVICE, "kube-proxy"))
    assert keeper.started == ["kube-proxy"]


def test_a_route_that_somebody_took_comes_back_when_windows_tells_and_not_before_it_has_settled(
    keeper: Keeper,
) -> None:
    assert keeper.watches.routing
    (route,) = keeper.host.routes.list()
    keeper.host.routes.remove(route)
    keeper.signals.put(Signal(Source.ROUTING))
    keeper.pass_time(0.5)
    assert keeper.host.routes.list() == [], "an adapter that gets a switch has its routes back by itself"
    keeper.pass_time(1)
    assert keeper.host.routes.list() == [route]


def test_a_route_that_went_with_an_adapter_comes_back(keeper: Keeper) -> None:
    (route,) = keeper.host.routes.list()
    keeper.host.routes.remove(route)
    keeper.happened(HNS_ITSELF)
    assert keeper.host.routes.list() == [route]
