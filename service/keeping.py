"""Keeps a machine as it was made: looks when there is a reason to, and has the engine repair what differs.

There is no second way to change a machine here, and no looking without a reason: it sleeps until something
is signalled or a time has come.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.backoff import Backoff
from agent.engine.inventory import Inventory
from agent.engine.machine_lock import Busy, check_free, give_way
from agent.engine.parts import ROUTED
from agent.engine.progress import Silent
from agent.engine.repairing import drifted, put_by, repair
from agent.engine.run import Unfinished, take_back_part
from agent.engine.state_folder import StateFolder
from agent.engine.target import Record
from agent.host.errors import HostError
from agent.host.port import Host
from agent.private_keys import sweep
from agent.resources import kind_named
from agent.resources.kind import CannotBeSo
from agent.spec import Key
from agent.spec.machine import POD_NETWORK
from service import pausing
from service.health import Health, Hung
from service.pausing import Pause
from service.renewals import Renewals
from service.repairs import FULL_LOOK_SECONDS, TROUBLE_SECONDS, Repairs
from service.telling import Event, Telling
from service.watching import Watches
from service.work_queue import Agenda, Errand, Signal, Signals, Source

if TYPE_CHECKING:
    from agent.artifacts.means import Means
    from service.container_programs import ContainerPrograms
    from service.mending import Mending
    from service.program import Log, Wishing
    from service.routing import Routing


_CONTAINER_PROGRAM = "container_program"
_FILES = ("file", "containerd_configuration")
"""Kinds of which one is known by its path."""
SETTLE_SECONDS = 0.1
"""An editor writes a file in several steps."""
_ROUTING_SETTLE_SECONDS = 1.0
"""A switch that is put on an adapter, or a lease that ends, takes routes away and brings them back."""
_AFTER_A_RUN_SECONDS = 0.5
_COPIES_AFTER_SECONDS = 5.0
"""Whoever has just ended a run may begin another."""
_NOT_TAKEN_BACK = "not taken back"


class Wishes:
    """What a cluster wants of the machine, and what is done about it: nothing where none is followed."""

    again_seconds: float | None = None
    """When there is something to do though nothing has happened."""

    @property
    def pause(self) -> str | None:
        """Who wants nothing to be changed or repaired, and why; None for nobody."""
        return None

    @property
    def files(self) -> Sequence[PureWindowsPath]:
        """What it goes by beside the cluster: a change of one is a reason to adopt."""
        return ()

    @property
    def trouble(self) -> str | None:
        """Why nothing is heard of the cluster just now; None where it is."""
        return None

    def look(self, inventory: Inventory) -> None:
        """At what the cluster says. Changes nothing of the machine. Raises HostError, CannotBeSo."""

    def adopt(self, inventory: Inventory, let_go: Callable[[], None]) -> bool:  # noqa: ARG002
        """Makes it so, if it is time for that; whether that was begun. `let_go` is called before a change
        that watches hinder. Raises Busy, Unfinished and HostError before that.
        """
        return False

    def take_back(self, hung: Mapping[Key, Hung], inventory: Inventory, let_go: Callable[[], None]) -> bool:  # noqa: ARG002
        """What was made so shortly before these became ill that it may be why; whether that was begun.
        Raises Busy, Unfinished and HostError before that.
        """
        return False

    def cut_off(self, part: str) -> None:
        """A run about this part never came to its end, and was taken back."""

    def report(self, *, is_paused: bool) -> None:
        """What became of it, to the cluster."""


class Keeping:
    """Works in one thread; `signals` say why."""

    def __init__(
        self,
        host: Host,
        signals: Signals,
        telling: Telling,
        watches: Watches,
        wishes: Wishes | None = None,
        mending: Callable[[], Mending] | None = None,
    ) -> None:
        """`wishes` where a cluster says how the machine is to be, beside what it was made; `mending` makes
        what fetches large contents again.
        """
        self._host = host
        self._signals = signals
        self._telling = telling
        self._folder = StateFolder.of(host)
        self._watches = watches
        self._wishes = wishes or Wishes()
        self._agenda = Agenda[Key | Errand](host.clock)
        self._health = Health(host)
        self._renewals = Renewals(host)
        self._containers: ContainerPrograms | None = None
        self._repairs = Repairs(host, telling, self._agenda, self._renewals, mending)
        self._inventory = Inventory()
        self._records: Mapping[Key, Record] = {}
        self._run: str | None = None
        self._routing: Routing | None = None
        self._stepping_aside = Backoff(0.1, 2.0)
        self._agenda.after(0.0, Errand.ALL)

    def run(self) -> None:
        """Until the signals end."""
        while not self._signals.has_ended:
            self.turn()
        self._watches.follow((), ())

    def turn(self) -> None:
        """Waits for a reason, and sees to it."""
        for signal in self._signals.take(self._agenda.left()):
            self._note(signal)
        due = self._agenda.due()
        if self._signals.has_ended or not due:
            return
        try:
            self._see_to(due)
            self._stepping_aside.reset()
            if Errand.ALL in due:  # a look at one thing alone says nothing of the others
                self._telling.is_over(Event.TROUBLE)
                self._telling.is_over(Event.UNFINISHED)
        except Busy:
            self._step_aside()
        except Unfinished as fault:
            self._telling.tell_once(Event.UNFINISHED, Event.UNFINISHED, f"nothing is repaired: {fault}")
            self._agenda.after(TROUBLE_SECONDS, Errand.ALL)
        except (HostError, CannotBeSo) as fault:
            self._trouble(str(fault))
        except Exception as fault:  # noqa: BLE001 - whatever it is, the node is to be kept further on
            self._trouble(
                f"unexpected {type(fault).__name__}: {' '.join(str(fault).split())} (please report it)"
            )

    # Reasons

    def _note(self, signal: Signal) -> None:
        if signal.source is Source.ASKED:
            self._agenda.after(0.0, Errand.ALL)
        elif signal.source is Source.NODES:
            self._agenda.after(SETTLE_SECONDS, Errand.NODES)
        elif signal.source in (Source.CLUSTER, Source.CONTENTS):
            self._agenda.after(0.0, Errand.CLUSTER)
        elif signal.source is Source.FILE:
            self._note_path(PureWindowsPath(signal.subject))
        else:
            for key, seconds in self._told_of(signal):
                self._agenda.after(seconds, key)

    def _told_of(self, signal: Signal) -> Iterator[tuple[Key, float]]:
        """What may be otherwise now, and how soon to look at it."""
        if signal.source is Source.SERVICE:
            for key in (Key("service", signal.subject), *Renewals.kept(signal.subject, self._records)):
                yield key, 0.0
        for key in self._records:
            kind = kind_named(key.kind)
            if signal.source is Source.ROUTING:
                if kind.is_routing:
                    yield key, _ROUTING_SETTLE_SECONDS
            elif signal.source is Source.SERVICE:
                if signal.subject in kind.services(key.name):
                    yield key, SETTLE_SECONDS
            elif signal.subject in kind.registry_keys(key.name):
                yield key, SETTLE_SECONDS

    def _note_path(self, path: PureWindowsPath) -> None:
        own = self._folder.path
        if path == own or path.parent == own:
            self._agenda.after(0.0, Errand.OWN)
        if path in self._wishes.files:
            self._agenda.after(SETTLE_SECONDS, Errand.CLUSTER)
        folders = [Key("directory", str(each)) for each in (path, path.parent)]
        files = [Key(kind, str(path)) for kind in _FILES]
        for key in (*files, *folders):
            if key in self._records:
                self._agenda.after(SETTLE_SECONDS, key)

    # What is done

    def _see_to(self, due: set[Key | Errand]) -> None:
        check_free(self._host)
        is_new = self._read_memory()
        self._wishes.look(self._inventory)
        if self._is_paused():
            self._wishes.report(is_paused=True)
            return
        self._take_back()
        if self._has_resumed() or is_new:
            due = {Errand.ALL, *due}
        if Errand.ALL in due:
            self._follow_all()  # before the look: what happens after it is told
        hung = self._health.hung(self._records.values()) if Errand.HEALTH in due else {}
        if hung:
            hung = self._without_what_a_change_harmed(hung)
        self._renewals.look(self._records)
        bereft = self._renewals.due(self._records)
        self._note_bereft_containers()  # before the look, which may come to nothing
        if Errand.ALL in due:
            self._tell_what_is_kept()
        keys = self._chosen(due)
        if keys is None or keys or hung or bereft:
            self._look(keys, hung, bereft)
        give_way(self._host)  # what is left is looked at again when the command has ended
        self._end_bereft_containers()
        if Errand.COPIES in due:
            put_by(self._host)
        self._put_down_what_comes_again(due)
        self._do_what_is_wanted(due)
        self._wishes.report(is_paused=False)

    def _take_back(self) -> None:
        """A run of our own that was cut off: what it was to make is seen anew."""
        undone = take_back_part(self._host, Silent())
        if undone is not None:
            self._wishes.cut_off(undone.part)
        if undone is not None and undone.trouble:
            text = f"a change that was cut off cannot be taken back: {'; '.join(undone.trouble)}"
            self._trouble(text, _NOT_TAKEN_BACK)
        else:
            self._telling.is_over(_NOT_TAKEN_BACK)

    def _do_what_is_wanted(self, due: set[Key | Errand]) -> None:
        """By the cluster, and what the Nodes in it make necessary."""
        is_adopted = not due.isdisjoint((Errand.ALL, Errand.CLUSTER)) and self._adopt()
        if not is_adopted and not due.isdisjoint((Errand.ALL, Errand.NODES)):
            self._route()

    def _adopt(self) -> bool:
        """Whether it was begun: then all is looked at anew."""
        if self._wishes.adopt(self._inventory, self._let_go):
            self._go_on_after_a_run()
            return True
        if self._wishes.again_seconds is not None:
            self._agenda.after(self._wishes.again_seconds, Errand.CLUSTER)
        return False

    def _go_on_after_a_run(self) -> None:
        self._remember(Inventory.load(self._folder))
        self._repairs.starts.clear()
        self._watches.renew()  # a service that had gone may be there again
        self._follow_all()
        # What it has made was looked at by its own run, and whoever changes one thing may change another.
        self._agenda.after(_AFTER_A_RUN_SECONDS, Errand.ALL)
        self._agenda.after(0.0, Errand.COPIES)

    def _without_what_a_change_harmed(self, hung: Mapping[Key, Hung]) -> Mapping[Key, Hung]:
        """What is well again without that change need not be restarted."""
        if not self._wishes.take_back(hung, self._inventory, self._let_go):
            return hung
        self._health.seen_to(hung)
        self._go_on_after_a_run()
        return self._health.still(hung, self._records.values())

    def _route(self) -> None:
        """Nothing of it is loaded where no document wants it."""
        if self._routing is None:
            if POD_NETWORK not in self._records and ROUTED not in self._inventory.origins:
                return
            from service.routing import Nodes, Routing  # noqa: PLC0415 - requests, 17 MB

            nodes = Nodes(self._host, self._signals)
            self._routing = Routing(self._host, nodes, self._telling)
        self._routing.look(self._inventory)
        if self._routing.adopt(self._inventory, self._let_go):
            # What it has made was looked at by its own run: else each Node would have all looked at.
            self._remember(Inventory.load(self._folder))
            self._follow_all()
            self._agenda.after(_COPIES_AFTER_SECONDS, Errand.COPIES)
        if self._routing.again_seconds is not None:
            self._agenda.after(self._routing.again_seconds, Errand.NODES)

    def _chosen(self, due: set[Key | Errand]) -> set[Key] | None:
        """None for everything."""
        if Errand.ALL in due:
            return None
        # Windows does not tell that somebody has reconfigured a service.
        services = self._services() if Errand.HEALTH in due else ()
        return {each for each in due if isinstance(each, Key)} | {Key("service", name) for name in services}

    def _put_down_what_comes_again(self, due: set[Key | Errand]) -> None:
        if Errand.ALL in due:
            self._agenda.after(FULL_LOOK_SECONDS, Errand.ALL)
            self._agenda.after(_COPIES_AFTER_SECONDS, Errand.COPIES)
        if (seconds := self._health.again_seconds(self._records.values())) is not None:
            self._agenda.after(seconds, Errand.HEALTH)

    def _follow_all(self) -> bool:
        """Whether something may have happened that is told no more."""
        kinds = [(kind_named(key.kind), key.name) for key in self._records]
        others = (each for kind, name in kinds for each in kind.services(name))
        services = dict.fromkeys([*self._services(), *Renewals.services(self._records), *others])
        keys = dict.fromkeys(each for kind, name in kinds for each in kind.registry_keys(name))
        routing = any(kind.is_routing for kind, _ in kinds)
        return self._watches.follow(services, self._places(), keys, routing=routing)

    def _let_go(self) -> None:
        """Of all but what tells when there is something to do again."""
        self._watches.follow((), self._own_places)

    @property
    def _own_places(self) -> Sequence[PureWindowsPath]:
        return (self._folder.path.parent, self._folder.path)

    def _services(self) -> Iterable[str]:
        return [
            key.name
            for key, record in self._records.items()
            if key.kind == "service" and "state" in record.target.wanted
        ]

    def _places(self) -> Iterable[PureWindowsPath]:
        kinds = (*_FILES, "directory")
        places = [PureWindowsPath(key.name).parent for key in self._records if key.kind in kinds]
        others = [path.parent for path in self._wishes.files]
        return dict.fromkeys([*self._own_places, *others, *places])

    def _read_memory(self) -> bool:
        """Whether it says something else than before."""
        self._folder.check()
        inventory = Inventory.load(self._folder)
        is_new = inventory.run != self._run
        if is_new:
            self._watches.renew()  # all of it may have been taken away, and made again
            self._remember(inventory)
            self._repairs.starts.clear()
        return is_new

    def _remember(self, inventory: Inventory) -> None:
        self._inventory, self._run = inventory, inventory.run
        self._records = {key: record for key, record in inventory.records.items() if not record.is_leaving}

    def _tell_what_is_kept(self) -> None:
        """What happens to it from now on is seen."""
        if self._records:
            services = ", ".join(self._services()) or "no service"
            text = f"keeping {services} and {len(self._records)} resources in all as they were made"
            self._telling.tell_once(Event.KEEPING, Event.KEEPING, text)
        else:
            self._telling.is_over(Event.KEEPING)

    def _is_paused(self) -> bool:
        by_cluster = self._wishes.pause
        pause = pausing.read(self._host)
        if pause is None and by_cluster is None:
            return False
        self._agenda.clear()
        self._let_go()
        self._tell_what_is_kept()
        why = self._end_of_pause(pause) if pause is not None else by_cluster
        self._telling.tell_once(Event.PAUSED, Event.PAUSED, f"nothing is repaired during the pause: {why}")
        # Once more: of what came before the watch for its end had begun nobody tells.
        pause = pausing.read(self._host)
        if pause is None and by_cluster is None:
            return False
        if pause is not None and pause.until is not None:
            left = max(0.0, pause.until - self._host.clock.now())
            # Somebody may set the clock.
            self._agenda.after(min(left, FULL_LOOK_SECONDS), Errand.ALL)
        return True

    def _has_resumed(self) -> bool:
        was_paused = self._telling.is_over(Event.PAUSED)
        if was_paused:
            self._health = Health(self._host)  # nobody has asked meanwhile, and so nobody knows since when
            self._telling.tell(Event.RESUMED, "what differs is repaired again")
        return was_paused

    def _step_aside(self) -> None:
        """Somebody else is at work here, and nothing tells when he has ended: that is asked."""
        self._let_go()
        self._agenda.after(self._stepping_aside.next(), Errand.ALL)

    def _trouble(self, text: str, topic: object = Event.TROUBLE) -> None:
        self._telling.tell_once(topic, Event.TROUBLE, text)
        self._agenda.after(TROUBLE_SECONDS, Errand.ALL)

    # Looking and repairing

    def _look(
        self, keys: Collection[Key] | None, hung: Mapping[Key, Hung], bereft: Mapping[Key, str]
    ) -> None:
        """What is `hung`, or `bereft` of what it told another program, is restarted in any case."""
        found = drifted(self._host, keys)
        chosen = self._repairs.due(keys, found, self._records)
        if not chosen and not hung and not bereft:
            return
        ends = self._repairs.ends(chosen)
        repaired = repair(
            self._host,
            Silent(),
            {drift.key for drift in chosen},
            restart={*hung, *bereft},
            is_ending=lambda: self._signals.has_ended,
        )
        self._health.seen_to({*hung} - {*repaired.postponed})
        self._repairs.tell_of_restarts(Event.HUNG, {key: each.how for key, each in hung.items()}, repaired)
        self._repairs.tell_of_restarts(Event.BEREFT, bereft, repaired)
        done = [drift for drift in chosen if drift.key not in repaired.postponed]
        self._repairs.tell_of(done, ends, repaired)
        if any(drift.is_missing for drift in done):
            self._watches.renew()
        if self._follow_all():
            self._agenda.after(_AFTER_A_RUN_SECONDS, Errand.ALL)
        for key in repaired.postponed:
            self._agenda.after(0.0, key)
        self._repairs.tidy()

    def _container_records(self) -> Mapping[Key, Record]:
        return {key: record for key, record in self._records.items() if key.kind == _CONTAINER_PROGRAM}

    def _note_bereft_containers(self) -> None:
        records = self._container_records()
        if records and self._containers is None:
            from service.container_programs import ContainerPrograms  # noqa: PLC0415 - 3 ms, and few documents have one

            self._containers = ContainerPrograms(self._host)
        if self._containers is not None:
            self._containers.note(records, self._renewals)

    def _end_bereft_containers(self) -> None:
        """After the look: what stands in their way is gone, and networks of ours are there."""
        if self._containers is None:
            return
        for key, why in self._containers.end_bereft(self._container_records()):
            self._telling.tell(Event.BEREFT, f"{key} was ended, and starts anew: {why}")
        if self._containers.again_seconds is not None:
            self._agenda.after(self._containers.again_seconds, Errand.NETWORKS)

    def _end_of_pause(self, pause: Pause) -> str:
        is_for_ever = pause.until is None
        return (
            f"it is ended by {self._host.called} daemon resume"
            if is_for_ever
            else "for a time that was given"
        )


def keep(
    signals: Signals,
    open_host: Callable[[], Host],
    open_log: Callable[[Host], Log],
    wishing: Wishing | None,
    metrics_port: int | None,
    means: Callable[[Host], Means] | None,
) -> None:
    """Keep this machine as it was made, until the service is asked to end."""
    host = open_host()
    sweep(host)
    telling = Telling(host, open_log(host))
    wishes = wishing(host, signals, telling) if wishing else None
    if metrics_port is not None:
        from service.metrics import answer_on  # noqa: PLC0415 - 0.4 MB, where metrics are asked for

        answer_on(metrics_port, host, signals, telling, wishes)
    mending = partial(_mending, host, signals, means) if means else None
    Keeping(host, signals, telling, Watches(host, signals), wishes, mending).run()


def _mending(host: Host, signals: Signals, means: Callable[[Host], Means]) -> Mending:
    """Return what fetches large contents again: most machines never need it."""
    from service.mending import Mending  # noqa: PLC0415 - 0.4 MB, for artifacts

    return Mending(host, signals, means(host))
