"""From the bytes of a file to a JoinConfiguration, with kubeadm's defaults and by its rules."""

from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from agent.documents import Value, items, mapping, text, texts
from agent.sources.durations import seconds
from agent.sources.kubeadm import model, validation
from agent.sources.kubeadm.decoding import Kind, decode
from agent.sources.kubeadm.schema import VERSIONS
from agent.sources.kubeadm.validation import OF_JOIN, Fault
from agent.sources.node_names import canonical
from agent.sources.report import Outcome, Severity, bounded

JOIN = Kind("JoinConfiguration", VERSIONS, "a join")
_CONTROL_PLANE = (
    "a Windows machine cannot be part of the control plane; run this join on a Linux machine, or leave "
    "controlPlane out to join as a worker"
)


def read(name: str, contents: bytes, *, strictly: bool = False) -> Outcome[model.JoinConfiguration]:
    """Strictly is as `kubeadm config validate` reads: unknown and repeated fields are errors, and so is what
    only a command judges, by its options too.
    """
    decoded = decode(JOIN, name, contents, strictly=strictly)
    if decoded.known.get("controlPlane") is not None:
        decoded.entry(Severity.ERROR, ("controlPlane",), _CONTROL_PLANE)
    if decoded.usable is None:
        return Outcome(None, bounded(decoded.entries))
    configuration = _configuration(decoded.known)
    own = _own_faults(configuration) if strictly else ()
    for place, message in (*validation.faults(configuration), *own):
        decoded.entry(Severity.ERROR, place, message)
    report = bounded(decoded.entries)
    return Outcome(None if report.fatal else configuration, report)


def _own_faults(configuration: model.JoinConfiguration) -> Iterator[Fault]:
    """What a join refuses too, unless options beside the file say otherwise."""
    yield from OF_JOIN.faults(configuration.skip_phases, ("skipPhases",))
    checks = configuration.node_registration.ignore_preflight_errors
    yield from validation.ignored_checks_faults(checks, ("nodeRegistration", "ignorePreflightErrors"))


# From here on all values have their shape.


def _configuration(known: dict[str, Value]) -> model.JoinConfiguration:
    discovery = mapping(known.get("discovery"))
    return model.JoinConfiguration(
        _discovery(discovery),
        _node_registration(mapping(known.get("nodeRegistration"))),
        text(known.get("caCertPath")) or model.CA_CERTIFICATE,
        timeouts(mapping(known.get("timeouts")), model.Timeouts(), discovery.get("timeout")),
        text(mapping(known.get("patches")).get("directory")),
        texts(known.get("skipPhases")),
        known.get("dryRun") is True,
    )


def _discovery(known: dict[str, Value]) -> model.Discovery:
    token, file = known.get("bootstrapToken"), known.get("file")
    given = None if token is None else _bootstrap_token(mapping(token))
    return model.Discovery(
        given,
        None if file is None else local_path(text(mapping(file).get("kubeConfigPath"))),
        text(known.get("tlsBootstrapToken")) or (given.token if given else ""),
    )


def _bootstrap_token(known: dict[str, Value]) -> model.BootstrapToken:
    return model.BootstrapToken(
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


def _node_registration(known: dict[str, Value]) -> model.NodeRegistration:
    taints = known.get("taints")
    name = text(known.get("name"))
    return model.NodeRegistration(
        # Blanks alone are no name, and not the machine's own either.
        canonical(name) or name,
        text(known.get("criSocket")),
        None if taints is None else tuple(_taint(mapping(taint)) for taint in items(taints)),
        _arguments(known.get("kubeletExtraArgs")),
        texts(known.get("ignorePreflightErrors")),
        text(known.get("imagePullPolicy")) or model.PULL_POLICY,
    )


def _taint(known: dict[str, Value]) -> model.Taint:
    return model.Taint(text(known.get("key")), text(known.get("value")), text(known.get("effect")))


def _arguments(given: Value) -> tuple[model.Argument, ...]:
    """A map of v1beta3 has no order, and kubeadm sorts it; a list of v1beta4 may name one several times."""
    if isinstance(given, dict):
        return tuple(model.Argument(name, text(value)) for name, value in sorted(given.items()))
    pairs = [mapping(item) for item in items(given)]
    return tuple(model.Argument(text(pair.get("name")), text(pair.get("value"))) for pair in pairs)


def timeouts(known: dict[str, Value], usual: model.Timeouts, discovery: Value = None) -> model.Timeouts:
    """Return those that a node's commands have, and the usual ones where nothing is said.

    `discovery` is where v1beta3 has the one that it has.
    """

    def span(value: Value, otherwise: float) -> float:
        found = seconds(text(value)) if value is not None else None
        return otherwise if found is None else found

    return model.Timeouts(
        span(known.get("kubeletHealthCheck"), usual.kubelet_health_check),
        span(known.get("kubernetesAPICall"), usual.kubernetes_api_call),
        span(known.get("tlsBootstrap"), usual.tls_bootstrap),
        span(known.get("discovery", discovery), usual.discovery),
    )
