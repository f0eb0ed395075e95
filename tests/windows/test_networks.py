"""A NodeConfiguration's container network: made, lost in each way that Windows loses one, and there again."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from lab import programs, routes, wine
from lab.hns import Hns
from lab.node import Node
from lab.processes import Ends, Process
from lab.running import LASTING_SECONDS
from lab.services import State
from lab.standin_kubelet import StandinKubelet
from lab.waiting import until
from windows.exe import SERVICE
from windows.test_bootstrap import Machine

DOCUMENT = r"C:\given files\node.yaml"
PROXY = r"C:\proxy\kube-proxy.exe"
TEXT = rf"""apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
networks:
- name: cbr0
  type: l2bridge
  address: 10.77.0.1
  subnets: [{{prefix: 10.244.7.0/24, gateway: 10.244.7.1}}]
  hostEndpoint: {{address: 10.244.7.2, gateway: 10.244.7.1, forwarding: true}}
routes:
- {{destination: 10.244.3.0/24, gateway: 10.77.0.33}}
services:
- name: kube-proxy
  program: {PROXY}
  arguments: [--windows-service]
  reads: [{{network: cbr0}}]
  restartsWith: [hns]
"""
SHIM = r"C:\Program Files\containerd\containerd-shim-runhcs-v1.exe"
FLANNEL, CONTAINERS_PROXY = r"C:\hpc\flannel\flanneld.exe", r"C:\hpc\kube-proxy\kube-proxy.exe"
CONTAINERS = """apiVersion: wmcb.internal/v1beta1
kind: NodeConfiguration
containerPrograms:
- name: flanneld.exe
  makes: [{network: cbr0, hostEndpoint: cbr0_ep}]
- name: kube-proxy.exe
  needs: [cbr0]
"""
FLANNELS, FLANNELS_ENDPOINT = "6d1f7c2e-0c1b-4c83-9a55-0d2f6ad1c001", "6d1f7c2e-0c1b-4c83-9a55-0d2f6ad1c002"
SCHEMA = {"Major": 2, "Minor": 0}
FLANNELS_NETWORK = {
    "Name": "cbr0",
    "Type": "L2Bridge",
    "SchemaVersion": SCHEMA,
    "Ipams": [{"Type": "Static", "Subnets": [{"IpAddressPrefix": "10.244.7.0/24"}]}],
}
ENDPOINT = {
    "Name": "cbr0_ep",
    "IpConfigurations": [{"IpAddress": "10.244.7.2", "PrefixLength": 24}],
    "SchemaVersion": SCHEMA,
}
BALANCER = {
    "FrontendVIPs": ["10.96.0.10"],
    "PortMappings": [{"Protocol": 17, "InternalPort": 53, "ExternalPort": 53}],
    "SchemaVersion": SCHEMA,
}
LOG = r"C:\ProgramData\wmcb\logs\wmcb.log"
ROUTE = {"10.244.3.0/24 over 10.77.0.33": 256}
FORWARDING = {"eth0": True, "eth0peer": True}
SOON_SECONDS = 60.0
OLDER_SECONDS = 5.5
AT_ONCE_SECONDS = 30.0
"""Usually half of one, on a machine that does nothing else; by itself it would look after ten minutes."""


@pytest.fixture
def machine(node: Node) -> Machine:
    machine = Machine(node)
    routes.install(node)
    node.path(DOCUMENT).write_text(TEXT)
    return machine


def is_whole(hns: Hns) -> bool:
    network, endpoint = hns.network("cbr0"), hns.endpoint("cbr0_ep")
    if network is None or endpoint is None:
        return False
    return endpoint["HostComputeNetwork"] == network["ID"] and bool(endpoint.get("HostComputeNamespace"))


@contextmanager
def endpoints_adapter() -> Iterator[None]:
    """HNS' stand-in makes none."""
    address = ("10.244.7.2/24", "dev", "eth0peer")
    subprocess.run(["ip", "addr", "add", *address], check=True)
    try:
        yield
    finally:
        subprocess.run(["ip", "addr", "del", *address], check=True)


@contextmanager
def started(node: Node, *commands: tuple[str, ...]) -> Iterator[None]:
    running = [node.start(*command, seconds=LASTING_SECONDS) for command in commands]
    yield
    for each in running:
        assert not each.ended


