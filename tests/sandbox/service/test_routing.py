"""What the resident service makes of the Nodes there are, where a document wants a pod network."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from pathlib import PureWindowsPath
from typing import Any

import pytest

from agent.engine.parts import CONFIGURED
from agent.engine.progress import Silent
from agent.engine.run import make_so, reset, status
from agent.host.errors import host_error
from agent.host.networks import Route
from agent.host.port import Host
from agent.host.sandbox.machine import Machine
from agent.sources.node_configuration.compiling import compile_node
from agent.spec import Service, Specification
from sandbox.engine import nodes
from sandbox.engine.world import picture
from sandbox.service.follower import KUBECONFIG
from sandbox.service.keeper import OWN, Keeper
from service.cluster import Kubelet
from service.routing import what_counts
from service.telling import Event
from service.work_queue import Signal, Source
from unit.sources.node_configuration.examples import HEAD, documents, obtain

NODES = Signal(Source.NODES)
POD_NETWORK = (
    f"{HEAD}podNetwork: {{name: cbr0, cniConfiguration: {{path: 'C:\\etc\\cni\\net.d\\10-l3.conf'}}}}\n"
)
CNI = PureWindowsPath(r"C:\etc\cni\net.d\10-l3.conf")
UNREACHABLE_GATEWAY = 1231


def machine(host: Host) -> dict[str, object]:
    """All but what wmcb keeps for itself."""
    return picture(host, but=(PureWindowsPath(r"C:\ProgramData\wmcb"),))


class SaidNodes:
    """What there is is said by a test."""

    def __init__(self, host: Host, signals: object) -> None:
        del host, signals
        self.path: PureWindowsPath | None = None
        self.seen: tuple[str, dict[str, Any]] | None = None
        self.trouble: str | None = None

    def follow(self, kubelet: Kubelet | None) -> None:
        self.path = None if kubelet is None else kubelet.kubeconfig
        if kubelet is None:
            self.seen = None


def a_node(number: int, **spec: Any) -> dict[str, Any]:
    """As an API server has it; that of number 0 is this machine's."""
    addresses = [
        {"type": "Hostname", "address": f"win{number}"},
        {"type": "InternalIP", "address": f"192.0.2.{10 + number}"},
    ]
    return {
        "metadata": {"name": f"win{number}", "creationTimestamp": "2030-01-01T00:00:00Z"},
        "spec": {"podCIDRs": [f"10.244.{number}.0/24"], **spec},
        "status": {"addresses": addresses},
    }


class Router(Keeper):
    said: SaidNodes

    def wants(self, text: str | None) -> None:
        """A person's document; None for nothing any more."""
        wanted = compile_node(documents(text), obtain, "node.yaml").specification if text else Specification()
        assert wanted is not None
        make_so(self.host, wanted, Silent(), part=CONFIGURED)
        self.signals.put(OWN)
        self.pass_time(1)

    def there_are(self, *found: dict[str, Any]) -> None:
        self.said.seen = ("win0", {each["metadata"]["name"]: what_counts(each) for each in found})
        self.happened(NODES)

    def routes(self) -> list[str]:
        return sorted(f"{each.destination} over {each.gateway}" for each in self.host.routes.list())

    def unrouted(self) -> list[str]:
        """Told since the last time."""
        return [text for event, text in self.told() if event is Event.UNROUTED]

    def is_well(self) -> bool:
        return status(self.host).is_well


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Router]:
    """A machine that is the node win0, on which nobody wants a pod network yet."""

    def make(folder: pathlib.Path, host: Host, **ports: dict[str, Any]) -> Router:
        router = Router(folder, host, **ports)

        def said(*arguments: Any) -> SaidNodes:
            router.said = SaidNodes(*arguments)
            return router.said

        monkeypatch.setattr("service.routing.Nodes", said)
        *others, kubelet = nodes.wants(arguments=(f"--kubeconfig={KUBECONFIG}",))
        assert isinstance(kubelet, Service)
        router.make(Specification.of([*others, kubelet], title="a small node"))
        router.told()
        return router

    return make


@pytest.fixture
def router(made: Callable[..., Router], tmp_path: pathlib.Path, host: Host) -> Router:
    """It wants one, and is alone so far."""
    router = made(tmp_path, host)
    router.wants(POD_NETWORK)
    router.there_are(a_node(0))
    router.told()
    return router


def test_nothing_is_loaded_where_nobody_wants_it(
    made: Callable[..., Router], tmp_path: pathlib.Path, host: Host
) -> None:
    router = made(tmp_path, host)
    router.happened(NODES)
    assert not hasattr(router, "said")


