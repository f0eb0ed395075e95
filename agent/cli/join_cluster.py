"""What a join asks of the cluster: whom to trust, how its kubelets are set up, what became of the node.

An upgrade has a node cordoned or drained while its kubelet is changed, as far as its own credentials may do
that. The Node itself says that it was us: whichever upgrade comes next gives back what one that was killed
left.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field

from agent import node_credentials
from agent.amounts import in_seconds
from agent.certificates import pin_of
from agent.cli import options, streams, values
from agent.cli.arguments import Request
from agent.cli.asking import Notice
from agent.cli.failure import BadInput, Failure
from agent.cli.given import GivenFile
from agent.documents import Value
from agent.engine import run as engine
from agent.engine.machine_lock import Busy
from agent.fetch.address import of_environment
from agent.host.errors import HostError
from agent.host.port import Host
from agent.kube import kubeconfig
from agent.kube.access import authorities_in, given_pins, pins_in
from agent.kube.answers import Object, is_ready, text_at
from agent.kube.client import NODES, Client, Following, config_map, node, until
from agent.kube.discovery import Discovery
from agent.kube.draining import CORDONED, Draining, cordon, is_marked, pods_to_evict, uncordon
from agent.kube.failure import Failed, Forbidden, NotFound, NotUsable, Unauthorized
from agent.kube.kubeconfig import Kubeconfig
from agent.kube.transport import ConnectionPool, Limits
from agent.private_keys import key_files
from agent.resources.kind import CannotBeSo
from agent.secret_fields import registers_secrets
from agent.sources.kubeadm.model import KUBELET_CONF, JoinConfiguration

Given = Callable[[str], GivenFile]

_CLOCKS_AGREE_SECONDS = 60.0
_SYSTEM = "kube-system"
_CRI_SOCKET = "kubeadm.alpha.kubernetes.io/cri-socket"
_FIRST_PAUSE_SECONDS = 0.005
_LONGEST_PAUSE_SECONDS = 0.1
_DRAIN_SECONDS = 300.0
_PATIENCE = 60.0


@registers_secrets
@dataclass(frozen=True, slots=True)
class JoinCluster:
    """What there is to know before anything on the machine changes."""

    node_name: str
    ready: bool
    """A Node of this name is there, and its kubelet is well."""
    server: str
    authority: bytes = field(repr=False)
    """PEM."""
    version: str
    """Of the API server that answered."""
    kubelet_configuration: str
    cluster_configuration: str
    bootstrap_user: Mapping[str, Value] = field(default_factory=dict, repr=False)
    """What the kubelet gets its first certificate with; empty on a machine that is a node already."""
    on_the_way: Mapping[str, Value] = field(default_factory=dict, repr=False)
    """What else a kubeconfig says of how the server is reached."""


def find_cluster(
    configuration: JoinConfiguration, name: str, host: Host, given: Given, notice: Notice
) -> JoinCluster:
    """`name` is the node's; `given` finds the file of a discovery by file. Raises Failure."""
    with _told(host), closing(ConnectionPool()) as pool:
        own = _usable(host)
        if own:
            _check_it_is_this_cluster(host, own, configuration, given, notice)
        used = own or _bootstrap(host, configuration, given, notice, pool)
        with _client(used, host, configuration.timeouts.kubernetes_api_call, notice, pool) as client:
            found = _asked(client, used, name, joins=own is None)
            _compare_clocks(client, notice)
            return found


def own_kubeconfig(host: Host) -> Kubeconfig | None:
    """Of a machine that is a node. Raises NotUsable, and Failure for what anybody may have put there."""
    try:
        return node_credentials.own_kubeconfig(host, KUBELET_CONF)
    except node_credentials.OpenToUsers as fault:
        raise Failure(str(fault), where=str(KUBELET_CONF)) from fault


