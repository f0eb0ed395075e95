"""Which folders there have to be, and who may do what in each.

Folders of the node are private, but for what pods mount. What lies on the way to them is shared with others:
users may look but not write, or one of them could put a folder of his own in the place of the node's.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import PureWindowsPath

from agent.sources.kubelet.paths import Reference
from agent.sources.kubelet.placement import KUBELET_LOG
from agent.spec import Directory, Key, Protection

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
