"""Networks as the documents that Windows' Host Compute Network API takes and gives, of its schema 2."""

import json
from typing import Any

from agent.host.networks import ContainerNetwork, LoadBalancer, NetworkEndpoint, NetworkPolicy, Subnet

Document = dict[str, Any]

VERSION = {"Major": 2, "Minor": 0}
QUERY = json.dumps({"SchemaVersion": VERSION, "Flags": 0})
ATTACH_TO_HOST = json.dumps({"SystemType": "Host", "CompartmentId": 1})
"""Of the first schema, as every program does it: the second has no request for it that Server 2019 knows."""

_ADAPTER = "NetAdapterName"
_ISOLATION = "VSID"
_ANYWHERE = "0.0.0.0/0"
_NOBODY = "00000000-0000-0000-0000-000000000000"
_REMOTE = 1
_DEFAULT_TYPE = "NAT"
"""The first of the types: its number is 0, and HNS leaves it out."""


def of_network(network: ContainerNetwork) -> Document:
    policies = [{"Type": each.type, "Settings": json.loads(each.settings)} for each in network.policies]
    if network.adapter is not None:
        policies.append({"Type": _ADAPTER, "Settings": {"NetworkAdapterName": network.adapter}})
    document: Document = {"Name": network.name, "Type": network.type, "SchemaVersion": VERSION}
    if network.subnets:
        document["Ipams"] = [{"Type": "Static", "Subnets": [_of_subnet(each) for each in network.subnets]}]
    return {**document, "Policies": policies} if policies else document


def _of_subnet(subnet: Subnet) -> Document:
    document: Document = {"IpAddressPrefix": subnet.prefix}
    if subnet.gateway is not None:
        document["Routes"] = [{"NextHop": subnet.gateway, "DestinationPrefix": _ANYWHERE}]
    if subnet.isolation is not None:
        document["Policies"] = [{"Type": _ISOLATION, "Settings": {"IsolationId": subnet.isolation}}]
    return document


def network(identifier: str, document: Document) -> ContainerNetwork:
    policies = document.get("Policies") or []
    subnets = [subnet for ipam in document.get("Ipams") or [] for subnet in ipam.get("Subnets") or []]
    return ContainerNetwork(
        identifier.lower(),
        str(document.get("Name", "")),
        str(document.get("Type") or _DEFAULT_TYPE),
        tuple(_subnet(each) for each in subnets),
        next((_settings(each).get("NetworkAdapterName") for each in policies if _is(each, _ADAPTER)), None),
        tuple(policy(each["Type"], _settings(each)) for each in policies if not _is(each, _ADAPTER)),
    )


def policy(kind: str, settings: Document) -> NetworkPolicy:
    return NetworkPolicy(kind, json.dumps(settings, sort_keys=True, separators=(",", ":")))


def _subnet(document: Document) -> Subnet:
    policies = document.get("Policies") or []
    return Subnet(
        str(document.get("IpAddressPrefix", "")),
        _gateway(document),
        next((_settings(each).get("IsolationId") for each in policies if _is(each, _ISOLATION)), None),
    )


def _gateway(document: Document) -> str | None:
    routes = document.get("Routes") or []
    anywhere = [each for each in routes if each.get("DestinationPrefix") in (_ANYWHERE, "::/0")]
    return anywhere[0].get("NextHop") if anywhere else None


def _is(document: Document, kind: str) -> bool:
    return bool(document.get("Type") == kind)


def _settings(document: Document) -> Document:
    settings: Document = document.get("Settings") or {}
    return settings


def of_endpoint(endpoint: NetworkEndpoint) -> Document:
    document: Document = {
        "Name": endpoint.name,
        "HostComputeNetwork": endpoint.network,
        "IpConfigurations": [{"IpAddress": endpoint.address, "PrefixLength": endpoint.prefix_length}],
        "SchemaVersion": VERSION,
    }
    if endpoint.gateway is not None:
        document["Routes"] = [{"NextHop": endpoint.gateway, "DestinationPrefix": _ANYWHERE}]
    return {**document, "MacAddress": endpoint.mac} if endpoint.mac is not None else document


def endpoint(identifier: str, document: Document) -> NetworkEndpoint:
    addresses = document.get("IpConfigurations") or [{}]
    return NetworkEndpoint(
        identifier.lower(),
        str(document.get("Name", "")),
        str(document.get("HostComputeNetwork", "")).lower(),
        str(addresses[0].get("IpAddress", "")),
        int(addresses[0].get("PrefixLength") or 0),
        _gateway(document),
        document.get("MacAddress") or None,
        document.get("HostComputeNamespace", "") not in ("", _NOBODY),
        bool(int(document.get("Flags") or 0) & _REMOTE),
    )


def load_balancer(identifier: str, document: Document) -> LoadBalancer:
    endpoints = document.get("HostComputeEndpoints") or []
    return LoadBalancer(identifier.lower(), tuple(str(each).lower() for each in endpoints))
