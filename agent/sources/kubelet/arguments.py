"""The flags of a Linux kubelet, turned into those of the same kubelet on Windows."""

import ipaddress
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent.sources.kubelet import command_line, flags
from agent.sources.kubelet.command_line import Given, Unusable
from agent.sources.kubelet.decisions import About, Decision, Outcome
from agent.sources.kubelet.documents import Value
from agent.sources.kubelet.flags import Flag, Treatment
from agent.sources.kubelet.linux_units import why_unset
from agent.sources.kubelet.node import (
    DOCKER_BY_DEFAULT_UNTIL,
    PRIORITY_CLASS,
    Kubelet,
    Node,
    is_label,
    may_set,
)
from agent.sources.report import Entry, Origin, Report, Severity, bounded, quoted
from agent.sources.systemd.environment import Word
from agent.sources.windows_paths import Reference, UnusablePath, absolute, place_on_windows

DEFAULT_CONFIGURATION = "/etc/kubernetes/kubelet.conf"
DEFAULT_BOOTSTRAP = "/etc/kubernetes/kubeconfig"
DEFAULT_KUBECONFIG = "/var/lib/kubelet/kubeconfig"
DEFAULT_CERTIFICATES = "/var/lib/kubelet/pki"
DEFAULT_VERBOSITY = "3"
OS_LABEL = ("node.openshift.io/os_id", "Windows")

_FIRST = (
    "config", "bootstrap-kubeconfig", "kubeconfig", "cert-dir", "windows-service", "windows-priorityclass",
)  # fmt: skip
_OF_PATHS = (Treatment.PATH, Treatment.FOLDER)
_FILES_WITH_A_RULE = ("config", "image-credential-provider-config")
_PRIORITY_SINCE = 20


@dataclass(frozen=True, slots=True)
class Arguments:
    words: tuple[str, ...]
    configure: Mapping[str, Value]
    """Fields of the configuration that flags set."""
    configuration: str
    """The Linux path of the configuration."""
    drop_ins: str
    """The Linux path of the folder of its drop-ins; empty if there is none."""
    credential_configuration: str
    """The Linux path of the credential providers' configuration, if it is used."""
    decisions: tuple[Decision, ...]
    references: tuple[Reference, ...]
    report: Report


def translate(
    words: Sequence[Word], origin: Origin, node: Node, kubelet: Kubelet, *, carries_bootstrap: bool
) -> Arguments:
    """`words` is what follows the kubelet itself, variables expanded."""
    translation = _Translation(node, kubelet, origin)
    for given in command_line.parse(words):
        translation.take(given)
    translation.complete(carries_bootstrap=carries_bootstrap)
    return translation.result()


