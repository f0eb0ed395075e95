"""The pods' network of this machine, and a route to that of each other node, as Nodes come and go.

One watch on all Nodes, of which it keeps three fields, with the kubelet's own credentials. What is made is a
part of its own of what is on the machine. While the cluster cannot be reached all stays as it was.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from agent.backoff import Backoff
from agent.engine.inventory import Inventory
from agent.engine.parts import ROUTED
from agent.engine.run import TakenBack, make_so
from agent.engine.state_folder import StateFolder
from agent.host.port import Host
from agent.kube.answers import Object, at, items_at, text_at
from agent.kube.client import NODES, State
from agent.resources.kind import CannotBeSo
from agent.sources.node_configuration.pod_network import TITLE, Node, pod_network
from agent.spec import Key, Specification
from agent.spec.machine import POD_NETWORK
from agent.spec.networks import Route
from service.cluster import AsKubelet, Kubelet, Watcher, kubelet_of
from service.errors import why
from service.telling import Event, Telling
from service.watching import LettingGo
from service.work_queue import Signals, Source

_PATIENCE_SECONDS = 60.0
"""A new Node has no podCIDR yet, nor an address: that is told of one that stays so."""
_UNREACHABLE, _NOT_MADE = "nodes unreachable", "pod network"
_SHOWN = 5
_RIGHTS = "packaging/manifests/pod-network"


class Nodes(AsKubelet):
    """All there are, and which of them is this machine's."""

    def __init__(self, host: Host, signals: Signals) -> None:
        super().__init__(host, signals, Source.NODES)
        self.seen: tuple[str, State] | None = None
        """The name of the machine's own, and what there is; None until anything is known."""

    def _begin(self, kubelet: Kubelet | None) -> Sequence[Watcher]:
        self.seen = None
        if kubelet is None:
            return ()
        return (Watcher(self, lambda _: (NODES, ""), self._take, what_counts, allowed_by=_RIGHTS),)

    def _take(self, name: str, state: State) -> None:
        self.seen = (name, state)
        self.tell()


def what_counts(thing: Object) -> Object:
    """Of a Node."""
    addresses = items_at(thing, "status", "addresses")
    metadata = {name: text_at(thing, "metadata", name) for name in ("name", "creationTimestamp")}
    return {
        "metadata": {**metadata},
        "networks": items_at(thing, "spec", "podCIDRs"),
        "addresses": [at(each, "address") for each in addresses if at(each, "type") == "InternalIP"],
    }


def _node(thing: Object) -> Node:
    return Node(
        text_at(thing, "metadata", "name"),
        text_at(thing, "metadata", "creationTimestamp"),
        [str(each) for each in items_at(thing, "networks")],
        [str(each) for each in items_at(thing, "addresses")],
    )


