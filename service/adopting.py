"""Makes a node what a ConfigMap wants of it: when, whether at all, and what is remembered of that.

What cannot be read, is not signed, or cannot be made leaves all as it is. Only `adopt` changes the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent.engine.inventory import Inventory
from agent.engine.machine_lock import Busy
from agent.engine.planning import Plan
from agent.engine.run import Done, TakenBack, make_so, preview
from agent.engine.state_folder import StateFolder
from agent.host.port import Host
from agent.resources.kind import CannotBeSo
from agent.sources.node_configuration.compiling import Compiled, compile_node
from agent.sources.node_configuration.model import LOG_RUNNER, turn
from agent.spec import Key, Specification
from service import standing
from service.cluster import Cluster, Node, kubelet_of
from service.desired import check_time, desired
from service.failing import why
from service.followed import PART, Followed
from service.health import Hung, Soundness
from service.keeping import Wishes
from service.program_folder import hand_over_folder
from service.refusing import Refused, told
from service.reporting import Report
from service.standing import Standing, State
from service.telling import Event, Telling
from service.trial import Trial
from service.watching import LettingGo

if TYPE_CHECKING:
    from agent.kube.answers import Object
    from agent.sources.signatures import Binding, Phase
    from service.contents import Contents
    from service.desired import Desired
    from service.reporting import Reports
    from service.succeeding import Lag, Succeeding


PAUSED = "wmcb/paused"
"""An annotation of the Node: nothing is changed or repaired while it has a value other than false."""

_MOST_CUT_OFF = 3
_MOST_OBSTACLES = 10
_FIRST_PAUSE_SECONDS = 10.0
_LONGEST_PAUSE_SECONDS = 600.0
_UNWELL_SECONDS = 30.0
"""Longer than a kubelet takes that starts anew: whoever is not well for so long is not waited for."""
_ASK_AGAIN_SECONDS = 1.0
_UNREACHABLE, _NOT_DONE = "unreachable", "not done"


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
        version: str,
        succeed: Callable[[], Succeeding],
    ) -> None:
        """`succeed` makes what sees to another wmcb.exe, where one is wanted or tried."""
        self._host = host
        self._followed = followed
        self._cluster = cluster
        self._contents = contents
        self._reports = reports
        self._telling = telling
        self._version = version
        self._succeed = succeed
        self._succeeding: Succeeding | None = None
        self._lag: Lag | None = None
        self._has_given_word = False
        self._standing = Standing(followed.place)
        self._is_read = False
        self._desired: Desired | None = None
        self._sight: object = None
        """What `_desired` was made of."""
        self._binding: Binding | None = None
        """Of what is seen, where it is signed; also where it is refused because of the time."""
        self._verified_run: str | None = None
        """The run whose inventory has all that is wanted, as was seen in a run of our own."""
        self._pause_seconds = _FIRST_PAUSE_SECONDS
        self._was_cut_off = False
        """The run before; what it was to make has not been begun again."""
        self._try_again_at: float | None = None
        """What could not be fetched."""
        self._is_tried = False
        """What is seen now; whoever looks for another reason does not try it."""
        self._unwell_since: float | None = None
        """A change has waited for the kubelet."""
        self._made: Desired | None = None
        """What all of the part was made of last, as far as this process has seen that."""
        self._trial: Trial | None = None

    @property
    def pause(self) -> str | None:
        """Who wants nothing to be changed or repaired, and why; None for nobody."""
        if (reason := self._standing.paused_by_node) is not None:
            return _because(f"its Node's annotation {PAUSED}", reason)
        if (reason := self._standing.paused_by_document) is not None:
            return _because(str(self._followed), reason)
        return None

    @property
    def trouble(self) -> str | None:
        return self._cluster.trouble

    def cut_off(self, part: str) -> None:
        """A run about this part never came to its end, and was taken back."""
        self._was_cut_off = self._was_cut_off or part == PART

    def report(self, *, is_paused: bool) -> None:
        """To the cluster, as soon as that can be told."""
        now = self._standing
        if now.state is not State.WAITING and (is_paused or self._is_tried):
            state, text = "paused" if is_paused else now.state.value, str(self._followed)
            self._reports.put(Report(text, state, now.error, now.applied, now.version, self._version))
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
            self._standing, self._is_read = Standing(self._followed.place), False
            self._desired = self._binding = self._sight = None
            return
        self._remember()
        self._tell_of_trouble()
        node, seen = self._cluster.node, self._cluster.config_map
        if node is None or seen is None:
            return
        paused = node.annotations.get(PAUSED)
        self._stand(paused_by_node=None if paused in (None, "false") else paused)
        now, sight = self._host.clock.now(), (seen, node.name, node.labels, self._cluster.pins)
        if (*sight, self._phase(now)) != self._sight:
            self._desired = self._binding = self._unwell_since = None
            self._is_tried = False
            self._contents.try_again()
            if self._succeeding is not None:
                self._succeeding.try_again()
            self._pause_seconds, self._try_again_at = _FIRST_PAUSE_SECONDS, None
            if seen.thing is None:
                self._miss()
            else:
                self._read(seen.thing, node, now)
            self._sight = (*sight, self._phase(now))

    def _phase(self, now: float) -> Phase | None:
        """Whether it is the time for what is signed: it expires though nothing else changes."""
        return self._binding.phase(now) if self._binding is not None else None

    def _remember(self) -> None:
        if self._is_read:
            return
        known = standing.read(self._host)
        if known is not None and known.followed == self._followed.place:
            self._standing = known
        self._is_read = True

    def _tell_of_trouble(self) -> None:
        if (trouble := self._cluster.trouble) is None:
            if self._telling.is_over(_UNREACHABLE):
                self._telling.note(f"the cluster can be reached again, and {self._followed} is followed")
                self._reports.again()
            if None not in (self._cluster.node, self._cluster.config_map):
                self._stand(unheard="")
            return
        self._stand(unheard=trouble)
        if not self._telling.stands(_UNREACHABLE):
            text = f"{self._followed} cannot be followed: {trouble}; until then all stays as it is"
            self._telling.tell_once(_UNREACHABLE, Event.UNREACHABLE, text)

    def _miss(self) -> None:
        text = f"there is no {self._followed}; what it made stays"
        self._telling.tell_once(_NOT_DONE, Event.MISSING, text)
        self._stand(state=State.MISSING, error="", turn=None, paused_by_document=None)

    def _read(self, config_map: Object, node: Node, now: float) -> None:
        try:
            found = desired(self._followed, config_map, node.name, node.labels, self._cluster.pins)
            self._binding = found.binding
            check_time(self._followed, found, self._standing, now)
        except Refused as fault:
            self._refuse(str(fault))
            return
        self._desired = found
        if self._standing.state is not State.APPLIED:
            self._stand(state=State.PENDING, error="", turn=None)
        if found.binding is not None:
            self._stand(signed_at=found.binding.signed, signed_by=found.signed_by)
        self._stand(paused_by_document=found.pause)

    # What is to be done

    def adopt(self, inventory: Inventory, let_go: Callable[[], None]) -> bool:
        """Makes it so, if it is time for that; whether that was begun. `let_go` is called before a change
        that watches hinder. Raises Busy, Unfinished and HostError before that.
        """
        self._is_tried = True
        self.again_seconds = None
        if self._trial is not None and self._trial.is_over(self._host.clock.monotonic()):
            self._trial = None
        wanted = self._desired
        if wanted is None:
            return False
        self._lag = self._seen_to(wanted)
        if self._lag is None:
            return self._adopt(wanted, inventory, let_go)
        if self._lag.is_under_way:
            self._stand(state=State.PENDING, error=self._lag.text, turn=None)
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
        if wanted.content == self._standing.failed:
            self._fail(self._standing.failed_by)
            return False
        due = self._due(wanted, inventory)
        if due is None:
            return False
        is_whole = due.digest == wanted.digest
        self._try_to_fetch_again()
        try:
            compiled = compile_node(due.documents, self._contents, str(self._followed))
            if not self._is_at_hand(compiled, is_whole=is_whole):
                if self._standing.state in (State.APPLIED, State.PENDING):
                    self._stand(state=State.PENDING, error=self._contents.hindrance)
                return False
        except Refused as fault:
            self._refuse(str(fault))
            if self._contents.has_failed:
                self._fetch_again_later()
            return False
        return self._make_so(due, compiled, inventory, let_go, is_whole=is_whole)

    def _is_so(self, wanted: Desired, inventory: Inventory) -> bool:
        if inventory.recipe_of(PART) != wanted.digest or inventory.run != self._verified_run:
            return False
        self._made = wanted
        self._stand_as_applied(wanted)
        return True

    def _due(self, wanted: Desired, inventory: Inventory) -> Desired | None:
        """As much of it as is to be made now; None for nothing.

        A node that has nothing yet has nothing to wait with.
        """
        was = inventory.recipe_of(PART)
        if was == wanted.digest or _has_nothing(inventory):
            return wanted
        node = self._cluster.node
        assert node is not None
        now, known = self._host.clock.now(), self._standing.documents
        others = [each for each in wanted.documents if each.digest not in known]
        turns = {each.digest: turn(node.name, each.rollout, now) for each in others}
        waiting = {digest: each for digest, each in turns.items() if not each.has_come}
        if not waiting:
            return wanted
        due = wanted.only(tuple(each for each in wanted.documents if each.digest not in waiting))
        if not was and due.documents:
            return due  # some of it awaits a restart of Windows, or did
        self._wait([each.at for each in waiting.values()], now)
        is_made = was == due.digest and inventory.run == self._verified_run
        return None if is_made or len(waiting) == len(turns) else due

    def _wait(self, times: list[float | None], now: float) -> None:
        """For each of these; None for one that does not come by time alone."""
        known = sorted(time for time in times if time is not None)
        last = None if None in times else known[-1]
        self._stand(state=State.PENDING, error="", turn=last)
        self._telling.tell_once(_NOT_DONE, Event.PENDING, f"{self._followed}: {_waits(last)}")
        if known:
            # Somebody may set the clock.
            self.again_seconds = min(max(0.0, known[0] - now), _LONGEST_PAUSE_SECONDS)

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
            planned = preview(self._host, compiled.specification, part=PART, beside=not is_whole)
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
            self._try_again_at = now + self._pause_seconds
            self._pause_seconds = min(2 * self._pause_seconds, _LONGEST_PAUSE_SECONDS)
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
        if not self._may_begin(wanted):
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
            self._stand(failed=wanted.content)
            origin = compiled.origins.get(failure.at) if failure.at else None
            self._fail(told([origin.error(why(failure))]) if origin else why(failure))
            return True
        except CannotBeSo as fault:
            self._refuse(self._at_its_place(fault, compiled))
            return False
        else:
            self._put_on_trial(wanted, done, inventory, sound, is_whole=is_whole)
            self._stand_as_made(wanted, done, is_whole=is_whole)
        finally:
            if not is_put_off:
                self._stand(cut_off="", times=0)
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
        host, own = self._host, self._version
        return make_so(
            host, wanted, own, progress, confirm, recipe=recipe, part=PART, beside=beside, is_resident=True
        )

    def _put_on_trial(
        self, wanted: Desired, done: Done, inventory: Inventory, sound: Soundness, *, is_whole: bool
    ) -> None:
        """Where it is known what there was before, all of it."""
        was, former = inventory.recipe_of(PART), self._made
        self._trial = self._made = None
        if not is_whole or done.awaiting:
            return
        self._made = wanted
        if _has_nothing(inventory):
            former = None
        elif former is None or former.digest != was:
            return
        if done.plan.changes:
            now = self._host.clock.monotonic()
            self._trial = Trial(wanted, former, self._standing, sound.well, now)

    def take_back(self, hung: Mapping[Key, Hung], inventory: Inventory, let_go: Callable[[], None]) -> bool:
        """By making again what there was before, if all that it takes is at hand."""
        trial = self._trial
        if trial is None or inventory.recipe_of(PART) != trial.wanted.digest:
            return False
        if (harm := trial.harm(hung)) is None:
            return False
        self._trial = None
        try:
            specification = self._specification_of(trial.former)
        except Refused as fault:
            self._telling.note(f"what there was before {self._followed} cannot be made again: {fault}")
            return False
        recipe = trial.former.digest if trial.former is not None else ""
        try:
            self._run(specification, recipe, LettingGo(let_go))
        except Busy:
            self._trial = trial  # it is still to be taken back when the command has ended
            raise
        except (TakenBack, CannotBeSo) as failure:
            text = why(failure) if isinstance(failure, TakenBack) else str(failure)
            self._telling.tell(Event.FAILED, f"{self._followed} could not be taken back: {text}")
            return isinstance(failure, TakenBack)
        self._made = trial.former
        self._verified_run = Inventory.load(StateFolder.of(self._host)).run
        was = trial.standing
        self._stand(
            applied=was.applied, version=was.version, documents=was.documents, failed=trial.wanted.content
        )
        self._fail(f"{harm}; taken back")
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

    def _may_begin(self, wanted: Desired) -> bool:
        """What is begun again and again, and never comes to an end, may be what cuts it off."""
        if self._was_cut_off:
            known = self._standing.times if self._standing.cut_off == wanted.content else 0
            self._stand(cut_off=wanted.content, times=known + 1)
            self._was_cut_off = False
        if self._standing.cut_off == wanted.content and self._standing.times >= _MOST_CUT_OFF:
            times = self._standing.times
            self._stand(failed=wanted.content, cut_off="", times=0)
            self._fail(f"it was cut off {times} times")
            return False
        self._stand(failed="", failed_by="")
        return True

    # What became of it

    def _stand_as_applied(self, wanted: Desired) -> None:
        self._telling.is_over(_NOT_DONE)
        is_new = self._standing.applied != wanted.digest
        lag = self._lag
        self._stand(
            state=lag.state if lag else State.APPLIED,
            error=lag.text if lag else "",
            turn=lag.turn if lag else None,
            applied=wanted.digest,
            version=wanted.version if is_new else self._standing.version or wanted.version,
            documents=wanted.hashes,
        )

    def _stand_as_made(self, wanted: Desired, done: Done, *, is_whole: bool) -> None:
        if done.awaiting:
            self._wait_for_restart(done)
            self._stand(documents=wanted.hashes)  # their turn has come, also for what is made after it
        else:
            self._contents.clear()
            self._verified_run = Inventory.load(StateFolder.of(self._host)).run
            if is_whole:
                self._stand_as_applied(wanted)
            else:
                self._stand(documents=wanted.hashes)
        if done.plan.changes:
            changes = ", ".join(f"{each.action.value} {each.target.key}" for each in done.plan.changes)
            self._telling.tell(Event.APPLIED, f"{self._followed} was made so: {changes}")
        for line in done.left:
            self._telling.note(line)

    def _wait_for_restart(self, done: Done) -> None:
        text = f"{'; '.join(done.awaiting.values())}; nobody but you restarts it"
        self._telling.tell_once(_NOT_DONE, Event.PENDING, f"{self._followed}: {text}")
        self._stand(state=State.PENDING, error=text, turn=None)

    def _refuse(self, text: str) -> None:
        self._telling.tell_once(_NOT_DONE, Event.REFUSED, f"{text}; nothing was changed")
        self._stand(state=State.REFUSED, error=text, turn=None)

    def _fail(self, text: str) -> None:
        why = text.removeprefix(f"{self._followed}, ")
        line = f"{self._followed} could not be made so: {why}; not tried again until it is changed"
        self._telling.tell_once(_NOT_DONE, Event.FAILED, line)
        self._stand(state=State.FAILED, error=text, turn=None, failed_by=text)

    def _stand(self, **changes: Any) -> None:
        now = replace(self._standing, **changes)
        if now != self._standing:
            self._standing = now
            standing.write(self._host, now)


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


def _has_nothing(inventory: Inventory) -> bool:
    """Of the ConfigMap. No recipe is there also while something of it awaits a restart of Windows."""
    return not inventory.recipe_of(PART) and not any(
        PART in record.parts for record in inventory.records.values()
    )


def _because(who: str, reason: str) -> str:
    return f"{who} wants it{f' ({reason})' if reason else ''}"


def _waits(at: float | None) -> str:
    if at is None:
        return "this node does not take part in its rollout yet"
    return time.strftime("this node's turn comes at %Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
