"""What this machine is known by to its cluster: the kubeconfig that its kubelet writes, and renews."""

from pathlib import PureWindowsPath

from agent.host.errors import HostError
from agent.host.port import Host
from agent.host.protection import granted_to_others
from agent.host.sddl import FILE_EXECUTE, FILE_READ
from agent.kube import kubeconfig
from agent.kube.access import Access
from agent.kube.kubeconfig import Kubeconfig, ReadFile
from agent.private_keys import key_files, resolved


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
    return None if any(host.files.observe(resolved(host, each)) is None for each in named) else own


def access(host: Host, own: Kubeconfig, path: PureWindowsPath) -> Access:
    """Return what a client needs to ask by the kubeconfig at `path`. Raises NotUsable, HostError."""
    return own.access(_reader(host, path), key_files(host, path))


def _reader(host: Host, config: PureWindowsPath) -> ReadFile:
    """A path in a kubeconfig starts at the kubeconfig's own folder."""

    def read(path: str) -> bytes:
        try:
            return host.files.read(resolved(host, config.parent / PureWindowsPath(path)))
        except HostError as fault:
            raise OSError(fault.code, str(fault)) from fault

    return read