class Routing:
    """Works in the one thread that decides."""

    def __init__(self, host: Host, nodes: Nodes, telling: Telling) -> None:
        self._host = host
        self._nodes = nodes
        self._telling = telling
        self._left_out = _LeftOut(telling)
        self._made: tuple[Specification, str] | None = None
        """What was wanted last and made so, and the run whose inventory has it."""
        self._failed: Specification | None = None
        self._aside: dict[Key, str] = {}
        """Routes that could not be made, and why: they keep no other from being made."""
        self._try_again_at: float | None = None
        """What has failed."""
        self._backoff = Backoff(10.0, 600.0)
        self.again_seconds: float | None = None
        """When there is something to do though nothing has happened."""

    def look(self, inventory: Inventory) -> None:
        """At whether it is wanted, and whether the Nodes are heard of."""
        is_wanted = POD_NETWORK in inventory.records
        self._nodes.follow(kubelet_of(inventory) if is_wanted else None)
        if (trouble := self._nodes.trouble) is None:
            self._telling.is_over(_UNREACHABLE)
        elif not self._telling.stands(_UNREACHABLE):
            text = f"the Nodes cannot be followed: {trouble}; until then the pod network stays as it is"
            self._telling.tell_once(_UNREACHABLE, Event.UNROUTED, text)

    def adopt(self, inventory: Inventory, let_go: Callable[[], None]) -> bool:
        """Makes it so; whether anything may have been changed. `let_go` is called before a change that
        watches hinder. Raises Busy, Unfinished and HostError before that.
        """
        now = self._host.clock.monotonic()
        if self._try_again_at is not None and now >= self._try_again_at:
            self._aside, self._failed, self._try_again_at = {}, None, None
        wanted, left_out = self._wanted(inventory)
        is_begun = False
        if wanted is not None:
            wanted = _without(wanted, self._aside)
            if wanted != self._failed and (wanted, inventory.run) != self._made:
                is_begun = self._make(wanted, inventory, LettingGo(let_go))
        self._left_out.are({**left_out, **{str(key): fault for key, fault in self._aside.items()}}, now)
        times = [time for time in (self._try_again_at, self._left_out.due) if time is not None]
        self.again_seconds = max(0.0, min(times) - now) if times else None
        return is_begun

    def _wanted(self, inventory: Inventory) -> tuple[Specification | None, Mapping[str, str]]:
        """None where that is not known; and what is left out, and why."""
        record = inventory.records.get(POD_NETWORK)
        if record is None:
            return Specification() if ROUTED in inventory.origins else None, {}
        if self._nodes.seen is None:
            return None, {}
        name, state = self._nodes.seen
        addresses = [
            (each.interface, f"{each.address}/{each.prefix_length}") for each in self._host.facts.addresses()
        ]
        nodes = [_node(thing) for thing in state.values()]
        found = pod_network(str(record.target.wanted["data"]), name, nodes, addresses)
        if found.specification is None:
            return None, found.left_out
        others = dict(self._made_by_others(found.specification, inventory))
        told = {str(key): fault for key, fault in others.items() if fault}
        return _without(found.specification, others), {**found.left_out, **told}

    def _made_by_others(self, wanted: Specification, inventory: Inventory) -> Iterator[tuple[Key, str]]:
        """Routes to where somebody else has made one, which stays; and what there is to say of it."""
        own = {key for key, record in inventory.records.items() if ROUTED in record.parts}
        there = {}
        for each in self._host.routes.list():
            if Route(each.destination, each.gateway).key not in own:
                there[each.destination] = each.gateway
        for want in wanted.wants:
            if isinstance(want, Route) and want.key not in own and want.destination in there:
                over = there[want.destination]
                yield want.key, "" if over == want.gateway else f"somebody has made one over {over}"

    def _make(self, wanted: Specification, inventory: Inventory, progress: LettingGo) -> bool:
        """Whether anything may have been changed."""
        known = self._made and self._made[1]
        try:
            self._make_what_can_be(wanted, inventory, progress)
        except (TakenBack, CannotBeSo) as fault:
            text = f"the pod network cannot be made so: {why(fault)}"
            self._telling.tell_once(_NOT_MADE, Event.UNROUTED, text)
            self._failed = wanted
            self._try_later()
            return isinstance(fault, TakenBack)
        self._telling.is_over(_NOT_MADE)
        self._made = (_without(wanted, self._aside), Inventory.load(StateFolder.of(self._host)).run)
        if self._aside:
            self._try_later()
        else:
            self._backoff.reset()
        return self._made[1] != known

    def _make_what_can_be(self, wanted: Specification, inventory: Inventory, progress: LettingGo) -> None:
        """One route that cannot be made, as to a Node with a strange address, keeps no other from being made.
        Raises CannotBeSo, TakenBack.
        """
        try:
            self._run(wanted, progress)
        except TakenBack:
            new = [each for each in wanted.wants if isinstance(each, Route)]
            new = [each for each in new if each.key not in inventory.records]
            if not new:
                raise
            self._run(_without(wanted, {each.key for each in new}), progress)
            for route in new:
                try:
                    self._run(Specification((route,), title=TITLE), progress, beside=True)
                except TakenBack as failure:
                    self._aside[route.key] = why(failure)

    def _run(self, wanted: Specification, progress: LettingGo, *, beside: bool = False) -> None:
        done = make_so(self._host, wanted, progress, part=ROUTED, beside=beside, is_resident=True)
        if changes := [f"{each.action.value} {each.target.key}" for each in done.plan.changes]:
            more = f", and {len(changes) - _SHOWN} more" if changes[_SHOWN:] else ""
            self._telling.note(f"by the Nodes there are: {', '.join(changes[:_SHOWN])}{more}")
        for line in done.left:
            self._telling.note(line)

    def _try_later(self) -> None:
        if self._try_again_at is None:
            self._try_again_at = self._host.clock.monotonic() + self._backoff.next()


class _LeftOut:
    """Whom pods here do not reach, and why; told once."""

    def __init__(self, telling: Telling) -> None:
        self._telling = telling
        self._since: dict[str, tuple[str, float]] = {}
        self.due: float | None = None
        """When one has stayed so for long enough to be told."""

    def are(self, reasons: Mapping[str, str], now: float) -> None:
        for who in set(self._since) - set(reasons):
            del self._since[who]
            self._telling.is_over((_NOT_MADE, who))
        self.due = None
        for who, reason in reasons.items():
            known, since = self._since.get(who, ("", now))
            self._since[who] = (reason, since if known == reason else now)
            due = self._since[who][1] + _PATIENCE_SECONDS
            if now >= due:
                self._telling.tell_once((_NOT_MADE, who), Event.UNROUTED, f"{who} is left out: {reason}")
            else:
                self.due = due if self.due is None else min(due, self.due)


def _without(wanted: Specification, keys: Iterable[Key]) -> Specification:
    left = set(keys)
    wants = tuple(want for want in wanted.wants if want.key not in left)
    return replace(wanted, wants=wants)
