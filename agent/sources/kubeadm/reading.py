"""From the bytes of a file to a JoinConfiguration, with kubeadm's defaults and by its rules."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from agent.records import frozen
from agent.sources.kubeadm import validation
from agent.sources.kubeadm.durations import seconds
from agent.sources.kubeadm.model import (
    CA_CERTIFICATE,
    PULL_POLICY,
    Argument,
    BootstrapToken,
    Discovery,
    JoinConfiguration,
    NodeRegistration,
    Taint,
    Timeouts,
)
from agent.sources.kubeadm.parts import Unusable, parts
from agent.sources.kubeadm.schema import (
    DEPRECATED,
    GROUP,
    KIND,
    VERSIONS,
    Checking,
    items,
    mapping,
    text,
    texts,
)
from agent.sources.node_names import canonical
from agent.sources.report import Entry, Report, Severity, bounded, quoted

if TYPE_CHECKING:
    from agent.documents import Value
    from agent.sources.kubeadm.parts import Part
    from agent.sources.report import Place

_READS = " and ".join(f"{GROUP}/{version}" for version in VERSIONS)
_CONTROL_PLANE = (
    "a Windows machine cannot be part of the control plane; run this join on a Linux machine, or leave "
    "controlPlane out to join as a worker"
)


@frozen
class Outcome:
    configuration: JoinConfiguration | None
    """None where the report is fatal."""
    report: Report


def read(name: str, contents: bytes, *, strictly: bool = False) -> Outcome:
    """Strictly is as `kubeadm config validate` reads: unknown and repeated fields are errors."""
    try:
        found = parts(name, contents)
    except Unusable as fault:
        return Outcome(None, Report((fault.entry,)))
    entries: list[Entry] = []
    configurations = [part for part in found if part.kind == KIND]
    for part in found:
        if part.kind != KIND:
            message = f"a document of the kind {quoted(part.kind)} ({quoted(part.api)}) has no part in a join"
            entries.append(part.document.entry(Severity.WARNING, ("kind",), message))
    if not configurations:
        kinds = ", ".join(quoted(part.kind) for part in found[:5])
        message = f"there is no {KIND} in it" + (f", only {kinds}" if kinds else "; it is empty")
        entries.append(Entry(Severity.ERROR, message, name))
        return Outcome(None, Report(tuple(entries)))
    return _read(configurations[0], entries, strictly)


def _read(part: Part, entries: list[Entry], strictly: bool) -> Outcome:
    unknown = Severity.ERROR if strictly else Severity.WARNING
    form = VERSIONS.get(part.version) if part.group == GROUP else None
    if form is None:
        entries.append(part.document.entry(Severity.ERROR, ("apiVersion",), _version_fault(part)))
        return Outcome(None, bounded(entries))
    if part.version == DEPRECATED:
        message = f"{part.api} is an old version, which kubeadm will take for some releases more only"
        entries.append(part.document.entry(Severity.WARNING, ("apiVersion",), message))
    entries += part.twice_entries(unknown)
    checking = Checking(part.document, unknown, entries)
    known = mapping(checking.of(form, part.document.value, ()))
    if known.get("controlPlane") is not None:
        entries.append(part.document.entry(Severity.ERROR, ("controlPlane",), _CONTROL_PLANE))
    if bounded(entries).fatal:
        return Outcome(None, bounded(entries))
    configuration = _configuration(known)
    for place, message in validation.faults(configuration):
        entries.append(_entry(part, place, message))
    report = bounded(entries)
    return Outcome(None if report.fatal else configuration, report)


def _entry(part: Part, place: Place, message: str) -> Entry:
    """Of what is missing, the line is that of the mapping that it is missing in."""
    document, there = part.document, place
    while there and there not in document.positions:
        there = there[:-1]
    line, column = document.positions.get(there, (None, None))
    return Entry(Severity.ERROR, message, document.name, place, line, column)


def _version_fault(part: Part) -> str:
    api = quoted(part.api)
    if part.group != GROUP:
        return f"{api} has no {KIND}; {_READS} are read"
    if part.version in ("v1alpha1", "v1alpha2", "v1alpha3", "v1beta1", "v1beta2"):
        return (
            f"{api} is too old; {_READS} are read, and `kubeadm config migrate` of a release that still knew "
            "it makes the one of the other"
        )
    return f"{api} is not known; {_READS} are read"


# From here on all values have their shape.


def _configuration(known: dict[str, Value]) -> JoinConfiguration:
    discovery = mapping(known.get("discovery"))
    return JoinConfiguration(
        _discovery(discovery),
        _node_registration(mapping(known.get("nodeRegistration"))),
        text(known.get("caCertPath")) or CA_CERTIFICATE,
        _timeouts(mapping(known.get("timeouts")), discovery.get("timeout")),
        text(mapping(known.get("patches")).get("directory")),
        texts(known.get("skipPhases")),
        known.get("dryRun") is True,
    )


def _discovery(known: dict[str, Value]) -> Discovery:
    token, file = known.get("bootstrapToken"), known.get("file")
    given = None if token is None else _bootstrap_token(mapping(token))
    return Discovery(
        given,
        None if file is None else local_path(text(mapping(file).get("kubeConfigPath"))),
        text(known.get("tlsBootstrapToken")) or (given.token if given else ""),
    )


def _bootstrap_token(known: dict[str, Value]) -> BootstrapToken:
    return BootstrapToken(
        text(known.get("token")),
        text(known.get("apiServerEndpoint")),
        texts(known.get("caCertHashes")),
        known.get("unsafeSkipCAVerification") is True,
    )


def local_path(given: str) -> str:
    """Of a file: URL its path."""
    if given[:5].lower() != "file:":
        return given
    try:
        path = unquote(urlsplit(given).path)
    except ValueError:
        return given
    # file:///C:/a names C:/a.
    return path[1:] if path[2:3] == ":" else path


def _node_registration(known: dict[str, Value]) -> NodeRegistration:
    taints = known.get("taints")
    name = text(known.get("name"))
    return NodeRegistration(
        # Blanks alone are no name, and not the machine's own either.
        canonical(name) or name,
        text(known.get("criSocket")),
        None if taints is None else tuple(_taint(mapping(taint)) for taint in items(taints)),
        _arguments(known.get("kubeletExtraArgs")),
        texts(known.get("ignorePreflightErrors")),
        text(known.get("imagePullPolicy")) or PULL_POLICY,
        known.get("imagePullSerial") is not False,
    )


def _taint(known: dict[str, Value]) -> Taint:
    return Taint(text(known.get("key")), text(known.get("value")), text(known.get("effect")))


def _arguments(given: Value) -> tuple[Argument, ...]:
    """A map of v1beta3 has no order, and kubeadm sorts it; a list of v1beta4 may name one several times."""
    if isinstance(given, dict):
        return tuple(Argument(name, text(value)) for name, value in sorted(given.items()))
    pairs = [mapping(item) for item in items(given)]
    return tuple(Argument(text(pair.get("name")), text(pair.get("value"))) for pair in pairs)


def _timeouts(known: dict[str, Value], discovery: Value) -> Timeouts:
    """`discovery` is where v1beta3 has the one that it has."""
    usual = Timeouts()

    def span(value: Value, otherwise: float) -> float:
        found = seconds(text(value)) if value is not None else None
        return otherwise if found is None else found

    return Timeouts(
        span(known.get("kubeletHealthCheck"), usual.kubelet_health_check),
        span(known.get("kubernetesAPICall"), usual.kubernetes_api_call),
        span(known.get("tlsBootstrap"), usual.tls_bootstrap),
        span(known.get("discovery", discovery), usual.discovery),
    )
