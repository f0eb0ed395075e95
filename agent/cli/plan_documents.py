"""A plan, a status and a result, for programs (see agent.cli.streams for what all documents have).

A resource is [kind, name], such as ["service", "kubelet"]; values are shown as a person sees them, secrets so
that two of them can be told apart within one document.

    plan, --dry-run, and what was done:
        format      1
        pauses      resources that are stopped first
        changes     in their order: action ("create", "change", "restart", "remove", "give back"), resource,
                    differences (field; found, null where there is nothing yet; wanted); of what goes, what
                    somebody has changed since it was made
        unchanged   resources that are as wanted
        notes       what of the documents was not taken as it stands: effect ("changed", "dropped", "added",
                    "ignored", "warning"), subject, reason, before, after
        remarks     what else somebody should know of it, in lines
    only of a plan:
        interrupted whether the last run was cut off, and a run would go on from there
        checks      of preflight those that a run would warn of or stop at: id, verdict, text
        stays       resources that were to go and cannot: remarks tell why
        data        folders that go with what a node's programs put into them: folder, files (how many),
                    is_all (false if there are more than were counted), names (of what lies directly in it)
    only of what was done:
        left        what had to stay, in lines
        awaiting    what takes effect when Windows has been restarted, in lines
        put_off     resources that cannot be made before that; the same again, after it, makes them
        exit_code   of user data alone, whose several runs are told as one: 0, or what its commands ask of
                    cloudbase-init (1001 to 1003)
    status:
        format      1
        title       what the node was made from
        outstanding null, or of user data that was not carried out to its end: "join", or "rest" for what
                    comes after that
        command     how somebody asked for this node last, in words of the command line, *** for what is
                    secret; null where that is not known
        interrupted whether the last run did not come to its end
        under_way   whether a run is at work just now
        awaiting    what takes effect when Windows has been restarted, in lines
        resources   resource, there (whether it exists), differences as above, unseen (null, or why nobody can
                    tell how it is), leaving (whether a reset could not take it back)
        logs        by path, the last lines of what the services' programs write
        resident    null where the resident service is not installed, or its state: "running", "stopped",
                    "start_pending", "stop_pending" ...
        pause       null, or of the resident service's repairs: until (seconds since 1970, null for no end)
        following   null, or of the ConfigMap that the resident service follows: config_map (namespace/name),
                    is_signed (whether it has to be), state ("waiting" until it has been seen, "applied",
                    "pending", "refused", "failed", "missing"), error (a line, or null), unheard (why nothing
                    is heard of it just now, or null), applied (a hash of what it wants of this node, as that
                    was made last), resource_version (in which that was first seen), turn (when this node's
                    turn comes, in seconds since 1970, or null), pause (null, or the reason that the cluster
                    gives for one)

What a run shows of these on standard output is all of it: warnings and progress go to standard error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.cli.losses import Losses, Outlook
from agent.cli.shown_values import both_shown, shown
from agent.cli.streams import document
from agent.engine.planning import Change, Difference, Plan
from agent.engine.repairing import Outlook as Repair
from agent.engine.run import Done, Standing, Status, together
from agent.engine.target import Target
from agent.host.services import ServiceState
from agent.redaction import redacted_name
from agent.resources.kind import Value
from agent.sources.node_names import outstanding
from agent.spec import Key, Note
from service.pausing import Pause

if TYPE_CHECKING:
    from agent.preflight.situation import Finding


def plan_document(plan: Plan, outlook: Outlook) -> str:
    return document(
        **_of_plan(plan, outlook.losses),
        interrupted=outlook.interrupted is not None,
        checks=check_documents(outlook.checks),
        remarks=list(outlook.remarks),
        stays=[_key_document(key) for key in outlook.losses.staying],
        data=[{**asdict(each), "folder": str(each.folder)} for each in outlook.losses.data],
    )


def result_document(done: Done, remarks: Sequence[str] = (), **more: int) -> str:
    return document(
        **_of_plan(done.plan),
        left=list(done.left),
        remarks=list(remarks),
        awaiting=list(done.awaiting.values()),
        put_off=[_key_document(key) for key in done.put_off],
        **more,
    )


def user_data_document(
    made: Sequence[Done], notes: Sequence[Note], remarks: Sequence[str], exit_code: int
) -> str:
    """`notes` are those of the user data itself."""
    done = together(made)
    plan = replace(done.plan, notes=(*notes, *done.plan.notes))
    return result_document(replace(done, plan=plan), remarks, exit_code=exit_code)


def status_document(
    status: Status,
    logs: Mapping[PureWindowsPath, Sequence[str]],
    resident: ServiceState | None,
    pause: Pause | None,
    following: Mapping[str, Value] | None,
) -> str:
    return document(
        title=status.title,
        outstanding=outstanding(status.title),
        command=status.command or None,
        interrupted=status.interrupted,
        under_way=status.under_way,
        awaiting=list(status.awaiting),
        resources=[
            {
                "resource": _key_document(standing.record.target.key),
                "there": standing.found is not None,
                "differences": _difference_documents(standing.record.target, _judged(standing)),
                "unseen": standing.unseen or None,
                "leaving": standing.record.is_leaving,
            }
            for standing in status.resources
        ],
        logs={str(path): list(lines) for path, lines in logs.items()},
        resident=None if resident is None else resident.name.lower(),
        pause=None if pause is None else {"until": None if pause.until is None else int(pause.until)},
        following=following,
    )


def repair_document(outlook: Repair) -> str:
    plan = outlook.plan
    return document(
        pauses=[_key_document(target.key) for target in plan.pauses],
        changes=[_change_document(change, change.differences) for change in plan.changes],
        starts=[_key_document(change.target.key) for change in plan.resumes],
        left=[{"resource": _key_document(each.key), "fields": list(each.fields)} for each in outlook.left],
    )


def check_documents(found: Sequence[Finding]) -> list[dict[str, str]]:
    return [{"id": each.check, "verdict": each.verdict.value, "text": each.text} for each in found]


def _judged(standing: Standing) -> Sequence[Difference]:
    return standing.differences if standing.found is not None else ()


def _of_plan(plan: Plan, losses: Losses | None = None) -> Mapping[str, Value]:
    changed = {change.target.key: found for change, found in losses.changed} if losses else {}
    staying = losses.staying if losses else {}
    return {
        "pauses": [_key_document(target.key) for target in plan.pauses],
        "changes": [
            _change_document(change, changed.get(change.target.key, change.differences))
            for change in plan.changes
            if change.target.key not in staying
        ],
        "unchanged": [_key_document(match.target.key) for match in plan.unchanged],
        "notes": [{**asdict(note), "effect": note.effect.value} for note in plan.notes],
    }


def _change_document(change: Change, differences: Sequence[Difference]) -> Value:
    return {
        "action": change.action.value,
        "resource": _key_document(change.target.key),
        "differences": _difference_documents(change.target, differences),
    }


def _difference_documents(target: Target, differences: Sequence[Difference]) -> Sequence[Value]:
    return [_difference_document(target, each) for each in differences]


def _difference_document(target: Target, each: Difference) -> Value:
    if each.found is None:
        return {"field": each.field, "found": None, "wanted": shown(target, each.field, each.wanted)}
    found, wanted = both_shown(target, each)
    return {"field": each.field, "found": found, "wanted": wanted}


def _key_document(key: Key) -> Value:
    return [key.kind, redacted_name(key.name)]
