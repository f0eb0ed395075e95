"""The stand-in for Windows' Host Networking Service, asked by our own port under Windows Python."""

from __future__ import annotations

import json

import pytest

from lab.hns import SERVICE, Hns
from lab.node import Node
from lab.services import State

OVERLAY = {
    "Name": "flannel.4096",
    "Type": "Overlay",
    "Flags": 8,
    "Ipams": [
        {
            "Type": "Static",
            "Subnets": [
                {
                    "IpAddressPrefix": "10.244.7.0/24",
                    "Policies": [{"Type": "VSID", "Settings": {"IsolationId": 4096}}],
                }
            ],
        }
    ],
    "SchemaVersion": {"Major": 2, "Minor": 0},
}
BRIDGE = {**OVERLAY, "Name": "cbr0", "Type": "L2Bridge", "Flags": 0}
NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def hns(node: Node) -> Hns:
    return Hns(node)


def test_the_contract_of_networks_holds_on_it(node: Node, hns: Hns) -> None:
    result = node.python(
        "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/contract/test_networks.py", folder=r"Z:\repo"
    )
    assert result.code == 0, result.out
    assert "skipped" not in result.out
    assert "CreateNetwork" in [each["call"] for each in hns.asked]


def test_a_network_without_persistence_is_gone_after_a_reboot_and_another_is_not(
    node: Node, hns: Hns
) -> None:
    for network in (OVERLAY, BRIDGE):
        assert hns.call("CreateNetwork", NOBODY, network).startswith("0 ")
    hns.crash()
    assert [each["Name"] for each in hns.networks] == ["flannel.4096", "cbr0"]
    node.reboot()
    node.wait_for_service(SERVICE, State.RUNNING)  # until then there stands what it knew before
    assert hns.network("cbr0") is not None
    assert hns.network("flannel.4096") is None


REFUSED = {
    "a name that is taken": (BRIDGE, "803b0010"),
    "a type that there is not": ({**BRIDGE, "Name": "x", "Type": "Bridge"}, "803b000b"),
    "a field that there is not": ({**BRIDGE, "Name": "x", "Subnets": []}, "803b001b"),
    "an overlay without VSID": (json.loads(json.dumps(OVERLAY).replace("VSID", "VLAN")), "803b000d"),
    "no subnet": ({**BRIDGE, "Name": "x", "Ipams": []}, "803b0032"),
    "no such adapter": (
        {
            **BRIDGE,
            "Name": "x",
            "Policies": [{"Type": "NetAdapterName", "Settings": {"NetworkAdapterName": "Nowhere"}}],
        },
        "803b0006",
    ),
}


def test_what_windows_refuses_it_refuses_with_windows_own_code(hns: Hns) -> None:
    hns.call("CreateNetwork", NOBODY, BRIDGE)
    codes = {name: hns.call("CreateNetwork", NOBODY, network)[:8] for name, (network, _) in REFUSED.items()}
    assert codes == {name: code for name, (_, code) in REFUSED.items()}
