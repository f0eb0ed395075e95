"""Where the node's programs go, which folders there have to be, and who may do what in each.

Folders of the node are private, but for what pods mount. What lies on the way to them is shared with others:
users may look but not write, or one of them could put a folder of his own in the place of the node's.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import PureWindowsPath

from agent.sources.windows_paths import WINDOWS_OWN, Reference, windows_path_fault
from agent.spec import Content, Directory, File, Key, Protection

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


_HOLDS_OTHERS = "other folders of the node lie in it"
_TAKEN = {
    PureWindowsPath(r"C:\etc"): _HOLDS_OTHERS,
    PureWindowsPath(r"C:\etc\kubernetes"): "the kubelet's credentials lie in it",
    PureWindowsPath(r"C:\var"): _HOLDS_OTHERS,
    PureWindowsPath(r"C:\var\lib"): _HOLDS_OTHERS,
    PureWindowsPath(r"C:\var\lib\kubelet"): "the kubelet's credentials lie in it",
    PureWindowsPath(r"C:\var\log"): _HOLDS_OTHERS,
    KUBELET_LOG.parent: "the kubelet's log lies in it",
}


_KUBELET_LIBRARY = PureWindowsPath(r"C:\var\lib\kubelet")
_CERTIFICATES = _KUBELET_LIBRARY / "pki"
"""The kubelet writes its keys there. One that was there before may hand down to them that users read them."""
_NODES_OWN = (PureWindowsPath(r"C:\etc\kubernetes"), _KUBELET_LIBRARY, KUBELET_LOG.parent)
"""Always there, always private."""
_ON_THE_WAY = tuple(PureWindowsPath(path) for path in (r"C:\var\lib", r"C:\var\log", r"C:\var\run"))
"""And every folder at the top: never the node's alone, whatever a document makes of it."""
_POD_LOGS = PureWindowsPath(r"C:\var\log\pods")
_CONTAINER_LOGS = PureWindowsPath(r"C:\var\log\containers")
_VOLUME_PLUGINS = PureWindowsPath(r"C:\usr\libexec\kubernetes\kubelet-plugins\volume\exec")
_NAMING_PLUGINS = frozenset({"--volume-plugin-dir", "volumePluginDir"})
_FILLED_BY_KUBELET = frozenset(
    {"--cert-dir", "--root-dir", "--dynamic-config-dir", "--bootstrap-checkpoint-path", "podLogsDir"}
)


def private(folders: Iterable[PureWindowsPath], references: Iterable[Reference]) -> dict[Key, Directory]:
    """The node's own folders, those that its document makes and those that its kubelet is told of."""
    references = tuple(references)
    made = {folder: Directory(folder, belongs_to_node=folder != _NODES_OWN[0]) for folder in _NODES_OWN}
    if not _given_for_certificates(references):
        made[_CERTIFICATES] = Directory(_CERTIFICATES, belongs_to_node=True)
    for folder in folders:
        made.setdefault(folder, Directory(folder))
    for reference in references:
        if reference.folder and reference.linux.startswith("/"):
            path = PureWindowsPath(reference.windows)
            made.setdefault(path, Directory(path, belongs_to_node=reference.by in _FILLED_BY_KUBELET))
    for want in _read_by_users(references):
        made.setdefault(want.path, want)
    for root in _roots(references):
        made[root / "pods"] = Directory(root / "pods", Protection.PODS, belongs_to_node=True)
    return {want.key: want for want in made.values() if not _is_on_the_way(want.path)}


def certificates(references: Iterable[Reference]) -> PureWindowsPath:
    """Where the kubelet writes its own: of a flag that is given twice the last counts."""
    given = _given_for_certificates(references)
    return PureWindowsPath(given[-1]) if given else _CERTIFICATES


def _given_for_certificates(references: Iterable[Reference]) -> list[str]:
    return [reference.windows for reference in references if reference.by == "--cert-dir"]


def _read_by_users(references: Iterable[Reference]) -> Iterator[Directory]:
    """The kubelet makes these itself if they are missing; under C:\\, any user might then write to them.

    Pods that collect logs are users. Plug-ins for volumes run as SYSTEM; others than the node put them there.
    """
    named = {reference.by for reference in references if reference.folder}
    # At each of its starts the kubelet says itself who may do what in this one, by now nothing for
    # users: no other rule would last. That users may not change it is all that is asked.
    yield Directory(_CONTAINER_LOGS, Protection.PROGRAM, shared=True, belongs_to_node=True)
    if "podLogsDir" not in named:
        yield Directory(_POD_LOGS, Protection.PROGRAM, belongs_to_node=True)
    if named.isdisjoint(_NAMING_PLUGINS):
        yield Directory(_VOLUME_PLUGINS, Protection.PROGRAM)


def _roots(references: Iterable[Reference]) -> list[PureWindowsPath]:
    """Where the kubelet makes all its folders; none if the document names a place of Windows."""
    given = [reference for reference in references if reference.by == "--root-dir"]
    if not given:
        return [_KUBELET_LIBRARY]
    return [PureWindowsPath(reference.windows) for reference in given if reference.linux.startswith("/")]


def program(folder: PureWindowsPath) -> Directory:
    return Directory(folder, Protection.PROGRAM)


def with_parents(known: Mapping[Key, Directory], paths: Iterable[PureWindowsPath]) -> dict[Key, Directory]:
    """`known`, and every folder above each of the paths."""
    made = dict(known)
    for path in [*(want.path for want in known.values()), *paths]:
        missing = takewhile(lambda above: Key(Directory.kind, str(above)) not in made, path.parents[:-1])
        for above in reversed(list(missing)):
            on_the_way = Directory(above, Protection.PROGRAM, shared=True)
            made[on_the_way.key] = Directory(above) if _in_private(above, made) else on_the_way
    return made


def _in_private(path: PureWindowsPath, known: Mapping[Key, Directory]) -> bool:
    above = known.get(Key(Directory.kind, str(path.parent)))
    return above is not None and above.protection is Protection.PRIVATE


def _is_on_the_way(path: PureWindowsPath) -> bool:
    return len(path.parts) <= 2 or path in _ON_THE_WAY or any(path in own.parents for own in _NODES_OWN)
