"""A path in a flag or in the configuration, on Linux and on Windows."""

import re
from dataclasses import dataclass

from agent.sources.windows_paths import NotOnWindows, on_windows

_SEPARATOR = "\\"
_ON_A_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class UnusablePath(Exception):
    """The text says why."""

    def __init__(self, text: str, unquoted: str) -> None:
        """`unquoted` says the same without a word of the path."""
        super().__init__(text)
        self.unquoted = unquoted


@dataclass(frozen=True, slots=True)
class Reference:
    """A file or folder that the kubelet is told of."""

    linux: str
    windows: str
    by: str
    """The flag, the field of the configuration, or that of a kubeconfig."""
    folder: bool = False


def path_on_windows(path: str, folder: str = "/") -> str:
    """A Linux path mapped; one that is made for Windows, or none at all, as it is. Raises UnusablePath.

    A path that does not start at / begins in `folder`.
    """
    if not path or _ON_A_DRIVE.match(path):
        return path
    try:
        return on_windows(absolute(path, folder))
    except NotOnWindows as fault:
        raise UnusablePath(str(fault), fault.unquoted) from None


_OF_OPENSHIFT = {
    "--config": "kubelet.conf",
    "--bootstrap-kubeconfig": "bootstrap-kubeconfig",
    "--kubeconfig": "kubeconfig",
    "--client-ca-file": "kubelet-ca.crt",
    "authentication.x509.clientCAFile": "kubelet-ca.crt",
    "--cloud-config": "",
}
"""Names that OpenShift's bootstrapper gives to what a flag or field names; empty for the file's own."""


def place_on_windows(path: str, by: str, install_directory: str, folder: str = "/") -> str:
    """Return where the file lies that the flag or field `by` names. Raises UnusablePath.

    With an install directory it is where OpenShift's bootstrapper puts it, and where its other programs look
    for it; else, and for all other files, it is the Linux path mapped.
    """
    mapped = path_on_windows(path, folder)
    if not install_directory or by not in _OF_OPENSHIFT or mapped == path:
        return mapped
    return f"{install_directory}\\{_OF_OPENSHIFT[by] or mapped.rpartition(_SEPARATOR)[2]}"


def absolute(path: str, folder: str) -> str:
    """As Linux would find it from `folder`; one that is made for Windows as it is."""
    return path if path.startswith("/") or _ON_A_DRIVE.match(path) else f"{folder}/{path}"
