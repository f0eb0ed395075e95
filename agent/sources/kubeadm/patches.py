"""The folder of patches (patches.directory, --patches): which of its files are for the kubelet, and how.

A name is TARGET, anything, +TYPE, .yaml or .json, such as kubeletconfiguration0+merge.yaml. Of the targets a
worker has only kubeletconfiguration.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agent.documents import Value
from agent.sources.kubeadm import json_patch, strategic_patch
from agent.sources.kubeadm.json_patch import DoesNotApply
from agent.sources.kubeadm.parts import values
from agent.sources.kubelet.documents import NotReadable
from agent.sources.report import Entry, Report, Severity, bounded, quoted

TARGET = "kubeletconfiguration"
_TARGETS = (
    "etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", TARGET, "corednsdeployment",
    "kubeproxydaemonset",
)  # fmt: skip
_APPLY: Mapping[str, Callable[[dict[str, Value], Value], dict[str, Value]]] = {
    "json": json_patch.apply,
    "merge": json_patch.merge,
    "strategic": strategic_patch.apply,
}
_USUAL = "strategic"
_FILE = re.compile(r".+\.(json|yaml)")
_NAME = re.compile(rf"({'|'.join(_TARGETS)})([^.+\n]*)(\+)?({'|'.join(_APPLY)})?")


@dataclass(frozen=True, slots=True)
class Patch:
    file: str
    line: int
    """Where in the file it begins."""
    type: str
    value: Value


@dataclass(frozen=True, slots=True)
class Patches:
    found: tuple[Patch, ...]
    """In the order of applying."""
    report: Report


def read_patches(files: Mapping[str, bytes]) -> Patches:
    """`files` are all in the folder and in those below it, by their path from there, with slashes. Of
    those that are no `is_patch` the name alone counts.
    """
    found: list[Patch] = []
    entries: list[Entry] = []
    for path in sorted(files, key=lambda path: path.split("/")):
        type_ = _type(path, entries)
        if type_ is None:
            continue
        if not files[path]:
            entries.append(Entry(Severity.WARNING, "it is empty, and no patch", path))
            continue
        try:
            # As kubeadm: nothing between two separators is no patch, and blanks before one are dropped.
            for line, _, reading in values(path, files[path], trims=True):
                if reading.value is not None or reading.positions:
                    found.append(Patch(path, line, type_, reading.value))
        except NotReadable as fault:
            entries.append(fault.entry)
    return Patches(tuple(found), bounded(entries))


def patched(value: dict[str, Value], patches: Patches) -> tuple[dict[str, Value], Report]:
    """The kubelet's configuration with every patch applied; where one does not apply, none after it is."""
    for patch in patches.found:
        try:
            value = _APPLY[patch.type](value, patch.value)
        except DoesNotApply as fault:
            message = f"the {patch.type} patch does not apply: {fault}"
            return value, Report((Entry(Severity.ERROR, message, patch.file, line=patch.line),))
    return value, Report()


def is_patch(path: str) -> bool:
    """By its name, one that is for the kubelet."""
    return _type(path, []) is not None


def _type(path: str, entries: list[Entry]) -> str | None:
    """None for a file that is no patch of ours."""
    name = path.rpartition("/")[2]
    found = _NAME.match(name)
    if not _FILE.fullmatch(name):
        message = "it is left out: the name of a patch ends in .yaml or .json"
    elif found is None:
        message = f"it is left out: the name of a patch begins with {', '.join(_TARGETS)}"
    elif found[3] and not found[4]:
        message = (
            f"behind the + of a patch's name stands {', '.join(_APPLY)}, not {quoted(name[found.end() :])}"
        )
        entries.append(Entry(Severity.ERROR, message, path))
        return None
    elif found[1] == TARGET:
        return found[4] or _USUAL
    else:
        message = f"it is left out: {found[1]} runs in the control plane, not on a Windows node"
    entries.append(Entry(Severity.WARNING, message, path))
    return None