def test_the_nodes_own_network(router: Router) -> None:
    assert router.said.path == KUBECONFIG
    (network,) = router.host.networks.list()
    (endpoint,) = router.host.networks.endpoints()
    assert (network.name, [each.prefix for each in network.subnets]) == ("cbr0", ["10.244.0.0/24"])
    assert (endpoint.name, endpoint.address, endpoint.is_attached) == ("cbr0_ep", "10.244.0.2", True)
    assert b'"rangeStart": "10.244.0.3"' in router.host.files.read(CNI)
    assert [router.host.routes.forwards(each) for each in ("192.0.2.10", "10.244.0.2")] == [True, True]
    assert router.routes() == []
    assert router.is_well()


def test_an_interface_that_does_not_forward_any_more_is_put_right(router: Router) -> None:
    router.host.routes.set_forwarding("192.0.2.10", forwards=False)
    router.pass_time(700)
    assert router.host.routes.forwards("192.0.2.10") is True


def test_a_start_of_windows_takes_no_more_than_it_gives_back(router: Router, tmp_path: pathlib.Path) -> None:
    router.there_are(a_node(0), a_node(1))
    Machine(tmp_path, run_services=False).start_up()
    assert router.host.routes.forwards("192.0.2.10") is False
    router.begin()
    router.pass_time(30)
    assert [router.host.routes.forwards(each) for each in ("192.0.2.10", "10.244.0.2")] == [True, True]
    assert router.routes() == ["10.244.1.0/24 over 192.0.2.11"]
    assert router.is_well()


def test_routes_come_change_and_go_with_the_nodes(router: Router) -> None:
    router.there_are(a_node(0), a_node(1), a_node(2))
    assert router.routes() == ["10.244.1.0/24 over 192.0.2.11", "10.244.2.0/24 over 192.0.2.12"]
    assert all(each.persistent and each.active for each in router.host.routes.list())
    router.there_are(a_node(0), a_node(1, podCIDRs=["10.244.9.0/24"]))
    assert router.routes() == ["10.244.9.0/24 over 192.0.2.11"]
    router.there_are(a_node(0))
    assert router.routes() == []
    assert router.told() == []
    assert router.is_well()


def test_a_burst_is_one_run_and_routes_alone_let_go_of_no_watch(
    router: Router, monkeypatch: pytest.MonkeyPatch
) -> None:
    logged, followed = len(router.log), [router.watches.folders]
    follow = router.watches.follow

    def counting(*what: Any, **more: Any) -> None:
        follow(*what, **more)
        followed.append(router.watches.folders)

    monkeypatch.setattr(router.watches, "follow", counting)
    for count in range(1, 51):
        router.said.seen = ("win0", {str(each): what_counts(a_node(each)) for each in range(count)})
        router.signals.put(NODES)
    router.pass_time(1)
    assert len(router.routes()) == 49
    assert len(router.log) == logged + 1
    assert all(each == followed[0] for each in followed)


def test_what_a_node_does_otherwise_makes_no_run(router: Router) -> None:
    router.there_are(a_node(0), a_node(1))
    logged = len(router.log)
    router.there_are(
        a_node(0), {**a_node(1), "status": {**a_node(1)["status"], "conditions": [{"type": "Ready"}]}}
    )
    assert router.log[logged:] == []


def test_whatever_becomes_of_its_own_node_all_stays(router: Router) -> None:
    router.there_are(a_node(0), a_node(1))
    before = machine(router.host)
    for gone in ((), (a_node(1),), (a_node(0, podCIDRs=[]), a_node(1))):
        router.there_are(*gone)
        assert machine(router.host) == before


def test_a_drifting_route_is_put_right(router: Router) -> None:
    router.there_are(a_node(0), a_node(1))
    (route,) = router.host.routes.list()
    router.host.routes.remove(route)
    router.pass_time(700)
    assert router.host.routes.list() == [route]


def test_a_service_that_starts_without_a_cluster_keeps_what_there_was(router: Router) -> None:
    router.there_are(a_node(0), a_node(1))
    before = router.host.routes.list()
    router.host.routes.remove(before[0])
    router.begin()
    router.pass_time(10)
    assert router.said.seen is None
    assert router.host.routes.list() == before


def test_it_goes_with_the_wish_for_it(router: Router) -> None:
    router.there_are(a_node(0), a_node(1))
    router.wants(None)
    assert (router.routes(), router.host.networks.list()) == ([], [])
    assert router.host.files.observe(CNI) is None
    assert router.said.path is None
    assert router.is_well()


def test_a_reset_takes_it_away(made: Callable[..., Router], tmp_path: pathlib.Path, host: Host) -> None:
    before = machine(host)
    router = made(tmp_path, host)
    router.wants(POD_NETWORK)
    router.there_are(a_node(0), a_node(1))
    reset(router.host, Silent())
    assert machine(host) == before


# Routes that somebody else made


SOMEBODYS = {
    "over the same gateway": (Route("10.244.1.0/24", "192.0.2.11", 7), []),
    "over another": (
        Route("10.244.1.0/24", "192.0.2.99", 7),
        ["route 10.244.1.0/24 over 192.0.2.11 is left out: somebody has made one over 192.0.2.99"],
    ),
}