def admitted(host: Host, name: str, cri_socket: str, seconds: float, notice: Notice) -> None:
    """Waits for the Node, by the kubelet's own credentials, and writes down there where its runtime listens,
    as kubeadm does: what upgrades and resets nodes reads it. Raises Failure.

    A Node that an upgrade had cordoned, and was killed then, takes pods again.
    """
    with _told(host):
        own = _with_certificate(host, seconds)
        with _client(own, host, seconds, notice) as client:
            found = _waited_for(client, name, seconds)
            if text_at(found, "metadata", "annotations", _CRI_SOCKET) != cri_socket:
                client.patch(node(name), {"metadata": {"annotations": {_CRI_SOCKET: cri_socket}}})
            if is_marked(found) and uncordon(client, name):
                notice(f"the Node {name} is uncordoned")


@contextmanager
def as_node(host: Host, seconds: float, notice: Notice) -> Iterator[Client | None]:
    """Asks by the kubelet's own credentials; nobody where there are none. What fails is raised as Failure."""
    with _told(host):
        own = own_kubeconfig(host)
        if own is None:
            yield None
            return
        with _client(own, host, seconds, notice) as client:
            yield client


def _with_certificate(host: Host, seconds: float) -> Kubeconfig:
    deadline, pause = host.clock.monotonic() + seconds, _FIRST_PAUSE_SECONDS
    while (own := _written_by_now(host)) is None:
        if host.clock.monotonic() > deadline:
            raise Failure(
                f"the cluster gave the kubelet no certificate within {in_seconds(seconds)}; whether its "
                "request waits for approval is told by kubectl get certificatesigningrequests"
            )
        host.clock.sleep(pause)
        pause = min(1.2 * pause, _LONGEST_PAUSE_SECONDS)
    return own


def _written_by_now(host: Host) -> Kubeconfig | None:
    """The kubelet does not write it in one move."""
    try:
        return own_kubeconfig(host)
    except NotUsable:
        return None


def _usable(host: Host) -> Kubeconfig | None:
    try:
        return own_kubeconfig(host)
    except NotUsable as fault:
        raise Failure(
            f"{fault}; if this is a node already, {host.called} reset takes it out first; "
            "else remove that file",
            where=str(KUBELET_CONF),
        ) from fault


def _bootstrap(
    host: Host, configuration: JoinConfiguration, given: Given, notice: Notice, pool: ConnectionPool
) -> Kubeconfig:
    discovery, by_token = configuration.discovery, configuration.discovery.bootstrap_token
    seconds, proxies = configuration.timeouts.discovery, of_environment(os.environ)
    finding = Discovery(seconds, proxies=proxies, notice=notice, pool=pool, key_files=key_files(host))
    if by_token is not None:
        found = finding.by_token(
            by_token.api_server_endpoint,
            by_token.token,
            by_token.ca_cert_hashes,
            any_authority=by_token.unsafe_skip_ca_verification,
        )
        return kubeconfig.with_token(found, discovery.tls_bootstrap_token or by_token.token)
    assert discovery.file is not None, "a configuration has a token or a file"
    if discovery.file_is_url:
        return finding.by_url(discovery.file, discovery.tls_bootstrap_token)
    file = given(discovery.file)
    try:
        config = kubeconfig.read(file.read(), file.shown).embedded(file.from_here)
        config.check()
    except NotUsable as fault:
        raise BadInput(f"{file.option} {fault}", where=file.option) from fault
    return finding.by_kubeconfig(config, file.from_here, discovery.tls_bootstrap_token)


def _asked(client: Client, used: Kubeconfig, name: str, *, joins: bool) -> JoinCluster:
    there = client.find(node(name)) if joins else None
    return JoinCluster(
        name,
        there is not None and is_ready(there),
        used.cluster().server,
        used.cluster().authority,
        text_at(client.get("/version"), "gitVersion"),
        _text_of(client, "kubelet-config", "kubelet"),
        _text_of(client, "kubeadm-config", "ClusterConfiguration"),
        used.user_settings() if joins else {},
        used.settings_on_the_way(),
    )


def _compare_clocks(client: Client, notice: Notice) -> None:
    """Tokens and certificates are for a span of time, which both have to mean alike."""
    ahead = client.ahead
    if ahead is None or abs(ahead) <= _CLOCKS_AGREE_SECONDS:
        return
    where = "ahead of" if ahead > 0 else "behind"
    notice(
        f"warning: clock: this machine's is {abs(ahead):.0f} seconds {where} that of {client.place}; let"
        " W32Time, or whatever else keeps it, put it right"
    )


