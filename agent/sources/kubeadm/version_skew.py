"""Whether a kubelet may join: Kubernetes' policy on how far versions of one cluster may be apart.

A kubelet is never newer than the API server, and at most three minor releases older; up to 1.24 two.
"""

import re
from dataclasses import dataclass

from agent.sources.report import quoted

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


def fault(kubelet: str, api_server: str, cluster: str = "") -> str | None:
    """Why this kubelet cannot join; None if it can.

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
