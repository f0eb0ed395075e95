"""What a machine has before it is a node, of whatever cluster: a kubelet, its folders, and ways to it."""

import re
from collections.abc import Iterator
from pathlib import PureWindowsPath

from agent import log_runner as log_runners
from agent.sources.kubelet.folders import private, program
from agent.spec import Artifact, Content, File, Protection, Want
from agent.spec.machine import PathEntry
from agent.spec.networks import FirewallRule

_KUBELET = "https://dl.k8s.io/{version}/bin/windows/amd64/kubelet.exe"
"""Where the Kubernetes project publishes it, with its checksum beside it."""

_RELEASE = re.compile(r"v?(1\.[0-9]{1,3}\.[0-9]{1,3}(-[0-9A-Za-z.]{1,40})?)")
_KUBELET_PORT = "10250"


def release(said: str) -> str | None:
    """As it is called there; None for what is none of Kubernetes'."""
    found = _RELEASE.fullmatch(said)
    return f"v{found[1]}" if found else None


def prerequisites(
    version: str, directory: PureWindowsPath, others: PureWindowsPath, log_runner: Content | None
) -> Iterator[Want]:
    """Of this release's kubelet in `directory`, with what writes services' logs beside it.

    The folder `others` has programs that people call, too.
    """
    kubelet = _KUBELET.format(version=version)
    yield program(directory)
    yield from private((), ()).values()
    yield Artifact(
        "kubelet.exe",
        kubelet,
        directory / "kubelet.exe",
        checksums=f"{kubelet}.sha256",
        protection=Protection.PROGRAM,
    )
    if log_runner is not None:
        yield File(directory / log_runners.NAME, log_runner, Protection.PROGRAM)
    for folder in (directory, others):
        yield PathEntry(folder)
    yield FirewallRule(
        "wmcb kubelet",
        "Lets the control plane reach the kubelet: logs, exec, metrics.",
        protocol="tcp",
        local_ports=(_KUBELET_PORT,),
    )