def _text_of(client: Client, name: str, key: str) -> str:
    try:
        text = text_at(client.get(config_map(_SYSTEM, name)), "data", key)
    except NotFound as fault:
        raise Failure(
            f"the cluster at {client.place} has no ConfigMap {_SYSTEM}/{name}: it was not made by kubeadm, "
            "or by one older than 1.24"
        ) from fault
    if not text:
        raise Failure(f"ConfigMap {_SYSTEM}/{name} of the cluster at {client.place} has no {key}")
    return text


def _check_it_is_this_cluster(
    host: Host, own: Kubeconfig, configuration: JoinConfiguration, given: Given, notice: Notice
) -> None:
    """A node is joined again when all is to be made right, and not to go elsewhere.

    One of the authorities that it trusts has to be one whose hash is given, as with kubeadm at discovery: a
    cluster whose authority is being exchanged has two, and people have the hash of either.
    """
    discovery, server = configuration.discovery, own.cluster().server
    by_token = discovery.bootstrap_token
    hashes = by_token.ca_cert_hashes if by_token else ()
    named = given_pins(hashes) if hashes else _pins_of_file(configuration, given)
    if named and pins_of(own).isdisjoint(named):
        raise _of_another_cluster(host, own)
    if not named:
        asked = by_token.api_server_endpoint if by_token else discovery.file
        notice(
            f"warning: this machine is a node of the cluster at {server}, and stays one; whether {asked} is "
            "the same cluster is not known"
        )


def _pins_of_file(configuration: JoinConfiguration, given: Given) -> frozenset[str]:
    """Of the authorities in the discovery kubeconfig; none where it has none, or is at a URL."""
    discovery = configuration.discovery
    if discovery.file is None or discovery.file_is_url:
        return frozenset()
    file = given(discovery.file)
    return pins_of(kubeconfig.read(file.read(), file.shown).embedded(file.from_here))


def pins_of(config: Kubeconfig) -> frozenset[str]:
    """Of the authorities that it trusts; none where these are the system's. Raises NotUsable."""
    return pins_in(config.cluster().authority, config.name)


def _of_another_cluster(host: Host, own: Kubeconfig) -> Failure:
    seen = ", ".join(map(pin_of, authorities_in(own.cluster().authority, own.name))) or "not named"
    return Failure(
        f"this machine is a node of another cluster, {own.cluster().server}, whose certificate authority "
        f"is {seen}; {host.called} reset takes it out of that first; where there is nothing to reset, remove "
        f"{KUBELET_CONF}"
    )


@contextmanager
def _client(
    used: Kubeconfig, host: Host, seconds: float, notice: Notice, pool: ConnectionPool | None = None
) -> Iterator[Client]:
    limits, proxies = Limits(patience=seconds), of_environment(os.environ)
    access = node_credentials.access(host, used, KUBELET_CONF)
    with Client(access, proxies=proxies, limits=limits, notice=notice, pool=pool) as client:
        yield client


def _waited_for(client: Client, name: str, seconds: float) -> Object:
    there = Following(client, NODES, fields=f"metadata.name={name}")
    failing = f"the kubelet has its certificate, but no Node {name} came up at {client.place}"
    return until(there, lambda nodes: name in nodes, seconds, failing)[name]


@contextmanager
def _told(host: Host) -> Iterator[None]:
    try:
        yield
    except Unauthorized as fault:
        if host.files.observe(KUBELET_CONF) is None:
            raise Failure(str(fault)) from fault
        advice = f"if it is {KUBELET_CONF} that is not accepted, run {host.called} reset and join anew"
        raise Failure(f"{fault}; {advice}") from fault
    except Failed as fault:
        raise Failure(str(fault)) from fault


