"""What `kubeadm reset` and `kubeadm upgrade node` can be told in files, and what `config validate` finds."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agent.documents import Value, mapping, text, texts
from agent.sources import urls
from agent.sources.kubeadm import runtime_endpoint
from agent.sources.kubeadm.decoding import Kind, Part, Reader, parts
from agent.sources.kubeadm.model import Timeouts
from agent.sources.kubeadm.reading import JOIN, read, timeouts
from agent.sources.kubeadm.schema import GROUP, RESET_VERSIONS, UPGRADE_VERSIONS
from agent.sources.kubeadm.validation import (
    OF_RESET,
    OF_UPGRADE,
    Fault,
    Phases,
    ignored_checks_faults,
    is_absolute,
    pull_policy_fault,
)
from agent.sources.kubelet.documents import NotReadable
from agent.sources.kubelet.folders import Placement
from agent.sources.report import Entry, Outcome, Report, Severity, quoted

RESET = Kind("ResetConfiguration", RESET_VERSIONS, "a reset")
_CERTIFICATES = "/etc/kubernetes/pki"
_UNMOUNT_FLAGS = ("MNT_FORCE", "MNT_DETACH", "MNT_EXPIRE", "UMOUNT_NOFOLLOW")


@dataclass(frozen=True, slots=True)
class ResetConfiguration:
    """`force` is not here: a reset never asks whether it may begin."""

    dry_run: bool = False
    ignore_preflight_errors: tuple[str, ...] = ()
    skip_phases: tuple[str, ...] = ()
    cleans_temporary_folder: bool = False
    """Also the folder where kubeadm.exe keeps what it saved and generated: C:\\etc\\kubernetes\\tmp."""


def endpoint_fault(given: str) -> str | None:
    """Return why kubeadm refuses this container runtime's endpoint; one that a join takes is none of them.

    It writes npipe:// before what begins otherwise, and refuses only what is no URL then.
    """
    if runtime_endpoint.fault(given) is None:
        return None
    whole = given if given.startswith("npipe") else f"npipe://{given}"
    url = urls.parse(whole)
    return None if url is not None and url.scheme == "npipe" else f"{quoted(given)} is no named pipe"


def endpoint_warning(given: str) -> str | None:
    """Return what is to be said of a container runtime's endpoint other than containerd's own."""
    if not given or runtime_endpoint.endpoint(given).lower() == runtime_endpoint.CONTAINERD:
        return None
    return f"{quoted(given)} has no effect here: only what containerd runs of the node's pods is ended"


def _reset_faults(known: dict[str, Value]) -> Iterator[Fault]:
    if (socket := text(known.get("criSocket"))) and (fault := endpoint_fault(socket)):
        yield ("criSocket",), fault
    folder = text(known.get("certificatesDir"))
    if folder and not is_absolute(folder):
        yield ("certificatesDir",), f"{quoted(folder)} is no absolute path"
    for number, flag in enumerate(texts(known.get("unmountFlags"))):
        if flag not in _UNMOUNT_FLAGS:
            yield ("unmountFlags", number), f"{quoted(flag)} is none of {', '.join(_UNMOUNT_FLAGS)}"


def _own_faults(phases: Phases, known: dict[str, Value], *place: str) -> Iterator[Fault]:
    """What a command refuses too, unless options beside the file say otherwise."""
    yield from phases.faults(texts(known.get("skipPhases")), (*place, "skipPhases"))
    checks = texts(known.get("ignorePreflightErrors"))
    yield from ignored_checks_faults(checks, (*place, "ignorePreflightErrors"))


def _own_reset_faults(known: dict[str, Value]) -> Iterator[Fault]:
    return _own_faults(OF_RESET, known)


def _without_effect_in_reset(known: dict[str, Value]) -> Iterator[Fault]:
    if warning := endpoint_warning(text(known.get("criSocket"))):
        yield ("criSocket",), warning
    folder = text(known.get("certificatesDir")).replace("\\", "/").rstrip("/")
    if folder and folder.lower().removeprefix("c:") != _CERTIFICATES:
        yield (
            ("certificatesDir",),
            "it has no effect here: a node's certificates are in C:\\etc\\kubernetes\\pki",
        )
    if known.get("unmountFlags"):
        yield ("unmountFlags",), "it has no effect here: Windows has no unmount flags"
    if known.get("timeouts"):
        yield ("timeouts",), "it has no effect here: a worker's reset asks the cluster for nothing"


def _reset_configuration(known: dict[str, Value]) -> ResetConfiguration:
    return ResetConfiguration(
        known.get("dryRun") is True,
        texts(known.get("ignorePreflightErrors")),
        texts(known.get("skipPhases")),
        known.get("cleanupTmpDir") is True,
    )


read_reset = Reader(RESET, _reset_faults, _own_reset_faults, _without_effect_in_reset, _reset_configuration)


UPGRADE = Kind("UpgradeConfiguration", UPGRADE_VERSIONS, "the upgrade of a node")
_OF_A_CONTROL_PLANE = ("certificateRenewal", "etcdUpgrade", "imagePullPolicy", "imagePullSerial")
_OTHER_COMMANDS = ("apply", "diff", "plan")
_TIMEOUTS_OF_A_CONTROL_PLANE = ("controlPlaneComponentHealthCheck", "etcdAPICall", "upgradeManifests")
_USUAL = Timeouts(kubelet_health_check=Placement(None).well_within_seconds)
"""A node that worked is not left without a kubelet for as long as a new one may take to come up."""


@dataclass(frozen=True, slots=True)
class UpgradeConfiguration:
    dry_run: bool = False
    ignore_preflight_errors: tuple[str, ...] = ()
    skip_phases: tuple[str, ...] = ()
    patches_directory: str = ""
    timeouts: Timeouts = _USUAL


def _upgrade_faults(known: dict[str, Value]) -> Iterator[Fault]:
    for section in ("apply", "node"):
        inside = mapping(known.get(section))
        if (patches := inside.get("patches")) is not None:
            folder = text(mapping(patches).get("directory"))
            if not is_absolute(folder):
                yield (section, "patches", "directory"), f"{quoted(folder)} is no absolute path"
        if fault := pull_policy_fault(text(inside.get("imagePullPolicy"))):
            yield (section, "imagePullPolicy"), fault


def _own_upgrade_faults(known: dict[str, Value]) -> Iterator[Fault]:
    return _own_faults(OF_UPGRADE, mapping(known.get("node")), "node")


def _without_effect_in_upgrade(known: dict[str, Value]) -> Iterator[Fault]:
    for section in _OTHER_COMMANDS:
        if known.get(section):
            command = f"for kubeadm upgrade {section}, which is run on a control plane's machine"
            yield (section,), f"it has no effect here: it is {command}"
    for section, names in (("node", _OF_A_CONTROL_PLANE), ("timeouts", _TIMEOUTS_OF_A_CONTROL_PLANE)):
        for name in names:
            if mapping(known.get(section)).get(name) is not None:
                yield (section, name), "it has no effect here: it is about a control plane's programs"


def _upgrade_configuration(known: dict[str, Value]) -> UpgradeConfiguration:
    node = mapping(known.get("node"))
    return UpgradeConfiguration(
        node.get("dryRun") is True,
        texts(node.get("ignorePreflightErrors")),
        texts(node.get("skipPhases")),
        text(mapping(node.get("patches")).get("directory")),
        timeouts(mapping(known.get("timeouts")), _USUAL),
    )


read_upgrade = Reader(
    UPGRADE, _upgrade_faults, _own_upgrade_faults, _without_effect_in_upgrade, _upgrade_configuration
)


_READERS: Mapping[str, Callable[..., Outcome[Any]]] = {
    JOIN.name: read,
    RESET.name: read_reset,
    UPGRADE.name: read_upgrade,
}
_KINDS_OF_A_CONTROL_PLANE = ("InitConfiguration", "ClusterConfiguration")
_OF_COMPONENTS = {
    "kubelet.config.k8s.io": "KubeletConfiguration",
    "kubeproxy.config.k8s.io": "KubeProxyConfiguration",
}


def validated(name: str, contents: bytes) -> Report:
    """What `kubeadm config validate` finds wrong with a file of configurations.

    Read each configuration of a node strictly; what is for a control plane is named and not read.
    """
    try:
        found = parts(name, contents)
    except NotReadable as fault:
        return Report((fault.entry,))
    reports = [
        reader(name, contents, strictly=True).report
        for kind, reader in _READERS.items()
        if any(part.kind == kind for part in found)
    ]
    others = Report(tuple(_others(found)))
    if not reports and not others.fatal:
        kinds = f"{', '.join([*_READERS][:-1])} or {[*_READERS][-1]}"
        return Report((Entry(Severity.ERROR, f"there is no {kinds} in it", name),))
    return sum(reports, start=others)


def _others(found: tuple[Part, ...]) -> Iterator[Entry]:
    for part in found:
        if part.kind in _READERS:
            continue
        if part.group == GROUP and part.kind in _KINDS_OF_A_CONTROL_PLANE:
            message = f"a {part.kind} is for a control plane; it is not validated here"
            yield part.document.entry(Severity.WARNING, ("kind",), message)
        elif _OF_COMPONENTS.get(part.group) != part.kind:
            message = f"kubeadm knows no kind {quoted(part.kind)} of {quoted(part.api)}"
            yield part.document.entry(Severity.ERROR, ("kind",), message)
