"""`wmcb audit`: the CIS Kubernetes Benchmark's controls of a worker, on this machine.

For programs: {"format": 1, "benchmark", "passed", "controls": [{"id", "title", "result", "reason", "remedy",
"mended"}, ...]}; a result is one of "pass", "fail", "manual" and "no meaning". Ids are the benchmark's.
"""

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from agent.audit.controls import BENCHMARK, audited
from agent.audit.finding import Finding, Result
from agent.audit.running import KUBELET, Running, running
from agent.cli import options
from agent.cli.arguments import Request
from agent.cli.engine_run import display, looking, recorded
from agent.cli.failure import DONE, FAILED, Failure
from agent.cli.machine import open_as_administrator, open_to_look
from agent.cli.outlook import show_plan
from agent.cli.status import repairing_commands
from agent.cli.streams import Colours, document, many, say, tell
from agent.engine.inventory import read_state
from agent.engine.parts import AUDITED
from agent.engine.planning import differences, together
from agent.engine.repairing import drifted, missing, outlook, repair
from agent.engine.run import make_so, preview
from agent.engine.target import Record
from agent.host.errors import AccessDenied
from agent.host.port import Host
from agent.spec import File, Key, Protection, Specification, Want

RESTART = f"restart the service {KUBELET}: it reads its configuration when it starts"
_TITLE = "an audit"
_KEPT_OTHERWISE = "this machine keeps what was set in its own way"
_NOTHING_KNOWN: Mapping[Key, str] = {}
_COLOURS = {Result.PASS: "green", Result.FAIL: "red", Result.MANUAL: "yellow"}


def show(request: Request) -> int:
    """FAILED if a control fails, or still does when all has been mended that can be."""
    is_look = request.has(options.DRY_RUN)
    fixes = request.has(options.FIX)
    if is_look and not fixes:
        raise options.DRY_RUN.misused(f" goes with {options.FIX.name}: without that, nothing is changed")
    host = open_as_administrator(request) if fixes and not is_look else open_to_look(request)
    found, mended, known = _audited(request, host), frozenset[str](), _NOTHING_KNOWN
    wrong = [each for each in found if each.wants]
    if is_look:
        _foresee(request, host, found)
        return DONE
    if fixes and wrong:
        known = _mend(request, host, wrong)
        found = _audited(request, host)
        still = {each.id for each in found if each.result is Result.FAIL}
        mended = frozenset(each.id for each in wrong if each.id not in still)
    passed = all(each.result is not Result.FAIL for each in found)
    if request.wants_json:
        say(_document(found, mended, passed=passed))
    else:
        last = _after_fix(found, mended, known) if fixes else _before_fix(found)
        say(_table(found, mended, last, Colours(sys.stdout)))
    return DONE if passed else FAILED


def _audited(request: Request, host: Host) -> Sequence[Finding]:
    kubelet = running(host, KUBELET)
    if kubelet is None:
        raise Failure(f"there is no service {KUBELET} here, so there is no node to audit", where=KUBELET)
    return _within_reach(request, host, kubelet, audited(kubelet))


def _within_reach(
    request: Request, host: Host, kubelet: Running, found: Sequence[Finding]
) -> Sequence[Finding]:
    """Return the findings with what --fix can do about each, or else the command that can.

    A file that wmcb made and that has drifted is repaired as it was made, so what it held has to be kept
    here. Raises Failure where wmcb's own folder stands in the way of a fix.
    """
    if not any(each.wants or each.is_unread for each in found):
        return found
    try:
        with looking(host):
            found = _with_own_configuration(host, kubelet, found)
            commands = _commands_for_lost_contents(request, host, found)
    except AccessDenied:
        return found  # no administrator: what a fix could do is not known, and it is not asked for
    except Failure as fault:
        if request.has(options.FIX):
            raise
        tell(f"wmcb: warning: {fault}")
        return [replace(each, wants=()) for each in found]
    return [_but_lost(each, commands) for each in found]


def _with_own_configuration(host: Host, kubelet: Running, found: Sequence[Finding]) -> Sequence[Finding]:
    """Return the findings where one of a configuration that cannot be read wants the file that wmcb made.

    Raises CannotBeSo, HostError.
    """
    path = kubelet.configuration_path
    if path is None:
        return found
    with_file = [
        replace(each, wants=(File(path, None, Protection.PRIVATE),)) if each.is_unread else each
        for each in found
    ]
    own, _ = _shared(host, [each for each in with_file if each.is_unread])
    return with_file if own else found


def _commands_for_lost_contents(request: Request, host: Host, found: Sequence[Finding]) -> Mapping[Key, str]:
    """Return, for each file whose content --fix cannot bring back, what does.

    Raises CannotBeSo, HostError.
    """
    own, _ = _shared(host, found)
    if not own:
        return {}
    lost = missing(host, drifted(host, own.keys()).drifts)
    return repairing_commands(request, host, {Key(File.kind, path) for path in lost}) if lost else {}


def _but_lost(found: Finding, commands: Mapping[Key, str]) -> Finding:
    """Return the finding without what --fix cannot do, and with the command that does it as the remedy."""
    lost = [want.key for want in found.wants if want.key in commands and _is_about_content(found, want)]
    if not lost:
        return found
    wants = tuple(want for want in found.wants if want.key not in lost)
    return replace(found, wants=wants, remedy="; ".join(commands[key] for key in lost))


