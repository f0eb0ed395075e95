"""One run: a specification made so, or nothing of it.

Whatever ends a run half-way, a failure or a power cut, its journal says how to go on. A failure is taken
back at once; what was cut off is finished by the next run, or taken back if that is asked for.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace

from agent.engine import planning, restarting
from agent.engine.inventory import Inventory, Origin, read_state
from agent.engine.journal import Deed, Journal, unfinished
from agent.engine.machine_lock import LOCK, give_way, held, held_by_command
from agent.engine.making import Making
from agent.engine.parts import (
    Scope,
    Share,
    are_known,
    as_confined,
    confining,
    is_somebodys,
    origins_of_run,
    records_of_run,
    remembered,
    share,
    with_others,
)
from agent.engine.planning import Change, Difference, Match, Plan, differences, hidden_fields, plan
from agent.engine.progress import Progress
from agent.engine.state_folder import StateFolder
from agent.engine.target import NODE, Record, seen_at_once, seen_or_not
from agent.engine.undoing import Undone, clean_up, flush, is_saved, secured_state, tidy, undo
from agent.host.errors import AccessDenied, HostError
from agent.host.port import Host
from agent.resources.kind import CannotBeSo, State, field_in_words
from agent.spec import Key, Specification, Want

_MOMENT_SECONDS = 0.5
_PAUSE_SECONDS = 0.05


class Unfinished(Exception):
    """Somebody's run was cut off here: it is for him to finish it, or to take it back."""


class TakenBack(Exception):
    """A run failed (`__cause__` says how), and what it had done was undone."""

    def __init__(self, undone: Undone, at: Key | None = None) -> None:
        """`at`: the resource whose step failed, where it was one's."""
        super().__init__("; ".join(undone.trouble))
        self.undone = undone
        self.at = at


@dataclass(frozen=True, slots=True)
class Done:
    plan: Plan
    left: tuple[str, ...] = ()
    """What of former things had to stay, a line each."""
    kept_otherwise: tuple[tuple[Key, tuple[Difference, ...]], ...] = ()
    """What this machine made its own of, where it does not keep a setting as given."""
    adopted: tuple[Key, ...] = ()
    """What was there as it is wanted, and nobody here had made: a reset leaves it."""
    awaiting: Mapping[Key, str] = field(default_factory=dict)
    """What takes effect when Windows has been restarted, and why."""
    put_off: tuple[Key, ...] = ()
    """What cannot be made before that; the same run again makes it then."""


def together(done: Sequence[Done]) -> Done:
    """Of several runs, one after the other."""
    return Done(
        planning.together([each.plan for each in done]),
        tuple(line for each in done for line in each.left),
        tuple(kept for each in done for kept in each.kept_otherwise),
        tuple(key for each in done for key in each.adopted),
        {key: why for each in done for key, why in each.awaiting.items()},
        tuple(key for each in done for key in each.put_off),
    )


def preview(
    host: Host,
    specification: Specification,
    *,
    beside: bool = False,
    part: str | None = NODE,
    manners: Mapping[str, State] = {},
    but: Collection[str] = (),
) -> Plan:
    """What `make_so` would do. Raises CannotBeSo."""
    folder, inventory = read_state(host)
    journal = unfinished(folder, inventory)
    own = journal if journal is not None and part in (None, journal.part) else None
    known = _in_manner(remembered(inventory, own), manners)
    mine = share(host, specification, inventory, known, Scope(part, beside, but))
    waiting = restarting.awaited(host, mine, goes_on=own is not None)
    mine = restarting.without(mine, restarting.users_of(waiting, mine.specification.wants))
    return _planned(host, mine, part, own)[1]


def _planned(host: Host, mine: Share, part: str | None, journal: Journal | None) -> tuple[Share, Plan]:
    """And what the run is about then: a reset is not kept from taking back what can be looked at."""
    seen, unseen = seen_or_not(host, mine.remembered) if part is None else ({}, {})
    mine = restarting.without(mine, unseen.keys())
    others = {key: record for key, record in mine.others.items() if key not in unseen}
    # What a run that was cut off may have left stopped.
    stopped = {step.key for step in journal.steps if step.deed is Deed.PAUSE} if journal else ()
    planned = plan(host, mine.specification, mine.remembered, seen, others=others, stopped=stopped)
    changes = (*planned.changes, *confining(host, mine))
    return mine, replace(planned, changes=changes, stays=unseen)


def _with_what_stays(mine: Share, stays: Collection[Key], scope: Scope) -> tuple[Share, Scope]:
    """It is remembered as before, but that nobody keeps it any more; and of which parts something is left."""
    if not stays:
        return mine, scope
    left = {key: replace(mine.others[key], is_leaving=True) for key in stays}
    parts = {part for record in left.values() for part in record.parts}
    return replace(mine, others={**mine.others, **left}), replace(scope, but={*scope.but, *parts})


