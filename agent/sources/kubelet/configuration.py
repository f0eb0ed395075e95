"""The kubelet's configuration, as a Linux worker carries it, made right for Windows."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from agent.redaction import redacted, redacted_document
from agent.sources.kubelet import feature_gates, fields
from agent.sources.kubelet.decisions import About, Decision, Outcome
from agent.sources.kubelet.documents import Document, NotReadable, Value, read_document
from agent.sources.kubelet.fields import Field
from agent.sources.kubelet.flags import Treatment
from agent.sources.kubelet.node import Kubelet, Node
from agent.sources.kubelet.quantities import quantity
from agent.sources.report import Entry, Place, Report, Severity, bounded, quoted, quoted_key
from agent.sources.windows_paths import Reference, UnusablePath, absolute, place_on_windows

API_VERSION = "kubelet.config.k8s.io/v1beta1"
KIND = "KubeletConfiguration"
FOLDER = "/etc/kubernetes"
"""Where the configuration is; a path in it that does not start at / begins there."""
CLIENT_CA = f"{FOLDER}/kubelet-ca.crt"

_SHOWN = 200
AFFINITY_GATE = "WindowsCPUAndMemoryAffinity"
_LOG_GATE = "NodeLogQuery"
_WINDOWS_TAINT: dict[str, Value] = {"key": "os", "value": "Windows", "effect": "NoSchedule"}
SIGNALS = ("inodesFree", "pid.available")
_MEMORY_SIGNAL = "memory.available"
_EVICTED_BELOW = "500Mi"
"""Of memory, by a kubelet on Windows that is told nothing else."""
_ENDPOINT_SINCE = 27
_TAINTS_SINCE = 23
"""The releases whose configuration has a field for it; before, only a flag does."""


@dataclass(frozen=True, slots=True)
class Configuration:
    value: Mapping[str, Value]
    decisions: tuple[Decision, ...]
    references: tuple[Reference, ...]
    flags: tuple[str, ...]
    """What this kubelet is too old to take from a configuration."""
    report: Report

    @property
    def contents(self) -> bytes:
        """As JSON, which is YAML too; the same bytes for the same configuration."""
        return json.dumps(self.value, indent=2, ensure_ascii=False).encode() + b"\n"


def read_all(files: Sequence[tuple[str, bytes]]) -> tuple[tuple[Document, ...], Report]:
    """The configuration and its drop-ins, in the order of merging; those that cannot be read are left out."""
    documents: list[Document] = []
    entries: list[Entry] = []
    for name, contents in files:
        try:
            document = read_document(name, contents)
        except NotReadable as fault:
            entries.append(fault.entry)
            continue
        faults = list(_faults(document))
        entries += faults
        if not any(entry.severity is Severity.ERROR for entry in faults):
            documents.append(document)
    return tuple(documents), bounded(entries)


def known_good(node: Node, carries_client_ca: bool) -> dict[str, Value]:
    """Return what a Windows worker of OpenShift starts with, for a document that carries no configuration.

    As the Windows Machine Config Operator has it, but for what a kubelet does by default.
    """
    authentication: dict[str, Value] = {"anonymous": {"enabled": False}}
    if carries_client_ca:
        authentication["x509"] = {"clientCAFile": CLIENT_CA}
    return {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "authentication": authentication,
        "clusterDNS": list(node.cluster_dns),
        "clusterDomain": "cluster.local",
        "containerLogMaxSize": "50Mi",
        "enableSystemLogHandler": True,
        "enableSystemLogQuery": True,
        # All signals that a kubelet on Windows knows of disks; of memory it has none then, as there.
        "evictionHard": {"imagefs.available": "15%", "nodefs.available": "10%"},
        "kubeAPIBurst": 100,
        "kubeAPIQPS": 50,
        "maxPods": 250,
        "rotateCertificates": True,
        "runtimeRequestTimeout": "10m0s",
        "serializeImagePulls": False,
        "serverTLSBootstrap": True,
    }


def for_windows(
    documents: Sequence[Document],
    from_flags: Mapping[str, Value],
    node: Node,
    kubelet: Kubelet,
    *,
    carries_client_ca: bool,
    is_all: bool = True,
) -> Configuration:
    """Merges the documents as the kubelet does, sets what flags say, makes the whole right for Windows.

    `is_all`: the kubelet is told nothing of the same by flags of its own.
    """
    making = _Making(node, kubelet, is_all)
    if documents:
        merged: dict[str, Value] = {}
        for document in documents:
            merged = merge(merged, document.value)
    else:
        merged = known_good(node, carries_client_ca)
        making.decide("all of it", Outcome.ADDED, "the document carries none; this is good on Windows")
    for name, value in from_flags.items():
        # A flag replaces the field, but of gates it sets those that it names.
        patch = {name: value}
        merged = merge(merged, patch) if name == "featureGates" else {**merged, **patch}
    return making.make(merged)


def merge(base: Mapping[str, Value], patch: Mapping[str, Value]) -> dict[str, Value]:
    """A JSON merge patch, which is how the kubelet applies a drop-in: null takes a key away."""
    merged = dict(base)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, dict):
            before = merged.get(key)
            merged[key] = merge(before if isinstance(before, dict) else {}, value)
        else:
            merged[key] = value
    return merged


def _faults(document: Document) -> Iterator[Entry]:
    for key, expected in (("kind", KIND), ("apiVersion", API_VERSION)):
        found = document.value.get(key)
        if found != expected:
            is_now = quoted(found) if isinstance(found, str) else "not given"
            yield document.entry(Severity.ERROR, (key,), f"it is {is_now}, and has to be {expected}")
    yield from _wrong_shapes(document, document.value, ())


def _wrong_shapes(document: Document, value: Mapping[str, Value], place: Place) -> Iterator[Entry]:
    for key, inner in value.items():
        here = (*place, key)
        name = ".".join(map(str, here))
        known = fields.by_name().get(name)
        if known is None:
            message = f"no kubelet knows {quoted_key(name)}; it is passed on, and the kubelet ignores it"
            yield document.entry(Severity.WARNING, here, message)
        elif not fields.has_shape(inner, known.shape):
            yield document.entry(Severity.ERROR, here, f"{known.shape.value} was expected")
        elif isinstance(inner, dict) and name in fields.with_fields_inside():
            yield from _wrong_shapes(document, inner, here)


@dataclass(slots=True)
class _Making:
    node: Node
    kubelet: Kubelet
    is_all: bool
    decisions: list[Decision] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)

    def make(self, merged: dict[str, Value]) -> Configuration:
        made = self._treated(merged, "")
        gates = self._gates(made)
        self._log_query(made, gates)
        self._affinity(made, gates)
        self._windows_has_no(made)
        self._system_reserved(made)
        self._memory_manager(made)
        self._taints(made)
        self._cluster_dns(made)
        self._endpoint(made)
        if gates:
            made["featureGates"] = dict(gates)
        return Configuration(
            {key: made[key] for key in sorted(made)},
            tuple(self.decisions),
            tuple(self.references),
            tuple(self.flags),
            bounded(self.entries),
        )

    def decide(
        self, name: str, outcome: Outcome, reason: str, before: Value = None, after: Value = None
    ) -> None:
        known = fields.by_name().get(name)
        secret, shown = known is not None and known.secret, (_shown(before), _shown(after))
        self.decisions.append(Decision(About.CONFIGURATION, name, outcome, reason, *shown, secret=secret))

    def _refuse(self, name: str, message: str) -> None:
        place = tuple(name.split("."))
        self.entries.append(Entry(Severity.ERROR, message, "the kubelet's configuration", place))

    def _treated(self, value: Mapping[str, Value], within: str) -> dict[str, Value]:
        """All that a table row alone decides."""
        made: dict[str, Value] = {}
        for key, inner in value.items():
            name = f"{within}{key}"
            if inner is None:
                continue
            known = fields.by_name().get(name)
            if known is None:
                made[key] = inner
            elif known.treatment is Treatment.DROP:
                self.decide(name, Outcome.DROPPED, known.reason, inner)
            elif known.treatment in (Treatment.PATH, Treatment.FOLDER) and isinstance(inner, str):
                made[key] = self._path(known, inner)
            elif known.treatment is Treatment.SIGNALS and isinstance(inner, dict):
                self._signals(made, known, key, inner)
            elif isinstance(inner, dict) and name in fields.with_fields_inside():
                made[key] = self._treated(inner, f"{name}.")
            else:
                made[key] = inner
        return made

    def _path(self, known: Field, path: str) -> str:
        try:
            mapped = place_on_windows(path, known.name, self.node.install_directory, FOLDER)
        except UnusablePath as fault:
            self._refuse(known.name, f"{quoted(path)} cannot be a path on Windows: {fault}")
            return path
        if mapped != path:
            self.decide(known.name, Outcome.CHANGED, known.reason, path, mapped)
        if path:
            folder = known.treatment is Treatment.FOLDER
            self.references.append(Reference(absolute(path, FOLDER), mapped, known.name, folder))
        return mapped

    def _signals(self, made: dict[str, Value], known: Field, key: str, given: dict[str, Value]) -> None:
        kept = {signal: amount for signal, amount in given.items() if not signal.endswith(SIGNALS)}
        if kept != given:
            dropped = {signal: amount for signal, amount in given.items() if signal not in kept}
            self.decide(known.name, Outcome.DROPPED, known.reason, dropped)
        if kept or not given:
            made[key] = dict(kept)

    def _gates(self, made: dict[str, Value]) -> dict[str, bool]:
        given = made.pop("featureGates", None)
        kept: dict[str, bool] = {}
        for gate, value in given.items() if isinstance(given, dict) else ():
            if not isinstance(value, bool):
                continue
            if refusal := feature_gates.refusal(gate, value, self.kubelet.minor):
                self.decide(f"featureGates.{gate}", Outcome.DROPPED, refusal, value)
            else:
                kept[gate] = value
        return kept

    def _log_query(self, made: dict[str, Value], gates: dict[str, bool]) -> None:
        if made.get("enableSystemLogQuery") is not True or gates.get(_LOG_GATE):
            return
        if refusal := feature_gates.refusal(_LOG_GATE, True, self.kubelet.minor):
            made.pop("enableSystemLogQuery")
            self.decide("enableSystemLogQuery", Outcome.DROPPED, f"its gate {_LOG_GATE}: {refusal}", True)
            return
        gates[_LOG_GATE] = True
        reason = "enableSystemLogQuery needs it"
        self.decide(f"featureGates.{_LOG_GATE}", Outcome.ADDED, reason, after=True)

    def _affinity(self, made: dict[str, Value], gates: Mapping[str, bool]) -> None:
        if gates.get(AFFINITY_GATE):
            return
        for known in fields.FIELDS:
            if known.treatment is Treatment.AFFINITY and known.name in made:
                self.decide(known.name, Outcome.DROPPED, known.reason, made.pop(known.name))

    def _windows_has_no(self, made: dict[str, Value]) -> None:
        """What has to be said, since the kubelet would otherwise take a default for Linux."""
        for name, value in (("cgroupsPerQOS", False), ("enforceNodeAllocatable", []), ("resolvConf", "")):
            self._set(made, name, value, fields.by_name()[name].reason)

    def _set(self, made: dict[str, Value], name: str, value: Value, reason: str) -> None:
        before = made.get(name)
        made[name] = value
        if before is None:
            self.decide(name, Outcome.ADDED, reason, after=value)
        elif before != value:
            self.decide(name, Outcome.CHANGED, reason, before, value)

    def _system_reserved(self, made: dict[str, Value]) -> None:
        given = made.get("systemReserved")
        reserved: dict[str, Value] = dict(given) if isinstance(given, dict) else {}
        reason = fields.by_name()["systemReserved"].reason
        for resource, least in self.node.reserved.items():
            name = f"systemReserved.{resource}"
            asked = reserved.get(resource)
            if asked in (None, ""):
                reserved[resource] = least
                self.decide(name, Outcome.ADDED, reason, after=least)
            elif resource == "memory" and self._is_less(name, str(asked), least):
                reserved[resource] = least
                self.decide(name, Outcome.CHANGED, f"{reason}: at least {least}", asked, least)
        if "pid" in reserved:
            reason = fields.by_name()["evictionHard"].reason
            self.decide("systemReserved.pid", Outcome.DROPPED, reason, reserved.pop("pid"))
        made["systemReserved"] = reserved

    def _is_less(self, name: str, amount: str, least: str) -> bool:
        found, wanted = quantity(amount), quantity(least)
        if found is None:
            self._refuse(name, f"{quoted(amount)} is no amount such as 2Gi")
        return found is not None and wanted is not None and found < wanted

    def _memory_manager(self, made: Mapping[str, Value]) -> None:
        if made.get("memoryManagerPolicy") != "BestEffort":
            return
        given = made.get("reservedMemory")
        reserved, kept = _reserved_by_numa_node(given), _kept_from_pods(made)
        if reserved == kept or (given and None in (reserved, kept)):
            return
        amount = f", {_mebibytes(kept)}" if kept is not None else ""
        message = (
            f"it is {_mebibytes(reserved) if given and reserved is not None else 'not given'}; with "
            "memoryManagerPolicy BestEffort a kubelet starts only where it is as much memory as "
            f"systemReserved, kubeReserved and evictionHard keep from pods together{amount}"
        )
        severity = Severity.ERROR if self.is_all and not given else Severity.WARNING
        self.entries.append(Entry(severity, message, "the kubelet's configuration", ("reservedMemory",)))

    def _taints(self, made: dict[str, Value]) -> None:
        given = made.pop("registerWithTaints", None)
        taints = [taint for taint in given if isinstance(taint, dict)] if isinstance(given, list) else []
        same = [taint for taint in taints if _marks_the_same(taint)]
        wanted = taints
        if self.node.keeps_linux_pods_away:
            wanted = [*(taint for taint in taints if taint not in same), dict(_WINDOWS_TAINT)]
        reason = fields.by_name()["registerWithTaints"].reason
        if not wanted:
            return
        if self.kubelet.minor < _TAINTS_SINCE:
            self._flag("--register-with-taints", ",".join(map(_taint_text, wanted)), reason)
            return
        made["registerWithTaints"] = list(wanted)
        if wanted is not taints and same != [_WINDOWS_TAINT]:
            outcome = Outcome.CHANGED if taints else Outcome.ADDED
            self.decide("registerWithTaints", outcome, reason, list(taints) or None, list(wanted))

    def _cluster_dns(self, made: dict[str, Value]) -> None:
        if self.node.cluster_dns:
            self._set(made, "clusterDNS", list(self.node.cluster_dns), fields.by_name()["clusterDNS"].reason)

    def _endpoint(self, made: dict[str, Value]) -> None:
        reason = fields.by_name()["containerRuntimeEndpoint"].reason
        if self.kubelet.minor < _ENDPOINT_SINCE:
            made.pop("containerRuntimeEndpoint", None)
            self._flag("--container-runtime-endpoint", self.node.runtime_endpoint, reason)
        else:
            self._set(made, "containerRuntimeEndpoint", self.node.runtime_endpoint, reason)

    def _flag(self, name: str, value: str, reason: str) -> None:
        self.flags.append(f"{name}={value}")
        reason = f"{reason}; a configuration of this release cannot say so"
        self.decisions.append(Decision(About.FLAG, name, Outcome.ADDED, reason, after=value))


def _reserved_by_numa_node(given: Value) -> Fraction | None:
    """None if it is no amount."""
    limits = (
        [each.get("limits") for each in given if isinstance(each, dict)] if isinstance(given, list) else []
    )
    return _sum(each.get("memory") for each in limits if isinstance(each, dict))


def _kept_from_pods(made: Mapping[str, Value]) -> Fraction | None:
    """Of memory. None if it is no amount, or depends on how much the machine has."""
    evictions = made.get("evictionHard")
    if not isinstance(evictions, dict):
        evictions = {_MEMORY_SIGNAL: _EVICTED_BELOW}
    elif made.get("mergeDefaultEvictionSettings") is True:
        evictions = {_MEMORY_SIGNAL: _EVICTED_BELOW, **evictions}
    reserved = [made.get(name) for name in ("systemReserved", "kubeReserved")]
    amounts = [each.get("memory") for each in reserved if isinstance(each, dict)]
    return _sum([*amounts, evictions.get(_MEMORY_SIGNAL)])


def _sum(amounts: Iterable[Value]) -> Fraction | None:
    total = quantity("0")
    for each in filter(None, amounts):
        amount = quantity(str(each))
        if amount is None or total is None:
            return None
        total += amount
    return total


def _mebibytes(amount: Fraction) -> str:
    whole, rest = divmod(amount, 1 << 20)
    return f"{amount} bytes" if rest else f"{whole}Mi"


def _marks_the_same(taint: Mapping[str, Value]) -> bool:
    """Of one key and effect a node has one taint only."""
    return all(taint.get(key) == _WINDOWS_TAINT[key] for key in ("key", "effect"))


def _taint_text(taint: Mapping[str, Value]) -> str:
    value = f"={taint['value']}" if taint.get("value") else ""
    return f"{taint.get('key', '')}{value}:{taint.get('effect', '')}"


def _shown(value: Value) -> str:
    if value is None:
        return ""
    text = redacted(value if isinstance(value, str) else json.dumps(redacted_document(value)))
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
