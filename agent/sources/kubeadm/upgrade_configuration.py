"""An UpgradeConfiguration: what `kubeadm upgrade node --config` can be told."""

from collections.abc import Iterator
from dataclasses import dataclass

from agent.documents import Value, mapping, text, texts
from agent.sources.kubeadm.decoding import Kind, Reader
from agent.sources.kubeadm.model import Timeouts
from agent.sources.kubeadm.reading import timeouts
from agent.sources.kubeadm.schema import UPGRADE_VERSIONS
from agent.sources.kubeadm.validation import (
    OF_UPGRADE,
    Fault,
    ignored_checks_faults,
    is_absolute,
    pull_policy_fault,
)
from agent.sources.kubelet.folders import Placement
from agent.sources.report import quoted

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


def _faults(known: dict[str, Value]) -> Iterator[Fault]:
    for section in ("apply", "node"):
        inside = mapping(known.get(section))
        if (patches := inside.get("patches")) is not None:
            folder = text(mapping(patches).get("directory"))
            if not is_absolute(folder):
                yield (section, "patches", "directory"), f"{quoted(folder)} is no absolute path"
        if fault := pull_policy_fault(text(inside.get("imagePullPolicy"))):
            yield (section, "imagePullPolicy"), fault


def _own_faults(known: dict[str, Value]) -> Iterator[Fault]:
    """What an upgrade refuses too, unless options beside the file say otherwise."""
    node = mapping(known.get("node"))
    yield from OF_UPGRADE.faults(texts(node.get("skipPhases")), ("node", "skipPhases"))
    checks = texts(node.get("ignorePreflightErrors"))
    yield from ignored_checks_faults(checks, ("node", "ignorePreflightErrors"))


def _without_effect(known: dict[str, Value]) -> Iterator[Fault]:
    for section in _OTHER_COMMANDS:
        if known.get(section):
            command = f"for kubeadm upgrade {section}, which is run on a control plane's machine"
            yield (section,), f"it has no effect here: it is {command}"
    for section, names in (("node", _OF_A_CONTROL_PLANE), ("timeouts", _TIMEOUTS_OF_A_CONTROL_PLANE)):
        for name in names:
            if mapping(known.get(section)).get(name) is not None:
                yield (section, name), "it has no effect here: it is about a control plane's programs"


def _configuration(known: dict[str, Value]) -> UpgradeConfiguration:
    node = mapping(known.get("node"))
    return UpgradeConfiguration(
        node.get("dryRun") is True,
        texts(node.get("ignorePreflightErrors")),
        texts(node.get("skipPhases")),
        text(mapping(node.get("patches")).get("directory")),
        timeouts(mapping(known.get("timeouts")), _USUAL),
    )


read_upgrade = Reader(UPGRADE, _faults, _own_faults, _without_effect, _configuration)