def _but(planned: Plan, stays: Mapping[Key, str]) -> Plan:
    changes = tuple(change for change in planned.changes if change.target.key not in stays)
    return replace(planned, changes=changes, stays={**planned.stays, **stays})


def _with(regained: Sequence[Change], planned: Plan) -> Plan:
    keys = {change.target.key for change in regained}
    unchanged = tuple(match for match in planned.unchanged if match.target.key not in keys)
    return replace(planned, changes=(*planned.changes, *regained), unchanged=unchanged)


def interrupted(host: Host) -> int | None:
    """After how many steps somebody's last run was cut off, which the next one goes on from; None if it was
    not.
    """
    journal = _cut_off(host)
    return None if journal is None else len(journal.steps)


def interrupted_part(host: Host) -> str | None:
    """What that run was about: nothing else can be made before it has come to its end."""
    journal = _cut_off(host)
    return None if journal is None else journal.part


def _cut_off(host: Host) -> Journal | None:
    journal = unfinished(*read_state(host))
    if journal is None or not is_somebodys(journal.part) or host.processes.is_held(LOCK):
        return None
    return journal


def make_so(
    host: Host,
    specification: Specification,
    progress: Progress,
    confirm: Callable[[], None] | None = None,
    *,
    prepare: Callable[[], None] | None = None,
    stopped: Callable[[], None] | None = None,
    beside: bool = False,
    recipe: str = "",
    command: str = "",
    part: str | None = NODE,
    manners: Mapping[str, State] = {},
    but: Collection[str] = (),
    is_resident: bool = False,
) -> Done:
    """Raises CannotBeSo, Busy and Unfinished before anything is changed, TakenBack for what failed then.

    `confirm` is called when all is made and well, unless there was nothing to make; also by the run that
    finishes an interrupted one. What it raises is a failure like any other: the run is taken back.

    `prepare` is called before a run stops anything that may be running, while nothing is changed yet; not by
    the one that finishes an interrupted run. What it raises ends the run. `stopped` is called when all that
    must not run meanwhile does not any more; what it raises is a failure.

    What cannot be made before Windows has been restarted is put off: the same again, after that, makes it,
    and then `confirm` is called.

    What wmcb made of this `part` before and is not wanted now goes, unless this is to be `beside` it; None is
    for all parts, `but` for these. `recipe` is a hash of all that the specification was made of, for
    `as_made`; `command`, for a person, how it was asked for.

    The resident service (`is_resident`) gives way to a command that waits, unless it has begun to change
    something. Its run goes to its end then: a rollback would stop and start the same services once more.
    """
    with held(host, progress.waiting, is_resident=is_resident):
        folder, inventory = secured_state(host, but_given=part is not None)
        scope = Scope(part, beside, but)
        journal = _to_go_on_from(host, folder, inventory, progress, scope)
        known = _in_manner(remembered(inventory, journal), manners)
        mine = share(host, specification, inventory, known, scope)
        whole = mine.specification.wants
        waiting = restarting.awaited(host, mine, goes_on=journal is not None)
        mine = restarting.without(mine, restarting.users_of(waiting, whole))
        if journal is not None:
            progress.resuming(len(journal.steps))
        mine, planned = _planned(host, mine, part, journal)
        if is_resident:
            give_way(host)  # to look at everything may have taken long
        progress.planned(planned)
        # Where something has to wait not all is made that a recipe stands for.
        all_of_it = "" if waiting else recipe
        mine, scope = _with_what_stays(mine, planned.stays, scope)
        origins = origins_of_run(inventory, mine.specification, all_of_it, command, scope)
        if journal is None and not planned.changes:
            mine = as_confined(host, mine)
            records = with_others(mine, records_of_run(host, mine, planned, {}, inventory, {}, part), known)
            records = restarting.asked(host, records, waiting)
            if records == inventory.records and are_known(origins, inventory):
                put_off = _put_off(whole, mine)
                return Done(planned, adopted=_adopted(planned, known), awaiting=waiting, put_off=put_off)
        if prepare is not None and journal is None and planned.pauses:
            prepare()
        folder.ensure()
        journal = journal or Journal.begin(folder, part=part or NODE)
        making = Making(host, folder, journal, progress, goes_on=part is None)
        try:
            tidy(host, (change.target.key for change in planned.changes))
            making.carry_out(planned, stopped)
            mine = restarting.without(mine, {*making.put_off, *making.staying})
            planned = _with(making.regained, _but(planned, making.staying))
            mine, scope = _with_what_stays(mine, making.staying, scope)
            making.make_sure(mine.specification, inventory)
            put_off = _put_off(whole, mine)
            if confirm is not None and not put_off:
                confirm()
            making.end_what_is_over(mine.specification)
            first = journal.first_before()
            records = records_of_run(host, mine, planned, making.settled, inventory, first, part)
            waiting = restarting.awaiting(host, records)
            mine = as_confined(host, mine)
            records = restarting.asked(host, with_others(mine, records, known), waiting)
            all_of_it = "" if waiting or put_off else recipe
            origins = origins_of_run(inventory, mine.specification, all_of_it, command, scope)
            if known.keys() - records.keys():
                flush(host)
            made = Inventory(records, journal.run, origins)
            made.save(folder)
        except BaseException as failure:
            if is_saved(folder, journal):
                # It came to its end, and was interrupted only then.
                clean_up(host, folder, made, journal)
                raise
            undone = undo(host, folder, inventory, journal, progress)
            raise TakenBack(undone, making.at) from failure
        clean_up(host, folder, made, journal)
        kept_otherwise = tuple(_kept_otherwise(planned, records))
        adopted = _adopted(planned, known)
        return Done(planned, tuple(making.left), kept_otherwise, adopted, waiting, put_off)


