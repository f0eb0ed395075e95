"""Where the kubelet reaches its container runtime, from what nodeRegistration.criSocket says."""

import re

from agent.sources import urls
from agent.sources.report import quoted

CONTAINERD = "npipe:////./pipe/containerd-containerd"
CRI_DOCKERD = "npipe:////./pipe/cri-dockerd"
KNOWN = (CONTAINERD, CRI_DOCKERD)
"""As kubeadm looks for them; with both there a configuration has to say which."""

_PIPE = re.compile(r"(?:npipe:(?://)?)?[\\/]{2}\.[\\/]pipe[\\/](?P<name>[^\x00-\x20\x7f%?#]+)", re.IGNORECASE)
_TCP = re.compile(r"tcp://[^/?#]+", re.IGNORECASE)
_LINUX = re.compile(r"unix:|/(?!/)", re.IGNORECASE)


def fault(given: str) -> str | None:
    """Why no kubelet on Windows could use it. A socket of Linux is none: another takes its place."""
    if is_of_linux(given) or _PIPE.fullmatch(given):
        return None
    if _TCP.fullmatch(given) and urls.parse(given) is not None:
        return None
    return f"{quoted(given)} is no named pipe such as {CONTAINERD}"


def is_of_linux(given: str) -> bool:
    """A configuration that was made for Linux nodes too."""
    return bool(_LINUX.match(given))


def endpoint(given: str) -> str:
    """As the kubelet takes it, of one without fault."""
    pipe = _PIPE.fullmatch(given)
    if pipe is None:
        return given
    return "npipe:////./pipe/" + pipe["name"].replace("\\", "/")
