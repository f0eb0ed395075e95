"""What a cluster says of itself in kube-system/kubeadm-config, and whether a kubelet may join it."""

import ipaddress
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from agent.documents import Value, mapping
from agent.sources.kubeadm.decoding import Part, parts
from agent.sources.kubeadm.schema import GROUP, VERSIONS
from agent.sources.kubelet.documents import NotReadable
from agent.sources.report import Entry, Outcome, Report, Severity, quoted

CONFIG_MAP = "kubeadm-config"
KEY = "ClusterConfiguration"
_NAME = f"ConfigMap kube-system/{CONFIG_MAP}"

_SERVICE_SUBNET = "10.96.0.0/12"
_CLUSTER_DNS = "10.96.0.10"
_DNS_PLACE = 10
"""The address of the cluster's DNS in the subnet of its services."""


@dataclass(frozen=True, slots=True)
class Cluster:
    name: str = "kubernetes"
    kubernetes_version: str = ""
    service_subnet: str = _SERVICE_SUBNET
    dns_domain: str = "cluster.local"
    certificates_dir: str = "/etc/kubernetes/pki"
    image_repository: str = "registry.k8s.io"
    feature_gates: Mapping[str, bool] = field(default_factory=dict)

    @property
    def dns_address(self) -> str:
        first = self.service_subnet.partition(",")[0].strip()
        try:
            subnet = ipaddress.ip_network(first, strict=False)
            return str(subnet[_DNS_PLACE])
        except (ValueError, IndexError):
            return _CLUSTER_DNS

    @property
    def client_ca(self) -> str:
        return f"{self.certificates_dir.rstrip('/')}/ca.crt"


def read_cluster(contents: bytes) -> Outcome[Cluster]:
    """Of the ConfigMap's key ClusterConfiguration. What a node does not go by is not looked at."""
    try:
        found = [part for part in parts(_NAME, contents) if part.kind == KEY and part.group == GROUP]
    except NotReadable as fault:
        return Outcome(None, Report((fault.entry,)))
    if not found:
        message = f"there is no {KEY} in it: this is no cluster of kubeadm's"
        return Outcome(None, Report((Entry(Severity.ERROR, message, _NAME),)))
    reading = _Reading(found[0], [])
    cluster = reading.cluster()
    report = Report(tuple(reading.entries))
    return Outcome(None if report.fatal else cluster, report)


@dataclass(slots=True)
class _Reading:
    part: Part
    entries: list[Entry]

    def cluster(self) -> Cluster:
        if self.part.version not in VERSIONS:
            message = f"{quoted(self.part.api)} is not known; it is read as {GROUP}/v1beta4"
            self.entries.append(self.part.document.entry(Severity.WARNING, ("apiVersion",), message))
        usual = Cluster()
        return Cluster(
            self._text("clusterName") or usual.name,
            self._text("kubernetesVersion"),
            self._text("networking", "serviceSubnet") or usual.service_subnet,
            self._text("networking", "dnsDomain") or usual.dns_domain,
            self._text("certificatesDir") or usual.certificates_dir,
            self._text("imageRepository") or usual.image_repository,
            dict(self._gates()),
        )

    def _value(self, *place: str) -> Value:
        value: Value = self.part.document.value
        for step in place:
            value = mapping(value).get(step)
        return value

    def _text(self, *place: str) -> str:
        value = self._value(*place)
        if value is None or isinstance(value, str):
            return value or ""
        self._wrong(place, "text was expected")
        return ""

    def _gates(self) -> Iterator[tuple[str, bool]]:
        for name, value in mapping(self._value("featureGates")).items():
            if isinstance(value, bool):
                yield name, value
            else:
                self._wrong(("featureGates", name), "true or false was expected")

    def _wrong(self, place: tuple[str, ...], message: str) -> None:
        self.entries.append(self.part.document.entry(Severity.ERROR, place, message))


_VERSION = re.compile(r"v?(?P<major>\d{1,3})\.(?P<minor>\d{1,4})(?:\.\d{1,4}(?:[-+].*)?)?", re.ASCII)
_THREE_SINCE = 25
"""The kubelet's minor release from which on it may be three behind."""


@dataclass(frozen=True, slots=True)
class Release:
    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


def release(version: str) -> Release | None:
    """Of v1.36.3, 1.36 or v1.37.0-rc.1+abc; None if that is no version."""
    found = _VERSION.fullmatch(version.strip())
    return Release(int(found["major"]), int(found["minor"])) if found else None


def skew_fault(kubelet: str, api_server: str, cluster: str = "") -> str | None:
    """Why this kubelet cannot join; None if it can.

    By Kubernetes' policy on how far versions of one cluster may be apart: a kubelet is never newer than the
    API server, and at most three minor releases older; up to 1.24 two.

    `cluster` is what kubeadm-config says. In the middle of an upgrade it is older than an API server that was
    upgraded already, and other API servers of the cluster are as old.
    """
    own = release(kubelet)
    if own is None:
        return f"the kubelet's version {quoted(kubelet)} is none that is known"
    said = {
        f"the API server ({api_server})": api_server,
        f"the cluster's kubeadm-config ({cluster})": cluster,
    }
    servers = {name: found for name, version in said.items() if (found := release(version))}
    for name, server in servers.items():
        if (own.major, own.minor) > (server.major, server.minor):
            return (
                f"the kubelet ({kubelet}) is newer than {name}, which Kubernetes does not support; take a "
                f"kubelet of {server} or older, or upgrade the control plane first"
            )
    for name, server in servers.items():
        behind = server.minor - own.minor
        most = 3 if own.minor >= _THREE_SINCE else 2
        if own.major == server.major and behind > most:
            return (
                f"the kubelet ({kubelet}) is {behind} minor releases older than {name}; Kubernetes supports "
                f"{most}: take one of {server.major}.{server.minor - most} to {server}"
            )
    return None