def as_made(host: Host, recipe: str) -> Done | None:
    """What `make_so` would give for a specification of this recipe, if it was made and all still is so.

    Whoever has a recipe need not make the specification to learn that there is nothing to do.
    """
    try:
        folder, inventory = read_state(host)
        if not recipe or inventory.recipe_of(NODE) != recipe:
            return None
        found = _status(host, folder, inventory)
    except CannotBeSo:
        return None  # make_so says it
    if not found.is_well or found.under_way:
        return None
    return Done(Plan((), (), (), tuple(Match(each.record.target, each.found) for each in found.resources)))


@contextmanager
def at_rest(host: Host, waiting: Callable[[str], None]) -> Iterator[bool]:
    """Whether no run was cut off; none begins meanwhile. Raises Busy."""
    with held_by_command(host, waiting):
        yield unfinished(*read_state(host)) is None


def take_back(host: Host, progress: Progress, *, is_resident: bool = False) -> Undone | None:
    """Undoes what an interrupted run had done; None if there is none. What was fetched for it goes, too."""
    with held(host, progress.waiting, is_resident=is_resident):
        folder, inventory = secured_state(host)
        journal = unfinished(folder, inventory)
        if journal is None:
            return None
        outcome = undo(host, folder, inventory, journal, progress)
        if not outcome.trouble and is_somebodys(journal.part):
            with suppress(HostError):
                folder.forget_given()
        return outcome


def take_back_part(host: Host, progress: Progress) -> Undone | None:
    """The same of a run that was about no person's part: nobody else would finish it."""
    journal = Journal.unfinished(StateFolder.of(host))
    is_nobodys = journal is not None and not journal.repairs and not is_somebodys(journal.part)
    return take_back(host, progress, is_resident=True) if is_nobodys else None


def reset(
    host: Host,
    progress: Progress,
    stopped: Callable[[], None] | None = None,
    manners: Mapping[str, State] = {},
    but: Collection[str] = (),
) -> Done:
    """Takes away what wmcb put on this machine, and gives back what it replaced, `but` for what is of these
    parts. What cannot go stays with what it needs (`Plan.stays`), and the next reset takes it away: whoever
    resets a machine wants as little of the node on it as can be.

    `manners` says of kinds what is asked for beside how each resource was made.
    """
    nothing = Specification()
    return make_so(host, nothing, progress, stopped=stopped, part=None, manners=manners, but=but)


def _in_manner(records: Mapping[Key, Record], manners: Mapping[str, State]) -> Mapping[Key, Record]:
    return {key: _taken_back(record, manners.get(key.kind)) for key, record in records.items()}


def _taken_back(record: Record, manner: State | None) -> Record:
    if manner is None:
        return record
    return replace(record, target=replace(record.target, manner={**record.target.manner, **manner}))


def forget(host: Host, waiting: Callable[[str], None]) -> None:
    """Leaves the machine as it is, and nobody knows any more what of it was made here, or what was before."""
    with held_by_command(host, waiting):
        folder = StateFolder.of(host)
        folder.secure()
        folder.clear()


@dataclass(frozen=True, slots=True)
class Standing:
    """One resource of ours, now."""

    record: Record
    found: State | None
    differences: tuple[Difference, ...]
    unseen: str = ""
    """Why nobody can tell how it is: a service of Windows' that it is asked of does not run, say."""
    is_denied: bool = False
    """To whoever asks; others can tell."""


