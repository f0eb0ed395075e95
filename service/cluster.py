"""What there is to see of the cluster: the ConfigMap that is followed, and the machine's own Node.

By threads that only wait, one for each, with the kubelet's own credentials: two watches, each on one object,
so that a node costs its API server the same however many there are. What they have seen lies here for the one
that works, and stays when the cluster cannot be reached any more.
"""

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PureWindowsPath

from agent import node_credentials
from agent.backoff import Backoff
from agent.certificates import common_name
from agent.engine.inventory import Inventory
from agent.engine.target import NODE
from agent.fetch.address import Proxies, of_environment
from agent.host.errors import HostError
from agent.host.port import Host
from agent.kube.access import Access, pins_in
from agent.kube.answers import Object, text_at, texts_at
from agent.kube.client import NODES, Client, Following, State, whole
from agent.kube.failure import Failed, Forbidden
from agent.log_runner import ARGUMENTS_FROM
from agent.sources import node_names
from agent.sources.kubeadm.arguments_file import NoArguments, OpenQuote, arguments_in, arguments_of
from agent.sources.kubeadm.model import Argument, NodeRegistration, node_name
from agent.spec import Service
from service.arguments import Followed
from service.work_queue import Signal, Signals, Source

Take = Callable[[str, State], None]

SAME_CREDENTIALS_SECONDS = 600.0
"""The kubelet gets new ones long before the old ones are over."""
_LOOK_AGAIN_SECONDS = 120.0
_FIRST_PAUSE_SECONDS = 1.0
_LONGEST_PAUSE_SECONDS = 60.0
_RIGHTS = "packaging/manifests/following, with its namespace and name in it,"
_OVERRIDE, _CLOUD = "hostname-override", "cloud-provider"
_NODE = "system:node:"
_LABELS, _ANNOTATIONS = ("metadata", "labels"), ("metadata", "annotations")


@dataclass(frozen=True, slots=True)
class Seen:
    thing: Object | None = None
    """None where there is none of that name."""


@dataclass(frozen=True, slots=True)
class Node:
    """As much of it as counts here: a kubelet changes it every few minutes."""

    name: str
    uid: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)


class Unknown(Exception):
    """As whom this machine is to ask, or whether it is a node yet. One line."""


@dataclass(frozen=True, slots=True)
class Kubelet:
    """The kubelet that makes this machine a node, as far as its service's command says who it is."""

    kubeconfig: PureWindowsPath
    naming: tuple[Argument, ...] = ()
    """Of its arguments those that say how its Node is called."""
    arguments_file: PureWindowsPath | None = None
    """Holds more arguments, which it gets behind these when it is started."""


def kubelet_of(inventory: Inventory) -> Kubelet | None:
    """Return the kubelet that makes this machine a node; None where none does."""
    for key, record in inventory.records.items():
        command = record.target.wanted.get("command")
        is_of_node = record.parts[0] == NODE and not record.is_leaving
        if key.kind != Service.kind or not is_of_node or not isinstance(command, list | tuple):
            continue
        words = [*map(str, command)]
        end = words.index("--") + 1 if "--" in words else 0
        runner, arguments = words[:end], tuple(arguments_of(words[end + 1 :]))
        for path in [each.value for each in arguments if each.name == "kubeconfig"]:
            more = [word.removeprefix(ARGUMENTS_FROM) for word in runner if word.startswith(ARGUMENTS_FROM)]
            return Kubelet(
                PureWindowsPath(path),
                tuple(each for each in arguments if each.name in (_OVERRIDE, _CLOUD)),
                PureWindowsPath(more[-1]) if more else None,
            )
    return None


def identity(host: Host, kubelet: Kubelet) -> tuple[str, Access]:
    """Return the name of the kubelet's Node, and how this machine asks as it. Raises Failed, HostError,
    Unknown.
    """
    access = access_of(host, kubelet)
    return _node_name(host, kubelet, access), access


def access_of(host: Host, kubelet: Kubelet) -> Access:
    """Return how this machine asks as the kubelet. Raises Failed, HostError, Unknown."""
    path = kubelet.kubeconfig
    return access_by(host, path, f"{path} is not there yet: the kubelet has no credentials")


def access_by(host: Host, path: PureWindowsPath, missing: str) -> Access:
    """Return how a kubeconfig lets it ask; `missing` says that it cannot yet. Raises Failed, HostError,
    Unknown.
    """
    try:
        own = node_credentials.own_kubeconfig(host, path)
    except node_credentials.OpenToUsers as fault:
        raise Unknown(str(fault)) from fault
    if own is None:
        raise Unknown(missing)
    return node_credentials.access(host, own, path)


