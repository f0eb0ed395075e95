"""A plan, a status and a result, for people and for programs.

Of the documents for programs (see agent.cli.documents) a resource is [kind, name], such as
["service", "kubelet"]; values are shown as a person sees them, secrets so that two of them can be told apart
within one document.

    plan, --dry-run, and what was done:
        format      1
        pauses      resources that are stopped first
        changes     in their order: action ("create", "change", "restart", "remove", "give back"), resource,
                    differences (field; found, null where there is nothing yet; wanted)
        unchanged   resources that are as wanted
        notes       what of the documents was not taken as it stands: effect ("changed", "dropped", "added",
                    "ignored", "warning"), subject, reason, before, after
        left        only of what was done: what had to stay, in lines for a person
        remarks     only of what was done: what else somebody should know of it, in lines
    status:
        format      1
        title       what the node was made from
        interrupted whether the last run did not come to its end
        resources   resource, there (whether it exists), differences as above
        logs        by path, the last lines of what the services' programs write

What a run shows of these on standard output is all of it: warnings and progress go to standard error.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from agent.cli.documents import document
from agent.engine.planning import Action
from agent.engine.target import to_document
from agent.resources.kind import veiled
from agent.sources.kubelet import flags
from agent.spec import Effect

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import PureWindowsPath
    from typing import TypeGuard

    from agent.cli.colours import Colours
    from agent.engine.planning import Change, Difference, Plan
    from agent.engine.run import Done, Standing, Status
    from agent.engine.target import Target
    from agent.resources.kind import Value
    from agent.spec import Note

    Logs = Mapping[PureWindowsPath, Sequence[str]]

_SIGNS = {
    Action.CREATE: ("+", "green"),
    Action.CHANGE: ("~", "yellow"),
    Action.RESTART: ("!", "yellow"),
    Action.REMOVE: ("-", "red"),
    Action.GIVE_BACK: ("<", "red"),
}
_LONGEST_LINE = 300


# For people


def of_plan(plan: Plan, colours: Colours, *, details: bool) -> str:
    """`details` shows also what was changed on the way to Windows without being asked about."""
    lines = []
    for change in plan.changes:
        sign, colour = _SIGNS[change.action]
        lines.append(colours.paint(colour, f"{sign} {change.action.value:<9} {change.target.key}"))
        if change.action is not Action.CREATE or details or change.target.key.kind == "service":
            lines += [f"    {line}" for line in _differences(change.target, change.differences)]
    notes = [note for note in plan.notes if details or note.effect is not Effect.ADDED]
    if notes:
        lines += ["", "Of the documents:", *_note_lines(notes)]
    lines += ["", _legend(plan.changes, colours)] if plan.changes else []
    lines.append(counts(plan))
    return "\n".join(lines)


def counts(plan: Plan) -> str:
    counted = Counter(change.action for change in plan.changes)
    parts = [f"{counted[action]} to {action.value}" for action in Action if counted[action]]
    return ", ".join([*parts, f"{len(plan.unchanged)} as they are to be"])


def of_result(done: Done) -> Iterator[str]:
    counted = Counter(change.action for change in done.plan.changes)
    words = {
        Action.CREATE: "created",
        Action.CHANGE: "changed",
        Action.RESTART: "restarted",
        Action.REMOVE: "removed",
        Action.GIVE_BACK: "given back",
    }
    parts = [f"{counted[action]} {words[action]}" for action in Action if counted[action]]
    yield ", ".join([*parts, f"{len(done.plan.unchanged)} as they were"])
    yield from done.left


def of_status(status: Status, logs: Logs, colours: Colours) -> str:
    lines = []
    drifted = 0
    for standing in status.resources:
        key = standing.record.target.key
        if standing.found is None:
            drifted += 1
            lines.append(colours.paint("red", f"- {key} is gone"))
        elif standing.differences:
            drifted += 1
            lines.append(colours.paint("yellow", f"~ {key}"))
            lines += [f"    {line}" for line in _differences(standing.record.target, standing.differences)]
    for path, last in logs.items():
        lines += [f"Last lines of {path}:", *(f"    {_short(line)}" for line in last)]
    as_wanted = len(status.resources) - drifted
    if status.interrupted:
        lines.append(
            "the last run was interrupted: run it again to finish it, or with --rollback to take it back"
        )
    lines.append(
        f"{as_wanted} of {len(status.resources)} as wanted" + (f", from {status.title}" * bool(status.title))
    )
    return "\n".join(lines)


def _differences(target: Target, differences: Iterable[Difference]) -> Iterator[str]:
    for each in differences:
        wanted = _shown(target, each.field, each.wanted)
        if each.found is None:
            yield f"{each.field}: {wanted}"
        elif _are_words(each.found) and _are_words(each.wanted) and sorted(each.found) != sorted(each.wanted):
            yield f"{each.field}:"
            yield from (f"  {line}" for line in _other_words(each.found, each.wanted))
        else:
            yield f"{each.field}: {_shown(target, each.field, each.found)} -> {wanted}"


def _other_words(found: Sequence[str], wanted: Sequence[str]) -> Iterator[str]:
    """Of a command line with fifty flags the one that differs."""
    before, after = Counter(_without_secrets(found)), Counter(_without_secrets(wanted))
    yield from (f"- {word}" for word in (before - after).elements())
    yield from (f"+ {word}" for word in (after - before).elements())


def _shown(target: Target, field: str, value: Value) -> str:
    shown = _without_secrets(value) if _are_words(value) else value
    return target.kind.shown(field, shown, target.manner)


def _are_words(value: Value) -> TypeGuard[Sequence[str]]:
    return isinstance(value, list | tuple) and all(isinstance(word, str) for word in value)


def _without_secrets(words: Sequence[str]) -> list[str]:
    """A command line, the values of flags that are called a token, a password or a key veiled."""
    shown = []
    is_secret = False
    for word in words:
        name, equals, value = word.partition("=")
        if word.startswith("--"):
            is_secret = flags.is_secret(name[2:])
            shown.append(f"{name}={veiled(value)}" if is_secret and equals else word)
            is_secret = is_secret and not equals
        else:
            shown.append(veiled(word) if is_secret else word)
            is_secret = False
    return shown


def _note_lines(notes: Sequence[Note]) -> Iterator[str]:
    for note in notes:
        change = (
            f" ({note.before or 'nothing'} -> {note.after or 'nothing'})" if note.before or note.after else ""
        )
        yield _short(f"  {note.effect.value:<8} {note.subject}{change}: {note.reason}")


def _legend(changes: Iterable[Change], colours: Colours) -> str:
    used = {change.action for change in changes}
    signs = [
        colours.paint(_SIGNS[action][1], _SIGNS[action][0]) + f" {action.value}"
        for action in Action
        if action in used
    ]
    return "  ".join(signs)


def _short(line: str) -> str:
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 3] + "..."


# For programs


def plan_document(plan: Plan) -> str:
    return document(**_of_plan(plan))


def result_document(done: Done, remarks: Sequence[str] = ()) -> str:
    return document(**_of_plan(done.plan), left=list(done.left), remarks=list(remarks))


def status_document(status: Status, logs: Logs) -> str:
    return document(
        title=status.title,
        interrupted=status.interrupted,
        resources=[
            {
                "resource": to_document(standing.record.target.key),
                "there": standing.found is not None,
                "differences": _difference_documents(standing.record.target, _judged(standing)),
            }
            for standing in status.resources
        ],
        logs={str(path): list(lines) for path, lines in logs.items()},
    )


def _judged(standing: Standing) -> Sequence[Difference]:
    return standing.differences if standing.found is not None else ()


def _of_plan(plan: Plan) -> Mapping[str, Value]:
    return {
        "pauses": [to_document(target.key) for target in plan.pauses],
        "changes": [
            {
                "action": change.action.value,
                "resource": to_document(change.target.key),
                "differences": _difference_documents(change.target, change.differences),
            }
            for change in plan.changes
        ],
        "unchanged": [to_document(match.target.key) for match in plan.unchanged],
        "notes": [
            {
                "effect": note.effect.value,
                "subject": note.subject,
                "reason": note.reason,
                "before": note.before,
                "after": note.after,
            }
            for note in plan.notes
        ],
    }


def _difference_documents(target: Target, differences: Sequence[Difference]) -> Sequence[Value]:
    return [
        {
            "field": each.field,
            "found": None if each.found is None else _shown(target, each.field, each.found),
            "wanted": _shown(target, each.field, each.wanted),
        }
        for each in differences
    ]
