"""Makes a node what a ConfigMap wants of it: when, whether at all, and what is remembered of that.

What cannot be read, is not signed, or cannot be made leaves all as it is. Only `adopt` changes the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from agent.backoff import Backoff
from agent.engine.inventory import Inventory
from agent.engine.machine_lock import Busy
from agent.engine.parts import FOLLOWED
from agent.engine.planning import Plan
from agent.engine.run import Done, TakenBack, make_so, preview
from agent.engine.state_folder import StateFolder
from agent.host.port import Host
from agent.release import RELEASE
from agent.resources.kind import CannotBeSo
from agent.sources.node_configuration.compiling import Compiled, compile_node
from agent.sources.node_configuration.model import LOG_RUNNER, turn
from agent.spec import Key, Specification
from service.arguments import Followed
from service.cluster import Cluster, Node, kubelet_of
from service.contents import Contents
from service.desired import Desired, check_time, desired
from service.errors import Refused, told, why
from service.health import Hung, Soundness
from service.keeping import Wishes
from service.outcome import PAUSED, Outcome, has_nothing
from service.program_folder import hand_over_folder
from service.reporting import Report, Reports
from service.standing import State
from service.telling import Event, Telling
from service.watching import LettingGo
from service.work_queue import Signals

if TYPE_CHECKING:
    from agent.artifacts.means import Means
    from agent.kube.answers import Object
    from agent.sources.signatures import Binding, Phase
    from service.succeeding import Lag, Succeeding


_MOST_OBSTACLES = 10
_LONGEST_PAUSE_SECONDS = 600.0
_UNWELL_SECONDS = 30.0
"""Longer than a kubelet takes that starts anew: whoever is not well for so long is not waited for."""
_ASK_AGAIN_SECONDS = 1.0
_UNREACHABLE = "unreachable"


class Adopting(Wishes):
    """Works in the one thread that decides."""

    def __init__(
        self,
        host: Host,
        followed: Followed,
        cluster: Cluster,
        contents: Contents,
        reports: Reports,
        telling: Telling,
        succeed: Callable[[], Succeeding],
    ) -> None:
        """`succeed` makes what sees to another wmcb.exe, where one is wanted or tried."""
        self._host = host
        self._followed = followed
        self._cluster = cluster
        self._contents = contents
        self._reports = reports
        self._telling = telling
        self._succeed = succeed
        self._succeeding: Succeeding | None = None
        self._lag: Lag | None = None
        self._has_given_word = False
        self._outcome = Outcome(host, followed, telling)
        self._desired: Desired | None = None
        self._sight: object = None
        """What `_desired` was made of."""
        self._binding: Binding | None = None
        """Of what is seen, where it is signed; also where it is refused because of the time."""
        self._verified_run: str | None = None
        """The run whose inventory has all that is wanted, as was seen in a run of our own."""
        self._backoff = Backoff(10.0, _LONGEST_PAUSE_SECONDS)
        self._try_again_at: float | None = None
        """What could not be fetched."""
        self._is_tried = False
        """What is seen now; whoever looks for another reason does not try it."""
        self._unwell_since: float | None = None
        """A change has waited for the kubelet."""

    @property
    def pause(self) -> str | None:
        """Who wants nothing to be changed or repaired, and why; None for nobody."""
        return self._outcome.pause

    @property
    def trouble(self) -> str | None:
        return self._cluster.trouble

    def cut_off(self, part: str) -> None:
        """A run about this part never came to its end, and was taken back."""
        self._outcome.was_cut_off = self._outcome.was_cut_off or part == FOLLOWED

    def report(self, *, is_paused: bool) -> None:
        """To the cluster, as soon as that can be told."""
        now = self._outcome.standing
        if now.state is not State.WAITING and (is_paused or self._is_tried):
            state, text = "paused" if is_paused else now.state.value, str(self._followed)
            self._reports.put(Report(text, state, now.error, now.applied, now.version, RELEASE))
        self._give_word()

    def _give_word(self) -> None:
        """Where another wmcb.exe was in its place until now: this one follows the ConfigMap."""
        is_heard = None not in (self._cluster.node, self._cluster.config_map) and self.trouble is None
        if is_heard and not self._has_given_word:
            if self._host.files.observe(hand_over_folder(self._host)) is not None:
                self._succession().give_word()
            self._has_given_word = True

    def _succession(self) -> Succeeding:
        self._succeeding = self._succeeding or self._succeed()
        return self._succeeding

    # What there is to know

    def look(self, inventory: Inventory) -> None:
        """At what the cluster says. Changes nothing of the machine. Raises HostError, CannotBeSo."""
        kubelet = kubelet_of(inventory)
        self._cluster.follow(kubelet)
        if kubelet is None:
            self._outcome.forget()
            self._desired = self._binding = self._sight = None
            return
        self._outcome.remember()
        self._tell_of_trouble()
        node, seen = self._cluster.node, self._cluster.config_map
        if node is None or seen is None:
            return
        paused = node.annotations.get(PAUSED)
        self._outcome.stand(paused_by_node=None if paused in (None, "false") else paused)
        now, sight = self._host.clock.now(), (seen, node.name, node.labels, self._cluster.pins)
        if (*sight, self._phase(now)) != self._sight:
            self._desired = self._binding = self._unwell_since = None
            self._is_tried = False
            self._contents.try_again()
            if self._succeeding is not None:
                self._succeeding.try_again()
            self._backoff.reset()
            self._try_again_at = None
            if seen.thing is None:
                self._outcome.miss()
            else:
                self._read(seen.thing, node, now)
            self._sight = (*sight, self._phase(now))

    def _phase(self, now: float) -> Phase | None:
        """Whether it is the time for what is signed: it expires though nothing else changes."""
        return self._binding.phase(now) if self._binding is not None else None

    def _tell_of_trouble(self) -> None:
        if (trouble := self._cluster.trouble) is None:
            if self._telling.is_over(_UNREACHABLE):
                self._telling.note(f"the cluster can be reached again, and {self._followed} is followed")
                self._reports.again()
            if None not in (self._cluster.node, self._cluster.config_map):
                self._outcome.stand(unheard="")
            return
        self._outcome.stand(unheard=trouble)
        if not self._telling.stands(_UNREACHABLE):
            text = f"{self._followed} cannot be followed: {trouble}; until then all stays as it is"
            self._telling.tell_once(_UNREACHABLE, Event.UNREACHABLE, text)

    def _read(self, config_map: Object, node: Node, now: float) -> None:
        try:
            found = desired(self._followed, config_map, node.name, node.labels, self._cluster.pins)
            self._binding = found.binding
            check_time(self._followed, found, self._outcome.standing, now)
        except Refused as fault:
            self._outcome.refuse(str(fault))
            return
        self._desired = found
        if self._outcome.standing.state is not State.APPLIED:
            self._outcome.stand(state=State.PENDING, error="", turn=None)
        if found.binding is not None:
            self._outcome.stand(signed_at=found.binding.signed, signed_by=found.signed_by)
        self._outcome.stand(paused_by_document=found.pause)

    # What is to be done

    def adopt(self, inventory: Inventory, let_go: Callable[[], None]) -> bool:
        """Makes it so, if it is time for that; whether that was begun. `let_go` is called before a change
        that watches hinder. Raises Busy, Unfinished and HostError before that.
        """
        self._is_tried = True
        self.again_seconds = None
        if self._outcome.trial is not None and self._outcome.trial.is_over(self._host.clock.monotonic()):
            self._outcome.trial = None
        wanted = self._desired
        if wanted is None:
            return False
        self._lag = self._seen_to(wanted)
        if self._lag is None:
            return self._adopt(wanted, inventory, let_go)
        if self._lag.is_under_way:
            self._outcome.stand(state=State.PENDING, error=self._lag.text, turn=None)
            is_begun = False
        else:
            is_begun = self._adopt(wanted, inventory, let_go)
        again = [each for each in (self.again_seconds, self._lag.again_seconds) if each is not None]
        self.again_seconds = min(again, default=None)
        return is_begun

    def _seen_to(self, wanted: Desired) -> Lag | None:
        """To the program that is to keep the node: first, since it is stopped when another is begun."""
        is_known = self._host.files.observe(hand_over_folder(self._host)) is not None
        if wanted.with_program is None and not is_known:
            return None
        node = self._cluster.node
        assert node is not None
        return self._succession().see_to(wanted, node.name)

    def _adopt(self, wanted: Desired, inventory: Inventory, let_go: Callable[[], None]) -> bool:
        if self._is_so(wanted, inventory):
            return False
        if wanted.content == self._outcome.standing.failed:
            self._outcome.fail(self._outcome.standing.failed_by)
            return False
        due = self._due(wanted, inventory)
        if due is None:
            return False
        is_whole = due.digest == wanted.digest
        self._try_to_fetch_again()
        try:
            compiled = compile_node(due.documents, self._contents, str(self._followed))
            if not self._is_at_hand(compiled, is_whole=is_whole):
                if self._outcome.standing.state in (State.APPLIED, State.PENDING):
                    self._outcome.stand(state=State.PENDING, error=self._contents.hindrance)
                return False
        except Refused as fault:
            self._outcome.refuse(str(fault))
            if self._contents.has_failed:
                self._fetch_again_later()
            return False
        return self._make_so(due, compiled, inventory, let_go, is_whole=is_whole)

    def _is_so(self, wanted: Desired, inventory: Inventory) -> bool:
        if inventory.recipe_of(FOLLOWED) != wanted.digest or inventory.run != self._verified_run:
            return False
        self._outcome.made = wanted
        self._outcome.stand_as_applied(wanted, self._lag)
        return True

    def _due(self, wanted: Desired, inventory: Inventory) -> Desired | None:
        """As much of it as is to be made now; None for nothing.

        A node that has nothing yet has nothing to wait with.
        """
        was = inventory.recipe_of(FOLLOWED)
        if was == wanted.digest or has_nothing(inventory):
            return wanted
        node = self._cluster.node
        assert node is not None
        now, known = self._host.clock.now(), self._outcome.standing.documents
        others = [each for each in wanted.documents if each.digest not in known]
        turns = {each.digest: turn(node.name, each.rollout, now) for each in others}
        waiting = {digest: each for digest, each in turns.items() if not each.has_come}
        if not waiting:
            return wanted
        due = wanted.only(tuple(each for each in wanted.documents if each.digest not in waiting))
        if not was and due.documents:
            return due  # some of it awaits a restart of Windows, or did
        first = self._outcome.wait([each.at for each in waiting.values()])
        if first is not None:
            # Somebody may set the clock.
            self.again_seconds = min(max(0.0, first - now), _LONGEST_PAUSE_SECONDS)
        is_made = was == due.digest and inventory.run == self._verified_run
        return None if is_made or len(waiting) == len(turns) else due

    def _is_at_hand(self, compiled: Compiled, *, is_whole: bool) -> bool:
        """What is to be fetched, as far as it will be written. Raises Refused, HostError."""
        if compiled.specification is None:
            raise Refused(told(compiled.report.errors))
        if compiled.unwritten and self._host.files.observe(LOG_RUNNER) is None:
            raise Refused(told(compiled.unwritten))
        if not compiled.artifacts:
            return True  # the run plans for itself
        from agent.artifacts.stock import contents_of  # noqa: PLC0415 - 0.4 MB, for artifacts

        try:
            planned = preview(self._host, compiled.specification, part=FOLLOWED, beside=not is_whole)
        except CannotBeSo as fault:
            raise Refused(self._at_its_place(fault, compiled)) from fault
        return self._contents.at_hand(compiled.artifacts, contents_of(planned))

    def _at_its_place(self, fault: CannotBeSo, compiled: Compiled) -> str:
        origins = {key: compiled.origins.get(key) for key in fault.faults}
        if entries := [origin.error(fault.faults[key]) for key, origin in origins.items() if origin]:
            return told(entries, _MOST_OBSTACLES)
        return f"{self._followed}: {fault}"

    def _try_to_fetch_again(self) -> None:
        if self._try_again_at is not None and self._host.clock.monotonic() >= self._try_again_at:
            self._contents.try_again()
            self._try_again_at = None

    def _fetch_again_later(self) -> None:
        now = self._host.clock.monotonic()
        if self._try_again_at is None:
            self._try_again_at = now + self._backoff.next()
        self.again_seconds = self._try_again_at - now

    def _make_so(
        self,
        wanted: Desired,
        compiled: Compiled,
        inventory: Inventory,
        let_go: Callable[[], None],
        *,
        is_whole: bool,
    ) -> bool:
        """Whether it was begun. What was wanted before goes when the last document's turn has come."""
        specification = compiled.specification
        assert specification is not None
        if not self._outcome.may_begin(wanted):
            return False
        sound = Soundness(self._host, inventory.records.values())

        is_put_off = False
        try:
            beginning = _Beginning(lambda: self._wait_until_well(sound), let_go)
            done = self._run(specification, wanted.digest, beginning, sound.confirm, beside=not is_whole)
        except _NotNow:
            is_put_off, self.again_seconds = True, _ASK_AGAIN_SECONDS
            return False
        except Busy:
            is_put_off = True
            raise
        except TakenBack as failure:
            self._outcome.stand(failed=wanted.content)
            origin = compiled.origins.get(failure.at) if failure.at else None
            self._outcome.fail(told([origin.error(why(failure))]) if origin else why(failure))
            return True
        except CannotBeSo as fault:
            self._outcome.refuse(self._at_its_place(fault, compiled))
            return False
        else:
            self._outcome.put_on_trial(wanted, done, inventory, sound, is_whole=is_whole)
            self._stand_as_made(wanted, done, is_whole=is_whole)
        finally:
            if not is_put_off:
                self._outcome.stand(cut_off="", times=0)
        # What waits for a restart is looked at again when everything is, and not at once.
        return bool(done.plan.changes) or not done.awaiting

    def _run(
        self,
        wanted: Specification,
        recipe: str,
        progress: LettingGo,
        confirm: Callable[[], None] | None = None,
        *,
        beside: bool = False,
    ) -> Done:
        return make_so(
            self._host,
            wanted,
            progress,
            confirm,
            recipe=recipe,
            part=FOLLOWED,
            beside=beside,
            is_resident=True,
        )

    def take_back(self, hung: Mapping[Key, Hung], inventory: Inventory, let_go: Callable[[], None]) -> bool:
        """By making again what there was before, if all that it takes is at hand."""
        trial = self._outcome.trial
        if trial is None or inventory.recipe_of(FOLLOWED) != trial.wanted.digest:
            return False
        if (harm := trial.harm(hung)) is None:
            return False
        self._outcome.trial = None
        try:
            specification = self._specification_of(trial.former)
        except Refused as fault:
            self._telling.note(f"what there was before {self._followed} cannot be made again: {fault}")
            return False
        recipe = trial.former.digest if trial.former is not None else ""
        try:
            self._run(specification, recipe, LettingGo(let_go))
        except Busy:
            self._outcome.trial = trial  # it is still to be taken back when the command has ended
            raise
        except (TakenBack, CannotBeSo) as failure:
            self._telling.tell(Event.FAILED, f"{self._followed} could not be taken back: {why(failure)}")
            return isinstance(failure, TakenBack)
        self._outcome.made = trial.former
        self._verified_run = Inventory.load(StateFolder.of(self._host)).run
        was = trial.standing
        self._outcome.stand(
            applied=was.applied, version=was.version, documents=was.documents, failed=trial.wanted.content
        )
        self._outcome.fail(f"{harm}; taken back")
        return True

    def _specification_of(self, wanted: Desired | None) -> Specification:
        """Raises Refused."""
        if wanted is None:
            return Specification()
        compiled = compile_node(wanted.documents, self._contents, str(self._followed))
        if not self._is_at_hand(compiled, is_whole=True):
            raise Refused("it has to be fetched first")
        assert compiled.specification is not None
        return compiled.specification

    def _wait_until_well(self, sound: Soundness) -> None:
        """Raises _NotNow. What has not answered once may be as well as ever; what is not well for longer, the
        change may be to mend.
        """
        if sound.lack is None:
            self._unwell_since = None
            return
        now = self._host.clock.monotonic()
        if self._unwell_since is None:
            self._unwell_since = now
            self._telling.note(f"{self._followed} is made so when this is over, or has lasted: {sound.lack}")
        if now < self._unwell_since + _UNWELL_SECONDS:
            raise _NotNow

    # What became of it

    def _stand_as_made(self, wanted: Desired, done: Done, *, is_whole: bool) -> None:
        if done.awaiting:
            self._outcome.wait_for_restart(done)
            self._outcome.stand(
                documents=wanted.hashes
            )  # their turn has come, also for what is made after it
        else:
            self._contents.clear()
            self._verified_run = Inventory.load(StateFolder.of(self._host)).run
            if is_whole:
                self._outcome.stand_as_applied(wanted, self._lag)
            else:
                self._outcome.stand(documents=wanted.hashes)
        if done.plan.changes:
            changes = ", ".join(f"{each.action.value} {each.target.key}" for each in done.plan.changes)
            self._telling.tell(Event.APPLIED, f"{self._followed} was made so: {changes}")
        for line in done.left:
            self._telling.note(line)


class _NotNow(Exception):
    """Nothing has been changed yet, and is not to be at this moment."""


class _Beginning(LettingGo):
    """Asks once more before a run's first change."""

    def __init__(self, ask: Callable[[], None], let_go: Callable[[], None]) -> None:
        super().__init__(let_go)
        self._ask = ask

    def planned(self, plan: Plan) -> None:
        if plan.changes:
            self._ask()
        super().planned(plan)


def adopting(host: Host, followed: Followed, signals: Signals, telling: Telling, means: Means) -> Adopting:
    """Return what makes the node as that ConfigMap has it."""
    cluster = Cluster(host, followed, signals)
    contents = Contents(host, signals, means)
    reports = Reports(cluster, host.clock)

    def succeed() -> Succeeding:
        from service import succession  # noqa: PLC0415 - 0.7 MB, for another wmcb.exe
        from service.succeeding import Succeeding  # noqa: PLC0415 - 0.7 MB, for another wmcb.exe

        own = Contents(host, signals, means, succession.fetched(host))
        return Succeeding(host, own, telling)

    return Adopting(host, followed, cluster, contents, reports, telling, succeed)
