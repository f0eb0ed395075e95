"""Which labels a kubelet may give its own node: over any other of Kubernetes' own it does not start."""

import re

from agent.sources.kubelet.node import Kubelet

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
    domain, slash, _ = key.rpartition("/")
    if not slash or not _is_within(domain, _KUBERNETES):
        return True
    if kubelet.sets_roles and key in _ROLES:
        return True
    return key in _ALLOWED or _is_within(domain, _ALLOWED_BELOW)


def _is_within(domain: str, domains: tuple[str, ...]) -> bool:
    return any(domain == above or domain.endswith(f".{above}") for above in domains)