def asks_to_vacate(request: Request) -> bool:
    """Raises BadUsage for what says how to drain, where nothing is to be drained."""
    values.seconds(request, options.DRAIN_TIMEOUT, _DRAIN_SECONDS)
    drains = request.has(options.DRAIN)
    for option in (options.DRAIN_TIMEOUT, options.EMPTY_DIRS):
        if request.has(option) and not drains:
            raise option.misused(f" goes with {options.DRAIN.name}")
    return drains or request.has(options.CORDON)


@contextmanager
def vacated(request: Request, host: Host, name: str, notice: Notice) -> Iterator[Callable[[], None] | None]:
    """Around an upgrade. Gives what is to be done before the kubelet is stopped; when all has ended, well or
    not, the node takes pods again. Raises Failure.
    """
    may_be_cordoned = engine.interrupted(host) is not None

    def vacate() -> None:
        nonlocal may_be_cordoned
        may_be_cordoned = True
        _vacate(request, host, name, notice)

    try:
        yield vacate if asks_to_vacate(request) else None
    except BaseException:
        # What ends before it came to any of this leaves the node to whoever is at work on it.
        if may_be_cordoned:
            _try_to_give_back(host, name, notice)
        raise
    give_back(host, name, notice)


def tell_what_would_go(request: Request, host: Host, name: str) -> None:
    """Raises Failure for what stands in the way of draining."""
    if not request.has(options.DRAIN):
        return
    with as_node(host, _PATIENCE, streams.notice) as client, _explained(name):
        if client is not None:
            pods = _pods(request, client, name)
            streams.notice(f"{len(pods)} pods would be evicted from the Node {name}")


def give_back(host: Host, name: str, notice: Notice) -> None:
    """To the scheduler, where it was us who cordoned it; not while a run is under way, which does so itself,
    or one has been cut off, whose kubelet may not run. Also where this one did not cordon: an earlier one may
    have been killed before it came to this. Raises Failure.
    """
    with suppress(Busy), engine.at_rest(host, notice) as is_whole:
        if is_whole:
            _uncordon(host, name, notice)
            return
    notice(f"the Node {name} is left as it is in the cluster: the next wmcb upgrade that ends well looks")


def _try_to_give_back(host: Host, name: str, notice: Notice) -> None:
    """Told at most, since something else is raised."""
    try:
        give_back(host, name, notice)
    except (Failure, HostError, CannotBeSo) as fault:
        notice(str(fault))


def _uncordon(host: Host, name: str, notice: Notice) -> None:
    try:
        with as_node(host, _PATIENCE, notice) as client:
            if client is not None and uncordon(client, name):
                notice(f"the Node {name} is uncordoned")
    except Failure as fault:
        raise Failure(
            f"whether the Node {name} is still cordoned is not known: {fault}; the next wmcb upgrade looks "
            f"again, or run kubectl uncordon {name} and kubectl annotate node {name} {CORDONED}- elsewhere"
        ) from fault


def _vacate(request: Request, host: Host, name: str, notice: Notice) -> None:
    with as_node(host, _PATIENCE, notice) as client, _explained(name):
        if client is None:
            raise Failure("this machine has no credentials of its own yet: it cannot be cordoned or drained")
        drains = request.has(options.DRAIN)
        if drains:
            _pods(request, client, name)  # what stands in the way does so before anything is changed
        if cordon(client, name, "upgrade"):
            notice(f"the Node {name} is cordoned")
        if drains:
            # Those that have been scheduled since are among them.
            pods = _pods(request, client, name)
            seconds = values.seconds(request, options.DRAIN_TIMEOUT, _DRAIN_SECONDS)
            Draining(client, name, seconds, notice).until_gone(pods)


def _pods(request: Request, client: Client, name: str) -> Mapping[str, Object]:
    """Raises NotEvictable."""
    return pods_to_evict(client, name, with_empty_dirs=request.has(options.EMPTY_DIRS))


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except Forbidden as fault:
        raise Failure(
            f"{fault}; this node's credentials may not do that: grant it, or run kubectl drain {name} "
            "elsewhere, and upgrade without --cordon and --drain; nothing was changed on this machine"
        ) from fault
    except Failed as fault:
        raise Failure(f"{fault}; nothing was changed on this machine") from fault