def test_a_network_is_made_kept_and_taken_back(machine: Machine) -> None:
    """One test for all, since each node costs seconds."""
    node, hns = machine.node, Hns(machine.node)
    proxy = StandinKubelet(node, PROXY, address="127.0.0.1:10256", starts=r"C:\proxy.txt")
    with endpoints_adapter():
        result = machine.bootstrap("--node-config", DOCUMENT)
        assert result.code == 0, result.err
        assert machine.bootstrap("--node-config", DOCUMENT).out.startswith("nothing to do")
        assert is_whole(hns)
        assert (routes.made(node), routes.forwarding(node)) == (ROUTE, FORWARDING)
        network = hns.network("cbr0")
        assert network is not None
        assert (network["Type"], network["Ipams"][0]["Subnets"][0]["IpAddressPrefix"]) == (
            "L2Bridge",
            "10.244.7.0/24",
        )
        (policy,) = network["Policies"]
        assert policy["Type"] == "NetAdapterName"
        assert [each["call"] for each in hns.asked] == ["CreateNetwork", "CreateEndpoint", "HNSCall"]

        _lose_network(hns)
        assert machine.bootstrap("--node-config", DOCUMENT).code == 0
        assert is_whole(hns)
        assert hns.load_balancers == [], "HNS would refuse a proxy another of its kind"

        assert machine.wmcb("daemon", "install").code == 0
        node.start_service(SERVICE)
        until(lambda: "keeping" in _log(node), "the resident service has begun", SOON_SECONDS)
        starts = len(proxy.starts)
        hns.crash()
        crashed = time.monotonic()
        until(
            lambda: len(proxy.starts) == starts + 1,
            "the proxy is restarted",
            SOON_SECONDS,
            lambda: _log(node),
        )
        assert time.monotonic() - crashed < AT_ONCE_SECONDS
        node.wait_for_service("kube-proxy", State.RUNNING)
        told = "service kube-proxy was restarted: service hns"
        until(lambda: told in _log(node), "it is told", SOON_SECONDS, lambda: _log(node))

    node.power_off()
    hns.lose_networks()
    stale = hns.endpoint("cbr0_ep")
    assert stale is not None
    node.boot()
    until(lambda: is_whole(hns), "the network is there again", SOON_SECONDS, lambda: (_log(node), hns.asked))
    with endpoints_adapter():  # it comes after the network, and is waited for
        node.wait_for_service("kube-proxy", State.RUNNING)
        until(lambda: routes.made(node) == ROUTE, "so is the route", SOON_SECONDS, lambda: _log(node))
        until(
            lambda: routes.forwarding(node) == FORWARDING, "packets go on", SOON_SECONDS, lambda: _log(node)
        )
        hns.call("CreateNetwork", FLANNELS, {**FLANNELS_NETWORK, "Name": "theirs"})
        reset = machine.wmcb("reset")
        assert reset.code == 0
        assert "  in HNS stays what others made: theirs; --all-hns deletes it" in reset.out.splitlines()
    assert ([each["Name"] for each in hns.networks], hns.endpoints, routes.made(node)) == (["theirs"], [], {})
    assert routes.forwarding(node) == {"eth0": False, "eth0peer": False}
    others = machine.wmcb("reset", "--all-hns")
    assert others.out.endswith("  what was in HNS is deleted: theirs\n"), others.out
    assert hns.networks == []