def _node_name(host: Host, kubelet: Kubelet, access: Access) -> str:
    """Return the name of the Node as the kubelet finds it, which asks for a certificate of that name. Raises
    HostError, Unknown.

    The certificate itself is read only of a kubelet that its own cloud provider names: `cryptography` keeps
    11 MB, and nothing else of what this service does needs it.
    """
    arguments = (*kubelet.naming, *_more_arguments(host, kubelet.arguments_file))
    registration = NodeRegistration(kubelet_extra_args=arguments)
    if registration.extra_argument(_CLOUD) not in (None, "", "external"):
        return _certified_name(kubelet, access)
    name = node_name(registration, host.facts.host_name())
    if fault := node_names.fault(name):
        raise Unknown(f"the kubelet's --{_OVERRIDE}, or else this machine's name: {fault}")
    return name


def _more_arguments(host: Host, path: PureWindowsPath | None) -> tuple[Argument, ...]:
    """Return what stands in that file; where nothing does, the kubelet is started without. Raises HostError,
    Unknown.
    """
    if path is None or host.files.observe(path) is None:
        return ()
    try:
        return arguments_in(str(path), host.files.read(path))
    except NoArguments:
        return ()
    except OpenQuote as fault:
        raise Unknown(
            f"{path}: a quote in it is never closed; close it: no kubelet starts with that"
        ) from fault


def _certified_name(kubelet: Kubelet, access: Access) -> str:
    certificate = access.own_certificate()
    name = common_name(certificate) if certificate else ""
    if not name.startswith(_NODE):
        raise Unknown(f"{kubelet.kubeconfig} has no certificate of a node's (system:node:NAME)")
    return name.removeprefix(_NODE)


def proxies_of(host: Host) -> Proxies:
    """As the machine has them now: this process may have begun before it was given them."""
    return of_environment({**os.environ, **host.environment.list()})


class Asking(ABC):
    """As whom somebody asks, and whom he tells, by a signal, that there is something new."""

    def __init__(self, host: Host, signals: Signals, source: Source) -> None:
        self._host = host
        self._signals = signals
        self._source = source

    @abstractmethod
    def identity(self) -> tuple[str, Access]:
        """The Node's name, and how to ask. Raises Failed, HostError, Unknown."""

    def proxies(self) -> Proxies:
        return proxies_of(self._host)

    def tell(self) -> None:
        self._signals.put(Signal(self._source))


class AsKubelet(Asking):
    """Asks by the kubelet's kubeconfig, as soon as there is one."""

    _kubelet: Kubelet | None = None
    _watchers: Sequence["Watcher"] = ()

    @property
    def trouble(self) -> str | None:
        """Why nothing is heard of it just now."""
        return next((watcher.trouble for watcher in self._watchers if watcher.trouble), None)

    def follow(self, kubelet: Kubelet | None) -> None:
        """As this kubelet from now on; None for nothing any more."""
        if kubelet == self._kubelet:
            return
        for watcher in self._watchers:
            watcher.stop()
        self._kubelet = kubelet
        self._watchers = self._begin(kubelet)

    @abstractmethod
    def _begin(self, kubelet: Kubelet | None) -> Sequence["Watcher"]:
        """Forget what was seen, and watch as this kubelet; None for nothing any more."""

    def identity(self) -> tuple[str, Access]:
        """Raises Failed, HostError, Unknown."""
        if self._kubelet is None:
            raise Unknown("this machine is no node")
        return identity(self._host, self._kubelet)


