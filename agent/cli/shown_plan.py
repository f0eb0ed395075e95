"""A plan and a result, for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from agent.cli import shown_values
from agent.cli.losses import Outlook
from agent.cli.streams import Colours
from agent.engine.planning import Action, Change, Plan
from agent.engine.run import Done
from agent.redaction import redacted
from agent.spec import Effect, Note

if TYPE_CHECKING:
    from agent.preflight.situation import Finding

_SHOWN_AS = {
    Action.CREATE: ("+", "green", "created"),
    Action.CHANGE: ("~", "yellow", "changed"),
    Action.RESTART: ("!", "yellow", "restarted"),
    Action.REMOVE: ("-", "red", "removed"),
    Action.GIVE_BACK: ("<", "red", "given back"),
}
"""Its sign in a plan and the colour of that, and the word for what was done."""
_SHOWN_WHEN_NEW = ("service", "trusted_certificate")
"""Kinds whose name alone does not say what is put there."""
_LONGEST_LINE = 300


def of_plan(plan: Plan, outlook: Outlook, colours: Colours, *, details: bool) -> str:
    """`details` shows also what was changed on the way to Windows without being asked about."""
    notes = [note for note in plan.notes if details or note.effect is not Effect.ADDED]
    changes = [change for change in plan.changes if change.target.key not in outlook.losses.staying]
    parts = [
        _interrupted(outlook.interrupted),
        [line for change in changes for line in _change(change, colours, details=details)],
        _titled("Of the documents:", _note_lines(notes)),
        _titled("To know beforehand:", outlook.remarks),
        _checks(outlook.checks, colours),
    ]
    legend = _legend(changes, colours)
    last = ["  ".join(legend)] if len(legend) > 1 else []  # of one sign it says what each line says
    return "\n".join(
        [*(line for part in parts if part for line in (*part, "")), *last, _counts(plan, changes)]
    )


def _counts(plan: Plan, changes: Sequence[Change]) -> str:
    counted = Counter(change.action for change in changes)
    parts = [f"{counted[action]} to {action.value}" for action in Action if counted[action]]
    number = len(plan.changes) - len(changes) + len(plan.stays)
    staying = [f"{number} to stay"] if number else []
    if not plan.changes and not plan.unchanged and not plan.stays:
        return "nothing to do: wmcb has put nothing on this machine"
    nothing = [] if plan.changes else ["nothing to do"]
    return ", ".join([*nothing, *parts, *staying, f"{len(plan.unchanged)} as they are to be"])


def of_result(done: Done) -> Iterator[str]:
    counted = Counter(change.action for change in done.plan.changes)
    parts = [f"{counted[action]} {_SHOWN_AS[action][2]}" for action in Action if counted[action]]
    yield ", ".join([*parts, f"{len(done.plan.unchanged)} as they were"])
    yield from done.left


def _interrupted(steps: int | None) -> Sequence[str]:
    if steps is None:
        return ()
    return (
        f"The last run was interrupted after {steps} steps: this one would go on from there,"
        " or take them back with --rollback.",
    )


def _change(change: Change, colours: Colours, *, details: bool) -> Iterator[str]:
    sign, colour, _ = _SHOWN_AS[change.action]
    key = change.target.key
    yield colours.paint(colour, f"{sign} {change.action.value:<9} {key}")
    if change.action is not Action.CREATE or details or key.kind in _SHOWN_WHEN_NEW:
        is_there = change.found is not None
        lines = shown_values.lines(change.target, change.differences, is_there=is_there, details=details)
        yield from (f"    {line}" for line in lines)


def _titled(title: str, lines: Iterable[str]) -> Sequence[str]:
    below = [f"  {line}" for line in lines]
    return [title, *below] if below else below


def _checks(found: Sequence[Finding], colours: Colours) -> Sequence[str]:
    is_refused = any(each.is_error for each in found)
    title = "Of this machine, which a run would refuse:" if is_refused else "Of this machine:"
    return _titled(
        title,
        (
            colours.paint("red" if each.is_error else "yellow", f"{each.verdict.value:<8}")
            + f" {each.check}: {each.text}"
            for each in found
        ),
    )


def _note_lines(notes: Sequence[Note]) -> Iterator[str]:
    for note in notes:
        change = (
            f" ({note.before or 'nothing'} -> {note.after or 'nothing'})" if note.before or note.after else ""
        )
        yield short(f"{note.effect.value:<8} {note.subject}{change}: {note.reason}")


def _legend(changes: Iterable[Change], colours: Colours) -> list[str]:
    used = {change.action for change in changes}
    shown = ((action, *_SHOWN_AS[action]) for action in Action if action in used)
    return [f"{colours.paint(colour, sign)} {action.value}" for action, sign, colour, _ in shown]


def short(line: str) -> str:
    line = redacted(line)
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 3] + "..."
