"""Where the node's programs go, and whether they may go there."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PureWindowsPath

from agent.sources.windows_paths import WINDOWS_OWN, windows_path_fault
from agent.spec import Content, File, Protection

KUBELET_LOG = PureWindowsPath(r"C:\var\log\kubelet\kubelet.log")
INSTALL_DIRECTORY = PureWindowsPath(r"C:\k")
ARGUMENTS_FILE = PureWindowsPath(r"C:\var\lib\kubelet\kubeadm-flags.env")
"""Of a node that has joined a cluster of kubeadm's, and of no other."""


@dataclass(frozen=True, slots=True)
class LogRunner:
    """A program that runs the kubelet as its child and keeps what that says in KUBELET_LOG.

    As a Windows service a kubelet has no output that anybody could read.
    """

    name: str
    """Of its file in the install directory."""
    content: Content | None
    """None where it is there already."""
    arguments: tuple[str, ...] = ()
    """Before the kubelet's own command line."""
    arguments_file: PureWindowsPath | None = None
    """Of which these arguments tell it, if any: it puts what stands there behind the kubelet's own."""


@dataclass(frozen=True, slots=True)
class Placement:
    kubelet: Content | None
    """None where kubelet.exe is in the install directory already, to be used there."""
    log_runner: LogRunner | None = None
    install_directory: PureWindowsPath = INSTALL_DIRECTORY
    runtime_service: str = "containerd"
    """The service that Windows has to start before the kubelet; empty for none."""
    well_within_seconds: float = 60.0
    """What the kubelet may need to run, and again until it says that it is well."""
    description: str = "Registers this machine as a node of its Kubernetes cluster and runs the node's pods."
    """Of the kubelet's service."""

    @property
    def kubelet_path(self) -> PureWindowsPath:
        return self.install_directory / "kubelet.exe"

    @property
    def log_runner_path(self) -> PureWindowsPath | None:
        return self.install_directory / self.log_runner.name if self.log_runner else None

    def programs(self) -> Iterator[File]:
        yield File(self.kubelet_path, self.kubelet, Protection.PROGRAM)
        if self.log_runner and self.log_runner_path:
            yield File(self.log_runner_path, self.log_runner.content, Protection.PROGRAM)


def install_directory_fault(directory: PureWindowsPath) -> str | None:
    """Why programs cannot go there. What is put into the folder is protected, and so is the folder itself."""
    if not directory.is_absolute() or directory.drive.startswith("\\"):
        return r"it has to be a folder on a drive, such as C:\k"
    if fault := windows_path_fault(directory):
        return fault
    if len(directory.parts) == 2 and directory.name.lower() in WINDOWS_OWN:
        return f"{directory} is Windows' own"
    if directory in _TAKEN:
        return f"it is not for programs: {_TAKEN[directory]}"
    return None


_ON_THE_WAY = "other folders of the node lie in it"
_TAKEN = {
    PureWindowsPath(r"C:\etc"): _ON_THE_WAY,
    PureWindowsPath(r"C:\etc\kubernetes"): "the kubelet's credentials lie in it",
    PureWindowsPath(r"C:\var"): _ON_THE_WAY,
    PureWindowsPath(r"C:\var\lib"): _ON_THE_WAY,
    PureWindowsPath(r"C:\var\lib\kubelet"): "the kubelet's credentials lie in it",
    PureWindowsPath(r"C:\var\log"): _ON_THE_WAY,
    KUBELET_LOG.parent: "the kubelet's log lies in it",
}