@pytest.mark.parametrize(("theirs", "told"), SOMEBODYS.values(), ids=SOMEBODYS)
def test_what_somebody_else_made_stays_and_counts(router: Router, theirs: Route, told: list[str]) -> None:
    router.host.routes.add(theirs)
    before = router.host.routes.list()
    router.there_are(a_node(0), a_node(1))
    router.pass_time(120)
    assert router.host.routes.list() == before
    assert router.unrouted() == told
    router.there_are(a_node(0))
    assert router.host.routes.list() == before
    router.host.routes.remove(before[0])
    router.there_are(a_node(0), a_node(1))
    assert router.routes() == ["10.244.1.0/24 over 192.0.2.11"]


def test_a_route_of_a_document_stays_that_documents(router: Router) -> None:
    wanted = "routes: [{destination: 10.244.1.0/24, gateway: 192.0.2.11, metric: 7}]\n"
    router.wants(f"{POD_NETWORK}{wanted}")
    router.there_are(a_node(0), a_node(1))
    assert [each.metric for each in router.host.routes.list()] == [7]
    router.there_are(a_node(0))
    assert [each.metric for each in router.host.routes.list()] == [7]
    router.there_are(a_node(0), a_node(1))
    router.wants(POD_NETWORK)
    assert [each.metric for each in router.host.routes.list()] == [256]


# What is told


def test_who_is_left_out_for_long_is_told_once(router: Router) -> None:
    router.there_are(a_node(0), a_node(1, podCIDRs=[]))
    assert router.told() == []
    router.there_are(a_node(0), a_node(1))
    router.pass_time(120)
    assert router.told() == []
    for number in range(3):
        router.there_are(a_node(0), a_node(1, podCIDRs=[]), a_node(2 + number))
        router.pass_time(60)
    assert router.told() == [(Event.UNROUTED, "Node win1 is left out: it has no podCIDR of IPv4")]


def test_that_nodes_cannot_be_followed_is_told_once(router: Router) -> None:
    router.there_are(a_node(0), a_node(1))
    before = machine(router.host)
    router.said.trouble = "the API server does not answer"
    for _ in range(3):
        router.happened(NODES)
    (text,) = router.unrouted()
    assert text.startswith("the Nodes cannot be followed: the API server does not answer; until then")
    assert machine(router.host) == before


def test_a_route_that_cannot_be_made_keeps_no_other_from_being_made(
    made: Callable[..., Router], tmp_path: pathlib.Path, host: Host
) -> None:
    refused = ["192.0.2.12"]

    def add(route: Route) -> None:
        if route.gateway in refused:
            raise host_error("add", f"the route to {route.destination}", UNREACHABLE_GATEWAY)
        host.routes.add(route)

    router = made(tmp_path, host, routes={"add": add})
    router.wants(POD_NETWORK)
    router.there_are(a_node(0), a_node(1), a_node(2), a_node(3))
    others = ["10.244.1.0/24 over 192.0.2.11", "10.244.3.0/24 over 192.0.2.13"]
    assert router.routes() == others
    router.there_are(a_node(0), a_node(1), a_node(2), a_node(3), a_node(4))
    assert router.routes() == [*others, "10.244.4.0/24 over 192.0.2.14"]
    router.told()
    router.pass_time(200)
    (text,) = router.unrouted()
    assert text.startswith(
        "route 10.244.2.0/24 over 192.0.2.12 is left out: cannot add the route to 10.244.2.0/24"
    )
    refused.clear()
    router.pass_time(700)
    assert len(router.routes()) == 4


def test_a_network_that_cannot_be_made_is_told_and_tried_again(
    made: Callable[..., Router], tmp_path: pathlib.Path, host: Host
) -> None:
    faults = [host_error("create", "network cbr0", UNREACHABLE_GATEWAY)] * 2

    def create(network: Any) -> None:
        if faults:
            raise faults.pop()
        host.networks.create(network)

    router = made(tmp_path, host, networks={"create": create})
    router.wants(POD_NETWORK)
    before = machine(host)
    router.there_are(a_node(0), a_node(1))
    assert machine(host) == before
    (text,) = router.unrouted()
    assert text.startswith("the pod network cannot be made so: cannot create network cbr0")
    router.pass_time(60)
    assert router.routes() == ["10.244.1.0/24 over 192.0.2.11"]


def test_what_counts_of_a_node() -> None:
    found = what_counts({**a_node(1), "metadata": {**a_node(1)["metadata"], "annotations": {"a": "b"}}})
    assert found == {
        "metadata": {"name": "win1", "creationTimestamp": "2030-01-01T00:00:00Z"},
        "networks": ["10.244.1.0/24"],
        "addresses": ["192.0.2.11"],
    }
    assert what_counts({"metadata": None, "spec": [], "status": {"addresses": [None]}}) == {
        "metadata": {"name": "", "creationTimestamp": ""},
        "networks": [],
        "addresses": [],
    }
