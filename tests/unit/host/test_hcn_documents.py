"""Networks out of what HNS tells of them, as it is told by Windows Server and left out by it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent.host import hcn_documents
from agent.host.networks import ContainerNetwork, LoadBalancer, NetworkEndpoint, NetworkPolicy, Subnet

ID = "0C5B3D2A-0F5E-4B8B-8A1C-7B6D5E4F3A2B"
LOW = ID.lower()
VERSION = {"Major": 2, "Minor": 0}

NETWORKS: dict[str, tuple[dict[str, Any], ContainerNetwork]] = {
    "Docker's, of the type whose number is 0": (
        {"ID": ID, "Name": "nat", "Flags": 0, "SchemaVersion": VERSION},
        ContainerNetwork(LOW, "nat", "NAT"),
    ),
    "an overlay with what its daemon has told of another node": (
        {
            "ID": ID,
            "Name": "flannel.4096",
            "Type": "Overlay",
            "Policies": [
                {
                    "Type": "RemoteSubnetRoute",
                    "Settings": {"IsolationId": 4096, "DestinationPrefix": "10.244.3.0/24"},
                },
                {"Type": "NetAdapterName", "Settings": {"NetworkAdapterName": "Ethernet"}},
                {"Type": "HostRoute"},
            ],
            "Ipams": [
                {
                    "Subnets": [
                        {
                            "IpAddressPrefix": "10.244.7.0/24",
                            "Policies": [{"Type": "VSID", "Settings": {"IsolationId": 4096}}],
                            "Routes": [
                                {"NextHop": "10.244.7.9", "DestinationPrefix": "10.0.0.0/8"},
                                {"NextHop": "10.244.7.1", "DestinationPrefix": "0.0.0.0/0"},
                            ],
                        }
                    ]
                }
            ],
            "MacPool": {"Ranges": [{"StartMacAddress": "00-15-5D-52-C0-00"}]},
        },
        ContainerNetwork(
            LOW,
            "flannel.4096",
            "Overlay",
            (Subnet("10.244.7.0/24", "10.244.7.1", 4096),),
            "Ethernet",
            (
                NetworkPolicy(
                    "RemoteSubnetRoute", '{"DestinationPrefix":"10.244.3.0/24","IsolationId":4096}'
                ),
                NetworkPolicy("HostRoute", "{}"),
            ),
        ),
    ),
    "lists that are null": (
        {"Name": "x", "Type": "ICS", "Policies": None, "Ipams": [{"Subnets": None}]},
        ContainerNetwork(LOW, "x", "ICS"),
    ),
}


@pytest.mark.parametrize(("document", "network"), NETWORKS.values(), ids=NETWORKS)
def test_a_network_is_read(document: dict[str, Any], network: ContainerNetwork) -> None:
    assert hcn_documents.network(ID, document) == network


def test_what_is_written_reads_as_the_same() -> None:
    _, network = NETWORKS["an overlay with what its daemon has told of another node"]
    written = hcn_documents.of_network(network)
    assert "ID" not in written, "that is told beside it"
    assert hcn_documents.network(ID, written) == network


ENDPOINTS: dict[str, tuple[dict[str, Any], NetworkEndpoint]] = {
    "a pod's": (
        {
            "Name": "pod_cbr0",
            "HostComputeNetwork": ID,
            "HostComputeNamespace": ID,
            "IpConfigurations": [{"IpAddress": "10.244.7.10", "PrefixLength": 24}],
            "Routes": [{"NextHop": "10.244.7.1", "DestinationPrefix": "0.0.0.0/0"}],
            "MacAddress": "00-15-5D-52-C6-8B",
        },
        NetworkEndpoint(
            LOW, "pod_cbr0", LOW, "10.244.7.10", 24, "10.244.7.1", "00-15-5D-52-C6-8B", is_attached=True
        ),
    ),
    "a proxy's, of another node": (
        {"HostComputeNetwork": ID, "Flags": 1, "IpConfigurations": [{"IpAddress": "10.244.3.5"}]},
        NetworkEndpoint(LOW, "", LOW, "10.244.3.5", is_remote=True),
    ),
    "attached to nobody": (
        {"Name": "x", "HostComputeNamespace": "00000000-0000-0000-0000-000000000000"},
        NetworkEndpoint(LOW, "x", ""),
    ),
}


@pytest.mark.parametrize(("document", "endpoint"), ENDPOINTS.values(), ids=ENDPOINTS)
def test_an_endpoint_is_read(document: dict[str, Any], endpoint: NetworkEndpoint) -> None:
    assert hcn_documents.endpoint(ID, document) == endpoint


def test_an_endpoint_is_attached_to_the_machine_as_every_program_asks_for_it() -> None:
    """By hcsshim's own spelling: Go does not mind another one, HNS may."""
    assert json.loads(hcn_documents.ATTACH_TO_HOST) == {"SystemType": "Host", "CompartmentId": 1}


def test_a_load_balancer_is_read() -> None:
    assert hcn_documents.load_balancer(ID, {"HostComputeEndpoints": [ID]}) == LoadBalancer(LOW, (LOW,))
    assert hcn_documents.load_balancer(ID, {}) == LoadBalancer(LOW, ())