def _is_about_content(found: Finding, want: Want) -> bool:
    """Whether more of it is wanted than other rights."""
    return found.is_unread or getattr(want, "content", None) is not None


def _shared(host: Host, wrong: Sequence[Finding]) -> tuple[Mapping[Key, Record], Sequence[Want]]:
    """What wmcb made is made so again; all else becomes a part of its own, which a reset takes back."""
    wants = {want.key: want for each in wrong for want in each.wants}
    records = read_state(host)[1].records
    own = {key: records[key] for key in wants if key in records and records[key].parts != (AUDITED,)}
    return own, _in_order([want for key, want in wants.items() if key not in own])


def _foresee(request: Request, host: Host, found: Sequence[Finding]) -> None:
    """What a fix would change, on standard output, and what it would leave to a command that made it."""
    wrong = [each for each in found if each.wants]
    left = [
        f"{each.id} remains: {each.reason}; {each.remedy}"
        for each in found
        if each.result is Result.FAIL and not each.wants
    ]
    with looking(host):
        own, others = _shared(host, wrong)
        plans = [outlook(host, own.keys()).plan] if own else []
        if others:
            plans.append(preview(host, Specification.of(others), beside=True, part=AUDITED))
    if plans or request.wants_json:
        show_plan(request, host, together(plans), also=_afterwards(others), anyhow=left)
    else:
        say("\n".join([f"nothing to do: there is nothing that {options.FIX.name} could repair", *left]))


def _mend(request: Request, host: Host, wrong: Sequence[Finding]) -> Mapping[Key, str]:
    """Why something may still not be right then, where that is known."""
    own, others = _shared(host, wrong)
    known = {
        key: _KEPT_OTHERWISE
        for key, each in own.items()
        if each.settled and differences(each.target, each.settled, None)
    }
    with recorded(host, "put right what the audit found", display(request)) as told:
        if own:
            repaired = repair(host, told, own)
            for drift in repaired.left:
                if why := "; ".join(line for line in repaired.trouble if drift.key.shown in line):
                    known[drift.key] = why
        if others:
            done = make_so(host, Specification.of(others, title=_TITLE), told, beside=True, part=AUDITED)
            known |= {key: _KEPT_OTHERWISE for key, _ in done.kept_otherwise}
        for remark in _afterwards(others):
            told.remark(remark)
    return known


def _afterwards(wants: Iterable[Want]) -> Sequence[str]:
    if any(isinstance(want, File) and want.content is not None for want in wants):
        return [RESTART]
    return []


def _in_order(wants: Sequence[Want]) -> Sequence[Want]:
    """Folders first: what is in one is judged by it."""
    return sorted(wants, key=lambda want: (want.key.kind != "directory", want.key.name))


def _table(found: Sequence[Finding], mended: Collection[str], last: Iterable[str], colours: Colours) -> str:
    lines = []
    for each in found:
        result = colours.paint(_COLOURS.get(each.result), f"{each.result.value:<10}")
        told = " (put right just now)" if each.id in mended else ""
        lines.append(f"{each.id:<6}  {result}  {each.title}: {each.reason}{told}")
        if each.remedy:
            lines.append(f"{'':<20}{each.remedy}")
    return "\n".join([*lines, *last])


def _before_fix(found: Sequence[Finding]) -> Iterator[str]:
    failed = sum(each.result is Result.FAIL for each in found)
    fixable = sum(bool(each.wants) for each in found)
    advice = f"; {options.FIX.name} puts {fixable} right" if fixable else ""
    yield f"{BENCHMARK}: {many(failed, 'failure')}{advice}"


def _after_fix(found: Sequence[Finding], mended: Collection[str], known: Mapping[Key, str]) -> Iterator[str]:
    """What was done, and what is left to a person, and why as far as that is `known`."""
    failed = [each for each in found if each.result is Result.FAIL]
    remain = "remains" if len(failed) == 1 else "remain"
    yield f"{BENCHMARK}: {len(mended)} put right, {many(len(failed), 'failure')} {remain}"
    for each in failed:
        why = _why(each, known) if each.wants else f"{options.FIX.name} leaves it to you"
        yield f"  {each.id} remains, {why}: {each.reason}; {each.remedy}"
    if judged := [each.id for each in found if each.result is Result.MANUAL]:
        yield f"  for a person to judge: {', '.join(judged)}"


def _why(remaining: Finding, known: Mapping[Key, str]) -> str:
    reasons = dict.fromkeys(known[want.key] for want in remaining.wants if want.key in known)
    return "; ".join(reasons) or "it was found again after it had been put right"


def _document(found: Sequence[Finding], mended: Collection[str], *, passed: bool) -> str:
    controls = [
        {
            "id": each.id,
            "title": each.title,
            "result": each.result.value,
            "reason": each.reason,
            "remedy": each.remedy,
            "mended": each.id in mended,
        }
        for each in found
    ]
    return document(benchmark=BENCHMARK, passed=passed, controls=controls)