def test_programs_of_containers_start_anew_in_order_when_hns_has_forgotten(node: Node) -> None:
    hns, machine = Hns(node), Machine(node)
    node.path(DOCUMENT).write_text(CONTAINERS)
    node.copy_in(wine.outside(programs.PLACE) / "shim.exe", SHIM)
    flannel = StandinKubelet(node, FLANNEL, address="127.0.0.1:10257")
    proxy = StandinKubelet(node, CONTAINERS_PROXY, address="127.0.0.1:10256")
    another = StandinKubelet(node, PROXY, address="127.0.0.1:10258")
    assert machine.bootstrap("--node-config", DOCUMENT).code == 0
    assert machine.wmcb("daemon", "install").code == 0
    hns.call("CreateNetwork", FLANNELS, FLANNELS_NETWORK)
    with started(node, (SHIM, FLANNEL), (SHIM, CONTAINERS_PROXY), (PROXY,)):
        until(lambda: all(each.starts for each in (flannel, proxy, another)), "they run", SOON_SECONDS)
        node.start_service(SERVICE)
        until(lambda: "keeping" in _log(node), "the resident service has begun", SOON_SECONDS)
        ends = Ends([_running(node, FLANNEL), _running(node, CONTAINERS_PROXY)])
        hns.crash()
        crashed = time.monotonic()
        until(
            lambda: (len(flannel.starts), len(proxy.starts)) == (2, 2),
            "both are",
            SOON_SECONDS,
            lambda: (flannel.starts, proxy.starts, _log(node)),
        )
        began = time.monotonic()
        assert began - crashed < AT_ONCE_SECONDS
        assert ends.names() == ["flanneld.exe", "kube-proxy.exe"], (
            "who makes a network, and then who needs it"
        )

        node.stop_service(SERVICE)
        node.wait_for_service(SERVICE, State.STOPPED)
        # Sooner they might be who had it started.
        until(lambda: time.monotonic() - began > OLDER_SECONDS, "they are older than the next", SOON_SECONDS)
        hns.crash()
        node.start_service(SERVICE)
        until(
            lambda: (len(flannel.starts), len(proxy.starts)) == (3, 3),
            "both are again, by a resident service that has not seen it",
            SOON_SECONDS,
            lambda: (flannel.starts, proxy.starts, _log(node)),
        )

        hns.call("DeleteNetwork", FLANNELS, {})
        hns.crash()
        until(lambda: len(flannel.starts) == 4, "its network is lost", SOON_SECONDS, lambda: _log(node))
        assert len(proxy.starts) == 3, "it would find no network"
        hns.call("CreateNetwork", FLANNELS, FLANNELS_NETWORK)
        until(lambda: len(proxy.starts) == 4, "it is there again", SOON_SECONDS, lambda: _log(node))
        assert len(another.starts) == 1, "it is in no container"

    hns.call("CreateEndpoint", FLANNELS_ENDPOINT, ENDPOINT, FLANNELS)
    assert hns.endpoint("cbr0_ep") is not None
    node.power_off()
    hns.lose_networks(with_endpoint="cbr0_ep")
    node.boot()
    until(
        lambda: hns.endpoint("cbr0_ep") is None,
        "nothing is in flanneld's way",
        SOON_SECONDS,
        lambda: _log(node),
    )


def test_without_the_feature_it_is_said_in_one_line_what_to_do(machine: Machine) -> None:
    result = machine.bootstrap("--node-config", DOCUMENT)
    assert result.code == 1
    (line,) = [line for line in result.err.splitlines() if line.startswith("wmcb: ")]
    place, _, told = line.partition(" at $.networks.0: ")
    assert place == rf"wmcb: {DOCUMENT} line 4, column 3"
    assert told.startswith("cannot list container networks: this version of Windows does not support it")
    assert "; install the Windows feature Containers; " in line
    assert machine.node.service("kubelet") is None


def test_what_hns_refuses_is_told_in_one_line_and_taken_back(machine: Machine) -> None:
    hns = Hns(machine.node)
    hns.fail("CreateEndpoint", 0x803B002F)
    result = machine.bootstrap("--node-config", DOCUMENT)
    assert result.code == 1
    (line,) = [line for line in result.err.splitlines() if line.startswith("wmcb: ")]
    assert "cannot create network endpoint cbr0_ep: Windows refused (Windows error 0x803b002f)" in line
    assert (hns.networks, hns.endpoints) == ([], [])


def _lose_network(hns: Hns) -> None:
    """But for a load balancer, which leads nowhere then."""
    network, endpoint = hns.network("cbr0"), hns.endpoint("cbr0_ep")
    assert network is not None
    assert endpoint is not None
    hns.call("CreateLoadBalancer", FLANNELS, {**BALANCER, "HostComputeEndpoints": [endpoint["ID"]]})
    assert len(hns.load_balancers) == 1
    hns.call("DeleteEndpoint", endpoint["ID"], {})
    hns.call("DeleteNetwork", network["ID"], {})


def _running(node: Node, program: str) -> Process:
    (found,) = [each for each in node.processes(program.rpartition("\\")[2]) if program in each.command]
    return found


def _log(node: Node) -> str:
    log = node.path(LOG)
    return log.read_text() if log.exists() else "no log"