@dataclass(slots=True)
class _Translation:
    node: Node
    kubelet: Kubelet
    origin: Origin
    made: dict[str, list[str]] = field(default_factory=dict)
    configure: dict[str, Value] = field(default_factory=dict)
    configuration: str = DEFAULT_CONFIGURATION
    drop_ins: str = ""
    credential_configuration: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)
    references: dict[str, Reference] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    def result(self) -> Arguments:
        order = [*(name for name in _FIRST if name in self.made), *self.made]
        words = [word for name in dict.fromkeys(order) for word in self.made[name]]
        return Arguments(
            tuple(words),
            self.configure,
            self.configuration,
            self.drop_ins,
            self.credential_configuration,
            tuple(self.decisions),
            tuple(self.references.values()),
            bounded(self.entries),
        )

    def take(self, given: Given | Unusable) -> None:
        if isinstance(given, Unusable):
            self._report(Severity.ERROR, str(given))
        elif not given.name:
            missing = given.unanswered[0]
            self._decide(f"${missing}", Outcome.DROPPED, why_unset(missing))
        elif given.known is None:
            self._unknown(given)
        elif reason := self._not_of_this_release(given.known):
            self._drop(given, reason)
        else:
            self._known(given, given.known)

    def _unknown(self, given: Given) -> None:
        message = f"no kubelet up to now has a flag --{given.name}; it is passed on as it is"
        self._report(Severity.WARNING, message)
        reason = "unknown, and so passed on"
        self._decide(f"--{given.name}", Outcome.KEPT, reason, given.shown, given.shown, secret=given.secret)
        self.made.setdefault(given.name, []).extend(given.written)

    def _not_of_this_release(self, known: Flag) -> str | None:
        if known.treatment in (Treatment.DROP, Treatment.RULE):
            return None
        return flags.why_not_in(known, self.kubelet.minor)

    def _known(self, given: Given, known: Flag) -> None:
        if known.treatment is Treatment.DROP:
            self._drop(given, known.reason)
        elif known.treatment is Treatment.RULE:
            _RULES[known.name](self, given, known)
        elif given.unanswered and not (known.accumulates and _without_gaps(given)):
            self._drop(given, why_unset(given.unanswered[0]))
        else:
            self._by_treatment(given, known)

    def _by_treatment(self, given: Given, known: Flag) -> None:
        try:
            value = self._checked(given, known)
            if known.treatment is Treatment.CONFIGURE:
                self._configure(given, known, value)
            elif known.treatment in _OF_PATHS or known.name in _FILES_WITH_A_RULE:
                self._path(given, known)
            else:
                self._keep(given, known)
        except Unusable as fault:
            self._report(Severity.ERROR, f"--{given.name}={_told(given, given.shown)}: {fault}")
        except UnusablePath as fault:
            why = fault.unquoted if given.expanded else str(fault)
            self._report(Severity.ERROR, f"--{given.name}={_told(given, given.shown)}: {why}")

    def _checked(self, given: Given, known: Flag) -> Value:
        """As the kubelet would read it. Raises Unusable."""
        if given.value is None:
            return True
        return command_line.value_of(known.kind, _without_gaps(given) if known.accumulates else given.value)

    def _keep(self, given: Given, known: Flag) -> None:
        value = _without_gaps(given) if known.accumulates else given.value
        word = f"--{known.name}" if value is None else f"--{known.name}={value}"
        self._put(known, word)
        outcome = Outcome.KEPT if value == given.value else Outcome.CHANGED
        self._decide_on(known, outcome, known.reason, given.shown, value or "")

    def _put(self, known: Flag, word: str) -> None:
        if known.accumulates:
            self.made.setdefault(known.name, []).append(word)
            return
        if before := self.made.pop(known.name, None):
            shown = before[0].partition("=")[2]
            self._decide_on(known, Outcome.DROPPED, "it is given again later", shown)
        self.made[known.name] = [word]

    def _path(self, given: Given, known: Flag) -> None:
        path = given.shown
        mapped = place_on_windows(path, f"--{known.name}", self.node.install_directory)
        self._put(known, f"--{known.name}={mapped}")
        if path:
            self.references[known.name] = Reference(
                absolute(path, "/"), mapped, f"--{known.name}", known.treatment is Treatment.FOLDER
            )
        outcome = Outcome.KEPT if mapped == path else Outcome.CHANGED
        self._decide_on(known, outcome, known.reason, path, mapped)

    def _configure(self, given: Given, known: Flag, value: Value) -> None:
        before = self.configure.get(known.field)
        if known.accumulates and isinstance(before, list) and isinstance(value, list):
            value = [*before, *value]
        elif known.accumulates and isinstance(before, dict) and isinstance(value, dict):
            value = {**before, **value}
        self.configure[known.field] = value
        reason = f"{known.reason}; set as {known.field} of the configuration"
        self._decide_on(known, Outcome.CHANGED, reason, given.shown)

    def _drop(self, given: Given, reason: str) -> None:
        secret = given.secret or given.expanded
        self._decide(f"--{given.name}", Outcome.DROPPED, reason, given.shown, secret=secret)

    def config(self, given: Given, known: Flag) -> None:
        if not given.value or given.unanswered:
            self._drop(given, "it names no file")
            return
        before = self.made.get(known.name)
        self._by_treatment(given, known)
        if self.made.get(known.name) is not before:
            self.configuration = given.value

    def config_dir(self, given: Given, known: Flag) -> None:
        self.drop_ins = "" if given.unanswered else given.shown.rstrip("/")
        self._drop(given, known.reason)

    def bootstrap_kubeconfig(self, given: Given, known: Flag) -> None:
        """The flag's old name."""
        renamed = flags.by_name()["bootstrap-kubeconfig"]
        self._drop(given, known.reason)
        self._known(replace(given, name=renamed.name, known=renamed), renamed)

    def container_runtime(self, given: Given, known: Flag) -> None:
        if known.last is not None and self.kubelet.minor > known.last:
            self._drop(given, f"no kubelet takes it since Kubernetes 1.{known.last + 1}")
            return
        self._replace(given, known, "remote")

    def container_runtime_endpoint(self, given: Given, known: Flag) -> None:
        self._drop(given, f"{known.reason}, whose endpoint is another")

    def _replace(self, given: Given, known: Flag, value: str) -> None:
        self._put(known, f"--{known.name}={value}")
        outcome = Outcome.KEPT if value == given.value else Outcome.CHANGED
        self._decide_on(known, outcome, known.reason, given.shown, value)

    def cloud_provider(self, given: Given, known: Flag) -> None:
        value = given.shown
        if not value or given.unanswered:
            self._drop(given, "it names none")
        elif self.kubelet.minor > flags.IN_TREE_UNTIL.get(value, self.kubelet.minor):
            reason = f"kubelets have no cloud provider of their own since 1.{flags.IN_TREE_UNTIL[value] + 1}"
            self._put(known, f"--{known.name}=external")
            self._decide_on(known, Outcome.CHANGED, reason, value, "external")
        else:
            self._replace(given, known, value)

    def hostname_override(self, given: Given, known: Flag) -> None:
        self._answered(given, known, self.node.name)

    def provider_id(self, given: Given, known: Flag) -> None:
        self._answered(given, known, self.node.provider_id)

    def _answered(self, given: Given, known: Flag, asked: str) -> None:
        if asked:
            self._replace(given, known, asked)
        elif given.unanswered:
            self._drop(given, why_unset(given.unanswered[0]))
        elif not given.value:
            self._drop(given, "it is empty")
        else:
            self._replace(given, known, given.value)

    def node_ip(self, given: Given, known: Flag) -> None:
        addresses = [address.strip() for address in given.shown.split(",") if address.strip()]
        for address in [address for address in addresses if not _is_address(address)]:
            self._report(
                Severity.WARNING, f"--node-ip: {_told(given, address)} is no address; it is left out"
            )
            addresses.remove(address)
        if self.node.addresses:
            addresses = list(self.node.addresses)
        elif not addresses or any(ipaddress.ip_address(address).is_unspecified for address in addresses):
            addresses = self._found(prefer_ipv6="::" in addresses)
        if not addresses:
            reason = "it names no address, and on Windows a kubelet cannot look for one in a routing table"
            self._drop(given, reason)
        else:
            self._replace(given, known, ",".join(addresses))

    def _found(self, *, prefer_ipv6: bool) -> list[str]:
        ordered = sorted(self.node.found_addresses, key=lambda address: (":" in address) != prefer_ipv6)
        return ordered[:1]

    def credential_folder(self, given: Given, known: Flag) -> None:
        if not self.node.credential_providers:
            self._drop(given, "no plug-ins for Windows are given, and the kubelet would not start without")
        else:
            self._replace(given, known, self.node.credential_providers)

    def credential_configuration_file(self, given: Given, known: Flag) -> None:
        if not self.node.credential_providers or not given.value or given.unanswered:
            self._drop(given, "no plug-ins for Windows are given, and the kubelet would not start without")
            return
        self.credential_configuration = given.value
        self._by_treatment(given, known)

    def verbosity(self, given: Given, known: Flag) -> None:
        if self.node.verbosity:
            self._replace(given, known, self.node.verbosity)
        elif given.unanswered or not given.value:
            self._drop(given, why_unset(given.unanswered[0]) if given.unanswered else "it is empty")
        else:
            self._by_treatment(given, known)

    def windows_service(self, given: Given, known: Flag) -> None:
        self._decide_on(known, Outcome.KEPT, known.reason, given.shown, "true")

    def node_labels(self, given: Given, known: Flag) -> None:
        for label in filter(None, _without_gaps(given).split(",")):
            key, _, value = (part.strip() for part in label.partition("="))
            if not is_label(key, value):
                self._report(Severity.ERROR, f"--node-labels: {_told(given, label)} is no label")
            elif may_set(key, self.kubelet):
                self.labels[key] = value
                self._decide_on(known, Outcome.KEPT, known.reason, label, label)
            else:
                reason = f"a kubelet may not label its own node so; kubectl label node NAME {label} can"
                self._decide_on(known, Outcome.DROPPED, reason, label)
        for missing in given.unanswered:
            self._decide_on(known, Outcome.DROPPED, f"a label without its value: {why_unset(missing)}")

    def complete(self, *, carries_bootstrap: bool) -> None:
        """What a Windows node needs and the unit does not give."""
        self._add_path("config", DEFAULT_CONFIGURATION, "the configuration made right for Windows")
        if carries_bootstrap:
            self._add_path("bootstrap-kubeconfig", DEFAULT_BOOTSTRAP, "the document carries it")
        self._add_path("kubeconfig", DEFAULT_KUBECONFIG, "where the kubelet writes its own credentials")
        self._add_path("cert-dir", DEFAULT_CERTIFICATES, "where the kubelet keeps its certificates")
        self.made["windows-service"] = ["--windows-service"]
        self._decide("--windows-service", Outcome.ADDED, flags.by_name()["windows-service"].reason)
        if self.kubelet.minor >= _PRIORITY_SINCE:
            self._add("windows-priorityclass", PRIORITY_CLASS, "pods must not starve the kubelet")
        if self.kubelet.minor <= DOCKER_BY_DEFAULT_UNTIL:
            self._add("container-runtime", "remote", "this kubelet would look for Docker")
        self._add("v", self.node.verbosity or DEFAULT_VERBOSITY, "what a kubelet is best run with")
        self._add_of_the_node()

    def _add_of_the_node(self) -> None:
        addresses = self.node.addresses or tuple(self._found(prefer_ipv6=False))
        self._add("node-ip", ",".join(addresses), "a kubelet on Windows finds no default address by itself")
        self._add("hostname-override", self.node.name, "the name asked for")
        self._add("provider-id", self.node.provider_id, "the id asked for")
        key, value = OS_LABEL
        if self.labels.get(key) != value:
            reason = "a Windows node of OpenShift is found by it"
            self._decide("--node-labels", Outcome.ADDED, reason, after=f"{key}={value}")
        every = {**self.labels, key: value}
        self.made["node-labels"] = ["--node-labels=" + ",".join(map(_label, every.items()))]

    def _add_path(self, name: str, path: str, reason: str) -> None:
        if name not in self.made:
            mapped = place_on_windows(path, f"--{name}", self.node.install_directory)
            folder = flags.by_name()[name].treatment is Treatment.FOLDER
            self.references[name] = Reference(path, mapped, f"--{name}", folder)
            self._add(name, mapped, reason)

    def _add(self, name: str, value: str, reason: str) -> None:
        if value and name not in self.made:
            self.made[name] = [f"--{name}={value}"]
            self._decide(f"--{name}", Outcome.ADDED, reason, after=value)

    def _decide(
        self,
        name: str,
        outcome: Outcome,
        reason: str,
        before: str = "",
        after: str = "",
        secret: bool = False,
    ) -> None:
        self.decisions.append(Decision(About.FLAG, name, outcome, reason, before, after, secret))

    def _decide_on(
        self, known: Flag, outcome: Outcome, reason: str, before: str = "", after: str = ""
    ) -> None:
        self._decide(f"--{known.name}", outcome, reason, before, after, secret=known.secret)

    def _report(self, severity: Severity, message: str) -> None:
        self.entries.append(self.origin.entry(severity, message))


