"""What this machine is known by to its cluster: the kubeconfig that its kubelet writes, and renews."""

from __future__ import annotations

from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.host.errors import HostError
from agent.host.port import FileKind
from agent.host.protection import granted_to_others
from agent.host.sddl import FILE_EXECUTE, FILE_READ
from agent.kube import kubeconfig

if TYPE_CHECKING:
    from agent.host.port import Host
    from agent.kube.kubeconfig import Kubeconfig, ReadFile


class OpenToUsers(Exception):
    """Anybody may have written the kubeconfig, and may lead this machine to a server of his."""


def own_kubeconfig(host: Host, path: PureWindowsPath) -> Kubeconfig | None:
    """Of a machine that is a node. Raises NotUsable, OpenToUsers, HostError.

    The kubelet writes it before it has the certificate that is named there: until then it is no node.
    """
    if host.files.observe(path) is None:
        return None
    granted = granted_to_others(host.files.descriptor(path), host.access.caller())
    if granted & ~(FILE_READ | FILE_EXECUTE):
        raise OpenToUsers(
            f"{path} can be changed by users, so that it may lead this machine into a cluster of "
            "theirs; look at it, and remove it"
        )
    own = kubeconfig.read(host.files.read(path), str(path))
    user = own.user()
    named = [path.parent / each for each in (user.certificate_path, user.key_path) if each]
    return None if any(host.files.observe(_in_use(host, each)) is None for each in named) else own


def _in_use(host: Host, path: PureWindowsPath) -> PureWindowsPath:
    """The kubelet's current certificate is a link to a dated one beside it. No other link is followed."""
    there = host.files.observe(path)
    if there is None or there.kind is not FileKind.LINK:
        return path
    target = path.parent / host.files.link_target(path)
    return target if target.parent == path.parent else path


def reader(host: Host, config: PureWindowsPath) -> ReadFile:
    """A path in a kubeconfig starts at the kubeconfig's own folder."""

    def read(path: str) -> bytes:
        try:
            return host.files.read(_in_use(host, config.parent / PureWindowsPath(path)))
        except HostError as fault:
            raise OSError(fault.code, str(fault)) from fault

    return read
