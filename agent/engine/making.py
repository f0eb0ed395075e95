"""A plan carried out, step by step, each written into the journal before it is done."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace

from agent.engine.inventory import Inventory
from agent.engine.journal import Deed, Journal, Step
from agent.engine.planning import Action, Change, Match, Plan, differences, plan
from agent.engine.progress import Progress
from agent.engine.state_folder import StateFolder
from agent.engine.target import Record, Target, seen_at_once
from agent.host.errors import HostError
from agent.host.port import Host
from agent.resources import kind_named
from agent.resources.kind import CannotBeSo, NotWell, State, field_in_words, pausable
from agent.spec import Key, Specification, Want

_ROUNDS = 3
"""After so many it is clear that somebody else keeps changing what is made."""


class Making:
    """Of one run."""

    def __init__(
        self, host: Host, folder: StateFolder, journal: Journal, progress: Progress, *, goes_on: bool = False
    ) -> None:
        """`goes_on`: with all else, where something that is to go cannot."""
        self.at: Key | None = None
        """The resource that a step is at work on."""
        self._goes_on = goes_on
        self._host = host
        self._folder = folder
        self._journal = journal
        self._progress = progress
        self.left: list[str] = []
        """What of former things had to stay, a line each."""
        self.settled: dict[Key, State | None] = {}
        """How each resource was right after its step: what came later was not done here."""
        self.awaiting: dict[Key, str] = {}
        """What has been made, and waits for a restart of Windows; and why."""
        self.put_off: set[Key] = set()
        """What has to wait with it, and had no step."""
        self.regained: list[Change] = []
        """What was as wanted, until what was not wanted any more was taken away."""
        self.staying: dict[Key, str] = {}
        """What was to go and could not, and why; with what it needs, which has no step."""
        self._needed: dict[Key, str] = {}
        self._targets: dict[Key, Target] = {}
        """Those that had a step."""
        self._seen: dict[Key, State | None] | None = None
        """How they are since something was started that may use them; None where nothing was."""

    def carry_out(self, planned: Plan, stopped: Callable[[], None] | None = None) -> None:
        for target in planned.pauses:
            self._progress.pausing(target)
            self._pause(target)
        if stopped is not None:
            stopped()
        for change in self._in_turn(planned):
            if change.is_over or self._puts_off(change):
                continue  # its turn comes when all is well
            if self._goes_on and change.target.want is None:
                self._try(change, planned)
            else:
                self._make(change, planned)
        for change in planned.resumes:
            if change.target.key not in self.staying and not self._lacks_what_it_needs(change, planned):
                self._resume(change)
        for change in planned.changes:
            if change.target.key in self.put_off and change.target in planned.pauses:
                self._resume(replace(change, before=change.found))

    def _in_turn(self, planned: Plan) -> Iterator[Change]:
        """As planned; and before what is wanted anew, what went with that which was not wanted."""
        removals = [change for change in planned.changes if change.target.want is None]
        yield from removals
        for change in self._gone_with({each.target.key.kind for each in removals}, planned.unchanged):
            self.regained.append(change)
            yield change
        yield from (change for change in planned.changes if change.target.want is not None)

    def _gone_with(self, kinds: AbstractSet[str], matches: Sequence[Match]) -> Iterator[Change]:
        """One thing may be wanted under several kinds: a file as such before, and now the settings in it."""
        doubtful = [each for each in matches if not each.is_over and _may_go_with(kinds, each.target)]
        seen = seen_at_once(self._host, [each.target.key for each in doubtful])
        for each in doubtful:
            target = each.target
            found = seen[target.key] if target.key in seen else target.observe(self._host)
            if found == each.found:
                continue
            if different := differences(target, found, None):
                yield Change(Action.CHANGE if found else Action.CREATE, target, found, different)
            else:
                self.settled[target.key] = found

    def _try(self, change: Change, planned: Plan) -> None:
        """Each comes before what it needs."""
        key = change.target.key
        why = self._needed.get(key)
        if why is None:
            try:
                self._make(change, planned)
            except (HostError, CannotBeSo, NotWell) as fault:
                why = str(fault)
        if why is not None:
            self.staying[key] = why
            self._needed.update(dict.fromkeys(change.target.uses, f"{key} needs it"))

    def _lacks_what_it_needs(self, change: Change, planned: Plan) -> bool:
        """What was given back would start with what is not: it waits for that."""
        lacking = next((used for used in change.target.uses if used in self.staying), None)
        if lacking is None or change not in planned.changes:
            return False
        self.staying[change.target.key] = f"it does not start while {lacking} stays"
        return True

    def _make(self, change: Change, planned: Plan) -> None:
        if change.target in planned.pauses:
            # Windows may have started it anew meanwhile, with only half of what it uses changed.
            self._pause(change.target)
        self._change(change)

    def make_sure(self, specification: Specification, inventory: Inventory) -> None:
        """What somebody else has changed since its step is made anew, as a whole: a service may have it."""
        for _ in range(_ROUNDS):
            again = self._difference(specification, inventory.records)
            changes = [change for change in again.changes if not change.is_over]
            if not changes:
                return
            self.carry_out(again)
        fields = ", ".join(field_in_words(each.field) for each in changes[0].differences)
        raise NotWell(
            f"{changes[0].target.key} does not stay as it is made ({fields}); another program changes it"
        )

    def _difference(self, specification: Specification, remembered: Mapping[Key, Record]) -> Plan:
        """To how it was after each step. What had no step was as wanted, and need not be looked at again."""
        wants = list(self._perhaps_changed(specification))
        records = {want.key: remembered[want.key] for want in wants if want.key in remembered}
        for want in wants:
            if (settled := self.settled.get(want.key)) is not None:
                records[want.key] = Record(Target.of(want), None, settled)
        return plan(self._host, Specification(tuple(wants)), records, self._seen or {})

    def _perhaps_changed(self, specification: Specification) -> Iterator[Want]:
        """Also what lies in a folder that had a step: until then others may have been free to exchange it."""
        seen: set[Key] = set()
        for want in specification.wants:
            kind = kind_named(want.key.kind)
            had_step = self.settled.get(want.key) is not None
            if kind.comes_later:
                continue  # and may come later still: whoever needs it waits for it
            if had_step or pausable(kind) or not seen.isdisjoint(want.uses):
                seen.add(want.key)
                yield want

    def end_what_is_over(self, specification: Specification) -> None:
        """Also what has done its duty in this very run: only now is it sure that nothing needs it."""
        for target in map(Target.of, specification.wants):
            if target.kind.is_over(self._host, target.manner):
                found = target.observe(self._host)
                if found is not None:
                    self._change(Change(Action.REMOVE, target, found))
                self.settled[target.key] = None

    def _puts_off(self, change: Change) -> bool:
        if change.target.want is None or not any(
            used in self.awaiting or used in self.put_off for used in change.target.uses
        ):
            return False
        self.put_off.add(change.target.key)
        return True

    def _pause(self, target: Target) -> None:
        kind, found = pausable(target.kind), target.observe(self._host)
        if kind is not None and found is not None and kind.is_active(found):
            self._journal.add(Step(Deed.PAUSE, target.key, found, target.manner))
            kind.pause(self._host, target.key.name, target.manner)

    def _resume(self, change: Change) -> None:
        target, kind = change.target, pausable(change.target.kind)
        assert kind is not None
        assert change.before is not None
        found = target.observe(self._host)
        self._journal.add(Step(Deed.RESUME, target.key, found, target.manner))
        if found is not None and (paused := self._merely_paused(target.key)) is not None:
            self._give_settings_back(target, kind.with_what_a_pause_took(found, paused))
        self._leave(kind.resume(self._host, target.key.name, change.before))

    def _merely_paused(self, key: Key) -> State | None:
        """How it was when it was to stop; None for what did not run, or was changed then."""
        steps = [step for step in self._journal.steps if step.key == key and step.deed is not Deed.RESUME]
        changed = any(step.deed is Deed.CHANGE for step in steps)
        return steps[0].before if steps and not changed else None

    def _give_settings_back(self, target: Target, former: State | None) -> None:
        """What would not stop had to lose those for failures first."""
        if former is None:
            return
        try:
            kept = self._folder.at_step(self._journal.run, len(self._journal.steps))
            self._leave(target.kind.restore(self._host, target.key.name, former, target.manner, kept))
        except HostError as fault:
            self._leave(f"{target.key} has lost its settings for failures: {fault}")

    def _change(self, change: Change) -> None:
        self._progress.changing(change)
        self.at = change.target.key
        target, kind, name = change.target, change.target.kind, change.target.key.name
        before = target.observe(self._host)  # not as it was planned: a pause, or another change, came between
        if target.want is not None and (obstacle := kind.obstacle(target.want, before)):
            raise CannotBeSo(obstacle)
        self._journal.add(Step(Deed.CHANGE, target.key, before, target.manner))
        if target.want is None or change.is_over:
            self._put_by(change, before, change.before)
            kept = self._folder.at_step(self._journal.run, len(self._journal.steps))
            self._leave(kind.restore(self._host, name, change.before, target.manner, kept))
            self.at = None
            return
        self._put_by(change, before, target.wanted)
        kind.apply(self._host, target.want, before, self._folder)
        if pausable(kind):
            self._look_again()
        kind.finish(self._host, target.want)
        found = target.observe(self._host)
        self.settled[target.key] = _checked(target, found)
        self._targets[target.key] = target
        if why := kind.awaits_restart(self._host, name):
            self.awaiting[target.key] = why
        if self._seen is not None:
            self._seen[target.key] = found
        self.at = None

    def _look_again(self) -> None:
        """While something comes up: what was changed before that is what it has taken over."""
        self._seen = {}
        for key, target in self._targets.items():
            with suppress(HostError):  # then it is looked at once more, and that tells
                self._seen[key] = target.observe(self._host)

    def _put_by(self, change: Change, before: State | None, becomes: State | None) -> None:
        if before is not None:
            change.target.kind.keep(self._host, change.target.key.name, before, becomes, self._folder)

    def _leave(self, remark: str | None) -> None:
        if remark:
            self.left.append(remark)


def _may_go_with(kinds: AbstractSet[str], target: Target) -> bool:
    """At what runs is looked in the end."""
    only_in_the_end = target.kind.comes_later or pausable(target.kind) is not None
    return bool(kinds - {target.key.kind}) and not only_in_the_end


def _checked(target: Target, found: State | None) -> State | None:
    for different in differences(target, found, None):
        if different.field in target.kind.firm:
            # Without the values: a command line can hold a secret.
            what = f"{target.key}: {field_in_words(different.field)}"
            raise NotWell(f"{what} reads back as something else; another program changes it")
    return found