def _told(given: Given, part: str) -> str:
    """A variable's value may be a secret, and who wrote the unit can look it up."""
    if given.secret:
        return "(hidden)"
    return "(what a variable holds)" if given.expanded else quoted(part)


def _without_gaps(given: Given) -> str:
    """A list without the elements that lack a value because a variable has none."""
    if not given.unanswered:
        return given.shown
    return ",".join(element for element in given.shown.split(",") if element and element[-1] not in "=<")


def _label(pair: tuple[str, str]) -> str:
    key, value = pair
    return f"{key}={value}" if value else key


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


_RULES: Mapping[str, Callable[[_Translation, Given, Flag], None]] = {
    "cloud-provider": _Translation.cloud_provider,
    "config": _Translation.config,
    "config-dir": _Translation.config_dir,
    "container-runtime": _Translation.container_runtime,
    "container-runtime-endpoint": _Translation.container_runtime_endpoint,
    "experimental-bootstrap-kubeconfig": _Translation.bootstrap_kubeconfig,
    "hostname-override": _Translation.hostname_override,
    "image-credential-provider-bin-dir": _Translation.credential_folder,
    "image-credential-provider-config": _Translation.credential_configuration_file,
    "node-ip": _Translation.node_ip,
    "node-labels": _Translation.node_labels,
    "provider-id": _Translation.provider_id,
    "v": _Translation.verbosity,
    "windows-service": _Translation.windows_service,
}