class Cluster(AsKubelet):
    def __init__(self, host: Host, followed: Followed, signals: Signals) -> None:
        super().__init__(host, signals, Source.CLUSTER)
        self._followed = followed
        self.config_map: Seen | None = None
        """None until anything is known of it."""
        self.node: Node | None = None
        self.pins: frozenset[str] = frozenset()
        """Of the authorities that the cluster is known by: the kubelet's kubeconfig has them. Empty where
        nothing has to be signed: `cryptography`, which computes them, keeps 11 MB.
        """

    def identity(self) -> tuple[str, Access]:
        """Raises Failed, HostError, Unknown."""
        name, access = super().identity()
        if self._followed.key:
            self.pins = pins_in(access.authorities, access.name)
        return name, access

    def _begin(self, kubelet: Kubelet | None) -> Sequence["Watcher"]:
        self.config_map = self.node = None
        if kubelet is None:
            return ()
        name, config_maps = self._followed.name, f"/api/v1/namespaces/{self._followed.namespace}/configmaps"
        return (
            Watcher(self, lambda _: (config_maps, name), only(self._take_config_map), allowed_by=_RIGHTS),
            Watcher(self, lambda node: (NODES, node), only(self._take_node)),
        )

    def _take_config_map(self, name: str, thing: Object | None) -> None:  # noqa: ARG002 - it is always that one
        self._changed(config_map=Seen(thing))

    def _take_node(self, name: str, thing: Object | None) -> None:
        """One that is deleted says nothing: its kubelet makes it anew, and until then it is as it was."""
        if thing is not None:
            uid = text_at(thing, "metadata", "uid")
            self._changed(node=Node(name, uid, texts_at(thing, *_LABELS), texts_at(thing, *_ANNOTATIONS)))

    def _changed(self, **seen: Seen | Node) -> None:
        for name, value in seen.items():
            if getattr(self, name) != value:
                setattr(self, name, value)
                self.tell()


def only(take: Callable[[str, Object | None], None]) -> Take:
    """Takes the one that is watched; None where there is none."""
    return lambda node, state: take(node, next(iter(state.values()), None))


class Watcher:
    """One watch, and the thread that waits at it; whatever it fails by, it is begun again."""

    def __init__(
        self,
        cluster: Asking,
        subject: Callable[[str], tuple[str, str]],
        take: Take,
        keep: Callable[[Object], Object] = whole,
        allowed_by: str = "",
    ) -> None:
        """`subject` is the collection, and the name in it, by the name of the node; no name for all in it.

        `take` is given the node's name, and what there is, of which `keep` leaves what counts. Nodes have the
        right to it by `allowed_by`.
        """
        self._cluster = cluster
        self._subject = subject
        self._take = take
        self._keep = keep
        self._allowed_by = allowed_by
        self._over = threading.Event()
        self._taking = threading.Lock()
        """Who stops it waits for what is being taken, and nothing is taken after that."""
        self._way: tuple[str, Access, Proxies] | None = None
        self._following: Following | None = None
        self.trouble: str | None = None
        """Why nothing is heard, and what to do."""
        self._is_forbidden = False
        """What it is in trouble by: then somebody has to allow it."""
        self.backoff = Backoff(_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
        """After a failure."""
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        """What it says from now on is not heard."""
        with self._taking:
            self._over.set()
        if self._following is not None:
            self._following.stop()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._follow()
            except Exception as fault:  # noqa: BLE001 - whatever it is, it is to be followed further on
                known = isinstance(fault, Failed | HostError | Unknown)
                text = str(fault) if known else f"unexpected {type(fault).__name__} (please report it)"
                self._note(text, is_forbidden=isinstance(fault, Forbidden))
                self._over.wait(self.backoff.next())

    def _follow(self) -> None:
        """For as long as the credentials need not be looked at again: they are renewed every now and then."""
        identity = self._cluster.identity()
        way = (*identity, self._cluster.proxies())
        if way != self._way or self._following is None:
            self._following = self._begun(*way)
            self._way = way
        if self._over.is_set():
            return
        is_seen = False
        try:
            for state in self._following.states(SAME_CREDENTIALS_SECONDS):
                self._following.let_go()  # for minutes nothing else is asked
                with self._taking:
                    if self._over.is_set():
                        return
                    self._take(identity[0], state)
                is_seen = True
        except Forbidden:
            if not is_seen:
                raise
            # Some may list, and not watch: they look now and then.
            self._following = None
            self._over.wait(_LOOK_AGAIN_SECONDS)

    def _begun(self, node: str, access: Access, proxies: Proxies) -> Following:
        path, name = self._subject(node)
        client = Client(access, proxies=proxies)
        fields = f"metadata.name={name}" if name else ""
        return Following(client, path, fields=fields, keep=self._keep, notice=self._note, heard=self._heard)

    def _note(self, fault: str, *, is_forbidden: bool = False) -> None:
        is_new = self.trouble is None or is_forbidden != self._is_forbidden
        self._is_forbidden = is_forbidden
        advice = f"; {self._allowed_by} allows it" if is_forbidden and self._allowed_by else ""
        self.trouble = f"{fault}{advice}"
        if is_new and not self._over.is_set():
            self._cluster.tell()

    def _heard(self) -> None:
        # What it was refused long ago says nothing of a certificate that is over now.
        self.backoff.reset()
        was_there, self.trouble = self.trouble is not None, None
        if was_there:
            self._cluster.tell()
