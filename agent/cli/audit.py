"""`wmcb audit`: the CIS Kubernetes Benchmark's controls of a worker, on this machine.

For programs: {"format": 1, "benchmark", "passed", "controls": [{"id", "title", "result", "reason", "remedy",
"mended"}, ...]}; a result is one of "pass", "fail", "manual" and "no meaning". Ids are the benchmark's.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from agent.audit.controls import BENCHMARK, audited
from agent.audit.finding import Result
from agent.audit.running import KUBELET, running
from agent.cli import options
from agent.cli.colours import Colours
from agent.cli.documents import document
from agent.cli.failure import DONE, FAILED, Failure
from agent.cli.machine import open_as_administrator, open_to_look
from agent.cli.streams import say
from agent.cli.wording import many

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from agent.audit.finding import Finding
    from agent.cli.arguments import Request
    from agent.host.port import Host
    from agent.spec import Want

_PART = "audit"
_COLOURS = {Result.PASS: "green", Result.FAIL: "red", Result.MANUAL: "yellow"}


def show(request: Request) -> int:
    """FAILED if a control fails, or still does when all has been mended that can be."""
    fixes = request.has(options.FIX)
    host = open_as_administrator(request) if fixes else open_to_look(request)
    found, mended = _audited(host), frozenset[str]()
    if fixes and (wrong := [each for each in found if each.wants]):
        _mend(request, host, wrong)
        found = _audited(host)
        still = {each.id for each in found if each.result is Result.FAIL}
        mended = frozenset(each.id for each in wrong if each.id not in still)
    passed = all(each.result is not Result.FAIL for each in found)
    if request.wants_json:
        say(_document(found, mended, passed=passed))
    else:
        say(_table(found, mended, Colours(sys.stdout), fixes=fixes))
    return DONE if passed else FAILED


def _audited(host: Host) -> Sequence[Finding]:
    kubelet = running(host, KUBELET)
    if kubelet is None:
        raise Failure(f"there is no service {KUBELET} here, so there is no node to audit", where=KUBELET)
    return audited(kubelet)


def _mend(request: Request, host: Host, wrong: Sequence[Finding]) -> None:
    """What wmcb made is made so again; all else becomes a part of its own, which a reset takes back."""
    from agent.cli.engine_run import recorded
    from agent.cli.progress import display
    from agent.engine.inventory import Inventory
    from agent.engine.repairing import repair
    from agent.engine.run import make_so
    from agent.engine.state_folder import StateFolder
    from agent.release import RELEASE
    from agent.spec import Specification

    wants = {want.key: want for each in wrong for want in each.wants}
    records = Inventory.load(StateFolder.of(host)).records
    own = [key for key in wants if key in records and records[key].parts != (_PART,)]
    others = tuple(want for key, want in wants.items() if key not in own)
    with recorded(host, "put right what the audit found", display(request)) as told:
        if own:
            repair(host, RELEASE, told, own)
        if others:
            make_so(host, Specification.of(_in_order(others)), RELEASE, told, beside=True, part=_PART)
        if _has_configuration(others):
            told.remark(f"restart the service {KUBELET}: it reads its configuration when it starts")


def _in_order(wants: Sequence[Want]) -> Sequence[Want]:
    """Folders first: what is in one is judged by it."""
    return sorted(wants, key=lambda want: (want.key.kind != "directory", want.key.name))


def _has_configuration(wants: Sequence[Want]) -> bool:
    from agent.spec import File

    return any(isinstance(want, File) and want.content is not None for want in wants)


def _table(found: Sequence[Finding], mended: Collection[str], colours: Colours, *, fixes: bool) -> str:
    lines = []
    for each in found:
        result = f"{each.result.value:<10}"
        if each.result in _COLOURS:
            result = colours.paint(_COLOURS[each.result], result)
        told = " (put right just now)" if each.id in mended else ""
        lines.append(f"{each.id:<6}  {result}  {each.title}: {each.reason}{told}")
        if each.remedy:
            lines.append(f"{'':<20}{each.remedy}")
    return "\n".join([*lines, *(_after_fix(found, mended) if fixes else _before_fix(found))])


def _before_fix(found: Sequence[Finding]) -> Iterator[str]:
    failed = sum(each.result is Result.FAIL for each in found)
    fixable = sum(bool(each.wants) for each in found)
    advice = f"; {options.FIX.name} puts {fixable} right" if fixable else ""
    yield f"{BENCHMARK}: {many(failed, 'failure')}{advice}"


def _after_fix(found: Sequence[Finding], mended: Collection[str]) -> Iterator[str]:
    """What was done, and what is left to a person, and why."""
    failed = [each for each in found if each.result is Result.FAIL]
    remain = "remains" if len(failed) == 1 else "remain"
    yield f"{BENCHMARK}: {len(mended)} put right, {many(len(failed), 'failure')} {remain}"
    for each in failed:
        why = "something changes it again" if each.wants else f"{options.FIX.name} leaves it to you"
        yield f"  {each.id} remains, {why}: {each.reason}; {each.remedy}"
    if judged := [each.id for each in found if each.result is Result.MANUAL]:
        yield f"  for a person to judge: {', '.join(judged)}"


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