@dataclass(frozen=True, slots=True)
class Status:
    title: str
    resources: tuple[Standing, ...]
    interrupted: bool
    """The last run did not come to its end."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """Of each part that there is something of."""
    under_way: bool = False
    """A run is at work just now, and half of this is about to change."""
    awaiting: tuple[str, ...] = ()
    """What takes effect when Windows has been restarted, a line each."""

    @property
    def command(self) -> str:
        """The command that made this node last; empty where it is not known."""
        return self.origins.get(NODE, Origin()).command

    @property
    def leaving(self) -> tuple[Key, ...]:
        """What a reset could not take back."""
        return tuple(each.record.target.key for each in self.resources if each.record.is_leaving)

    @property
    def is_well(self) -> bool:
        """Something was made, and all of it still is as it was made."""
        as_made = not any(each.found is None or each.differences or each.unseen for each in self.resources)
        is_at_rest = not (self.interrupted or self.under_way or self.awaiting or self.leaving)
        return bool(self.resources) and as_made and is_at_rest


def title(host: Host) -> str:
    """Where what is on this machine came from; empty where nothing is."""
    return read_state(host)[1].origin_of(NODE).title


def status(host: Host) -> Status:
    """What the resident service is at for a moment, a copy or a repair, is waited for and not told."""
    deadline = host.clock.monotonic() + _MOMENT_SECONDS
    folder = StateFolder.of(host)
    folder.check()
    while True:
        found = _status(host, folder, Inventory.load(folder))
        if not found.under_way or host.clock.monotonic() > deadline:
            return found
        host.clock.sleep(_PAUSE_SECONDS)


def _status(host: Host, folder: StateFolder, inventory: Inventory) -> Status:
    standings = tuple(_standings(host, inventory))
    # Before the journal and after: one that ends or begins just then is not interrupted.
    under_way = host.processes.is_held(LOCK)
    has_journal = Journal.unfinished(folder) is not None
    is_cut_off = has_journal and unfinished(folder, Inventory.load(folder)) is not None
    under_way = under_way or host.processes.is_held(LOCK)
    is_cut_off = is_cut_off and not under_way
    awaiting = tuple(restarting.awaiting(host, inventory.records).values())
    return Status(
        inventory.origin_of(NODE).title, standings, is_cut_off, inventory.origins, under_way, awaiting
    )


def _standings(host: Host, inventory: Inventory) -> Iterator[Standing]:
    seen = seen_at_once(host, inventory.records)
    for key, record in inventory.records.items():
        target = record.target
        try:
            found = seen[key] if key in seen else target.observe(host)
            is_over = record.is_to_come(found) or (
                found is None and (record.is_leaving or target.kind.is_over(host, target.manner))
            )
        except (HostError, CannotBeSo) as fault:
            # All the others can be told.
            yield Standing(record, None, (), str(fault), isinstance(fault, AccessDenied))
            continue
        if not is_over:
            different = () if record.is_leaving else differences(target, found, record)
            hidden = " and ".join(map(field_in_words, hidden_fields(target, found, record))) if found else ""
            unseen = f"its {hidden} cannot be looked at: access is denied" if hidden else ""
            yield Standing(record, found, different, unseen, bool(hidden))


def _to_go_on_from(
    host: Host, folder: StateFolder, inventory: Inventory, progress: Progress, scope: Scope
) -> Journal | None:
    """What an interrupted run of this part left. That of another is taken back first: only those who know
    what it was to make can finish it. A person's own is his, who is to say which. Raises Unfinished,
    and TakenBack for what cannot be taken back.
    """
    journal = unfinished(folder, inventory)
    if journal is None or journal.part == scope.part:
        return journal
    if scope.part is None and journal.part not in scope.but:
        return journal
    if is_somebodys(journal.part):
        raise Unfinished(f"a run was interrupted: run it again to finish it, or {host.called} --rollback")
    outcome = undo(host, folder, inventory, journal, progress)
    if outcome.trouble:
        raise TakenBack(outcome) from CannotBeSo("a run that was interrupted could not be taken back")
    return None


def _adopted(planned: Plan, known: Mapping[Key, Record]) -> tuple[Key, ...]:
    unchanged = [match.target.key for match in planned.unchanged if match.found is not None]
    return tuple(key for key in unchanged if key not in known)


def _put_off(whole: Iterable[Want], mine: Share) -> tuple[Key, ...]:
    made = mine.specification.by_key()
    return tuple(want.key for want in whole if want.key not in made)


def _kept_otherwise(
    planned: Plan, records: Mapping[Key, Record]
) -> Iterator[tuple[Key, tuple[Difference, ...]]]:
    for change in planned.changes:
        record = records.get(change.target.key)
        if change.target.kind.comes_later:
            continue  # it is not the run that makes it
        if record and record.settled and (otherwise := differences(record.target, record.settled, None)):
            yield change.target.key, otherwise
