"""kubeadm-flags.env: the kubelet's arguments that are this node's own, in the variable KUBELET_KUBEADM_ARGS.

kubeadm's come first, in the order of their names; nodeRegistration.kubeletExtraArgs follow as they are given
and take the place of kubeadm's of the same name. What a kubelet on Windows would not start with is left out.
"""

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from agent.sources.kubeadm import runtime_endpoint
from agent.sources.kubeadm.arguments_file import VARIABLE
from agent.sources.kubeadm.model import Argument, NodeRegistration
from agent.sources.kubelet import feature_gates, fields, flags
from agent.sources.kubelet.command_line import EFFECTS, Unusable, pairs, switch, value_of
from agent.sources.kubelet.configuration import AFFINITY_GATE, SIGNALS
from agent.sources.kubelet.decisions import About, Decision, Outcome
from agent.sources.kubelet.flags import Flag, Kind, Treatment
from agent.sources.kubelet.node import Kubelet, Node, is_label, may_set
from agent.sources.node_names import canonical
from agent.sources.report import Entry, Report, Severity, bounded, quoted
from agent.sources.windows_paths import Reference, UnusablePath, absolute, path_on_windows

_JOIN = "the JoinConfiguration"
_PLACE = ("nodeRegistration", "kubeletExtraArgs")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")
_OURS = {
    "config": "it is the one that is made of kubelet-config",
    "kubeconfig": "the join waits for the kubelet to write kubelet.conf",
    "bootstrap-kubeconfig": "it is written, and removed after its use",
    "experimental-bootstrap-kubeconfig": "an old name of --bootstrap-kubeconfig, which is given",
    "windows-service": "it is always given",
    "container-runtime": "Windows runs containers with containerd",
}
_PATHS = frozenset({"config-dir", "image-credential-provider-bin-dir", "image-credential-provider-config"})
"""What a Linux worker's kubelet does without here; this one was asked to look there."""
_AFFINITY_FIELDS = frozenset(field.name for field in fields.FIELDS if field.treatment is Treatment.AFFINITY)
_SIGNAL_FLAGS = ("eviction-hard", "eviction-soft", "eviction-soft-grace-period", "eviction-minimum-reclaim")


@dataclass(frozen=True, slots=True)
class KubeletArguments:
    report: Report
    words: tuple[str, ...]
    decisions: tuple[Decision, ...]
    references: tuple[Reference, ...]

    @property
    def contents(self) -> bytes:
        """Of the file. It is read as systemd reads it, but for a backslash, which is one."""
        text = " ".join(map(_word, self.words))
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        return f'{VARIABLE}="{escaped}"\n'.encode()


def kubelet_arguments(
    registration: NodeRegistration, name: str, node: Node, kubelet: Kubelet, gates: Mapping[str, bool]
) -> KubeletArguments:
    """`name` is what the node is called, `gates` are those of its configuration."""
    making = _Making(node, kubelet, gates)
    if not registration.is_whole:
        making.give_own(registration, name)
    for argument in registration.kubelet_extra_args:
        making.take(argument)
    return making.result()


