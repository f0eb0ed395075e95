"""What the translation has to know: which kubelet it is for, and what this node is and is asked to be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

OLDEST = 16
NEWEST = 36
"""The minor releases of Kubernetes 1 that the tables know."""

_VERSION = re.compile(r"v?1\.(\d{1,3})(?:\.\d+)?(?P<built>[-+.\w]*)")
_OPENSHIFT_BUILD = re.compile(r"\+[0-9a-f]{7,40}\b")

PRIORITY_CLASS = "ABOVE_NORMAL_PRIORITY_CLASS"
"""Pods must not starve the kubelet."""
DOCKER_BY_DEFAULT_UNTIL = 23
"""The last release whose kubelet looks for Docker unless it is told otherwise."""
RUNTIME_ENDPOINT = "npipe:////./pipe/containerd-containerd"
RESERVED = {"cpu": "500m", "ephemeral-storage": "1Gi", "memory": "2Gi"}
"""As the Windows Machine Config Operator reserves it; 2 GiB is the least that Kubernetes recommends."""


@dataclass(frozen=True, slots=True)
class Kubelet:
    minor: int = NEWEST
    sets_roles: bool = False
    """Whether it may label its own node with node-role.kubernetes.io/..., as OpenShift's own build may."""

    @classmethod
    def of_version(cls, version: str) -> Kubelet | None:
        """From what `kubelet --version` says, such as "Kubernetes v1.36.3". None if that is no such thing."""
        found = _VERSION.search(version)
        if found is None:
            return None
        return cls(int(found[1]), bool(_OPENSHIFT_BUILD.search(found["built"])))


@dataclass(frozen=True, slots=True)
class Node:
    """What is asked for wins over the document; what was found out fills what the document leaves open."""

    host_name: str = ""
    os_version: str = ""
    """As in 10.0.20348."""
    name: str = ""
    """Asked for, by the command line or by the platform's rules; empty for the host's own."""
    provider_id: str = ""
    addresses: tuple[str, ...] = ()
    """Asked for."""
    found_addresses: tuple[str, ...] = ()
    """Of the adapter with the default route: at most one of each family."""
    cluster_dns: tuple[str, ...] = ()
    verbosity: str = ""
    runtime_endpoint: str = RUNTIME_ENDPOINT
    credential_providers: str = ""
    """Where on this machine the plug-ins for image credentials are; empty if there are none."""
    reserved: Mapping[str, str] = field(default_factory=lambda: dict(RESERVED))
    """What the system itself needs, where the document does not say."""
    install_directory: str = ""
    """Where OpenShift's other programs look for the kubelet's files; empty where each keeps its path."""
    keeps_linux_pods_away: bool = True
    """By a taint that they do not tolerate."""

    def specifiers(self) -> dict[str, str]:
        """Systemd's %H, %l and %w, as far as they are known."""
        first_label = self.host_name.partition(".")[0]
        known = {"H": self.host_name, "l": first_label, "w": self.os_version}
        return {letter: answer for letter, answer in known.items() if answer}


_KUBERNETES = ("kubernetes.io", "k8s.io")
_ALLOWED_BELOW = ("kubelet.kubernetes.io", "node.kubernetes.io")
_ALLOWED = {
    "beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type", "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region", "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch", "kubernetes.io/hostname", "kubernetes.io/os", "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region", "topology.kubernetes.io/zone",
}  # fmt: skip
_ROLES = {f"node-role.kubernetes.io/{role}" for role in ("worker", "master", "control-plane")}

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", re.ASCII)
_DOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII)
_LONGEST_DOMAIN = 253


def is_label(key: str, value: str) -> bool:
    prefix, slash, name = key.rpartition("/")
    if slash and not (len(prefix) <= _LONGEST_DOMAIN and _DOMAIN.fullmatch(prefix)):
        return False
    return bool(_NAME.fullmatch(name)) and (not value or bool(_NAME.fullmatch(value)))


def may_set(key: str, kubelet: Kubelet) -> bool:
    """Whether a kubelet may label its own node so: over any other of Kubernetes' own it does not start."""
    domain, slash, _ = key.rpartition("/")
    if not slash or not _is_within(domain, _KUBERNETES):
        return True
    if kubelet.sets_roles and key in _ROLES:
        return True
    return key in _ALLOWED or _is_within(domain, _ALLOWED_BELOW)


def _is_within(domain: str, domains: tuple[str, ...]) -> bool:
    return any(domain == above or domain.endswith(f".{above}") for above in domains)