@dataclass(slots=True)
class _Making:
    node: Node
    kubelet: Kubelet
    gates: Mapping[str, bool]
    own: dict[str, str] = field(default_factory=dict)
    extra: list[tuple[str, str]] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    references: dict[str, Reference] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    def result(self) -> KubeletArguments:
        given = {name for name, _ in self.extra}
        own = [(name, value) for name, value in sorted(self.own.items()) if name not in given]
        words = [f"--{name}={value}" for name, value in (*own, *self.extra)]
        return KubeletArguments(
            bounded(self.entries), tuple(words), tuple(self.decisions), tuple(self.references.values())
        )

    def give_own(self, registration: NodeRegistration, name: str) -> None:
        given = {argument.name for argument in registration.kubelet_extra_args}
        self._take_taints(registration)
        if name != canonical(self.node.host_name):
            self.own["hostname-override"] = name
        addresses = self.node.addresses or self.node.found_addresses[:1]
        if addresses and "node-ip" not in given:
            self.own["node-ip"] = ",".join(addresses)
            reason = "a kubelet on Windows finds no default address by itself"
            self._decide("node-ip", Outcome.ADDED, reason, after=self.own["node-ip"])
        if self.node.provider_id and "provider-id" not in given:
            self.own["provider-id"] = self.node.provider_id
        if self.node.verbosity and "v" not in given:
            self.own["v"] = self.node.verbosity

    def _take_taints(self, registration: NodeRegistration) -> None:
        for number, taint in enumerate(registration.taints or ()):
            try:
                value_of(Kind.TAINTS, str(taint))
            except Unusable:
                message = f"{quoted(str(taint))} is no taint; its effect is one of {', '.join(EFFECTS)}"
                place = ("nodeRegistration", "taints", number)
                self.entries.append(Entry(Severity.ERROR, message, _JOIN, place))
        if registration.taints:
            self.own["register-with-taints"] = ",".join(map(str, registration.taints))

    def take(self, argument: Argument) -> None:
        # Underscores are hyphens to the kubelet.
        name = argument.name.replace("_", "-")
        known = flags.by_name().get(name)
        if name.startswith("-"):
            self._refuse(argument, "the names of arguments have no hyphens before them")
        elif "=" in name or _CONTROL.search(name + argument.value) or any(map(str.isspace, name)):
            self._refuse(argument, "no argument can be called so, or have such a value")
        elif known is None:
            reason = "no kubelet up to now has it; it is passed on"
            self._report(Severity.WARNING, argument, reason)
            self.extra.append((name, argument.value))
        elif why := self._why_not(known):
            self._drop(known, argument.value, why)
        else:
            self._known(known, argument)

    def _why_not(self, known: Flag) -> str | None:
        if known.name in _OURS:
            return _OURS[known.name]
        if known.treatment is Treatment.DROP:
            return known.reason
        if known.field in _AFFINITY_FIELDS and self.gates.get(AFFINITY_GATE) is not True:
            return known.reason
        return flags.why_not_in(known, self.kubelet.minor)

    def _known(self, known: Flag, argument: Argument) -> None:
        try:
            value_of(known.kind, argument.value)
            value: str | None = argument.value
            if known.name in _RULES:
                value = _RULES[known.name](self, argument.value)
            if known.treatment in (Treatment.PATH, Treatment.FOLDER) or known.name in _PATHS:
                value = self._path(known, value)
        except Unusable as fault:
            self._refuse(argument, f"{_shown(known, argument.value)}: {fault}")
            return
        except UnusablePath as fault:
            self._refuse(argument, f"{_shown(known, argument.value)} cannot be a path on Windows: {fault}")
            return
        if value is None:
            return
        if value != argument.value:
            self._decide(
                known.name, Outcome.CHANGED, known.reason, argument.value, value, secret=known.secret
            )
        self.extra.append((known.name, value))

    def _path(self, known: Flag, path: str | None) -> str | None:
        if not path:
            return path
        mapped = path_on_windows(path)
        folder = known.treatment is Treatment.FOLDER
        self.references[known.name] = Reference(absolute(path, "/"), mapped, f"--{known.name}", folder)
        return mapped

    def cloud_provider(self, value: str) -> str | None:
        gone = self.kubelet.minor > flags.IN_TREE_UNTIL.get(value, self.kubelet.minor)
        return "external" if gone else value

    def runtime(self, value: str) -> str | None:
        if runtime_endpoint.is_of_linux(value):
            reason = f"a socket of Linux; {self.node.runtime_endpoint} takes its place"
            self._decide("container-runtime-endpoint", Outcome.DROPPED, reason, value)
            return None
        if fault := runtime_endpoint.fault(value):
            raise Unusable(fault)
        return runtime_endpoint.endpoint(value)

    def node_labels(self, value: str) -> str | None:
        kept = []
        for label in filter(None, value.split(",")):
            key, _, text = (part.strip() for part in label.partition("="))
            if not is_label(key, text):
                raise Unusable(f"{quoted(label)} is no label")
            if may_set(key, self.kubelet):
                kept.append(label)
            else:
                reason = f"a kubelet may not label its own node so; kubectl label node NAME {label} can"
                self._decide("node-labels", Outcome.DROPPED, reason, label)
        return ",".join(kept) if kept or not value else None

    def node_ip(self, value: str) -> str | None:
        for address in value.split(","):
            try:
                ipaddress.ip_address(address.strip())
            except ValueError:
                raise Unusable(f"{quoted(address)} is no IP address") from None
        return value

    def gates_kept(self, value: str) -> str | None:
        kept = []
        for gate, on in pairs(value, "="):
            if refusal := feature_gates.refusal(gate, switch(on), self.kubelet.minor):
                self._decide("feature-gates", Outcome.DROPPED, refusal, f"{gate}={on}")
            else:
                kept.append(f"{gate}={on}")
        return ",".join(kept) if kept or not value else None

    def signals(self, value: str) -> str | None:
        kept = [
            item
            for item in value.split(",")
            if not re.split("[<=]", item, maxsplit=1)[0].strip().endswith(SIGNALS)
        ]
        return ",".join(kept) if kept or not value else None

    def _drop(self, known: Flag, value: str, reason: str) -> None:
        self._decide(known.name, Outcome.DROPPED, reason, value, secret=known.secret)

    def _decide(
        self,
        name: str,
        outcome: Outcome,
        reason: str,
        before: str = "",
        after: str = "",
        secret: bool = False,
    ) -> None:
        self.decisions.append(Decision(About.FLAG, f"--{name}", outcome, reason, before, after, secret))

    def _refuse(self, argument: Argument, message: str) -> None:
        self._report(Severity.ERROR, argument, message)

    def _report(self, severity: Severity, argument: Argument, message: str) -> None:
        self.entries.append(Entry(severity, f"{quoted(argument.name)}: {message}", _JOIN, _PLACE))


_RULES: Mapping[str, Callable[[_Making, str], str | None]] = {
    "cloud-provider": _Making.cloud_provider,
    "container-runtime-endpoint": _Making.runtime,
    "node-labels": _Making.node_labels,
    "node-ip": _Making.node_ip,
    "feature-gates": _Making.gates_kept,
    **dict.fromkeys(_SIGNAL_FLAGS, _Making.signals),
}


def _shown(known: Flag, value: str) -> str:
    return "(hidden)" if known.secret else quoted(value)


def _word(word: str) -> str:
    """Quotes hold together what has blanks in it."""
    if not re.search(r"[\s'\"]", word):
        return word
    for quote in "'", '"':
        if quote not in word:
            return f"{quote}{word}{quote}"
    return '"\'"'.join(f"'{part}'" for part in word.split("'"))
