"""`wmcb preflight`: whether this machine is fit to become a node, or to be copied. Changes nothing.

For programs: {"format": 1, "passed": true, "checks": [{"id", "verdict", "text"}, ...]}; a verdict is one of
"ok", "warning", "error" and "not checked". Ids keep their meaning; more may come.
"""

import sys
from collections.abc import Collection, Sequence
from dataclasses import replace

from agent.cli import checking, options
from agent.cli import kubelet_program as programs
from agent.cli.arguments import OUTPUT, Request
from agent.cli.asking import Asking, Wishes
from agent.cli.command_line import called
from agent.cli.failure import DONE, REFUSED, BadUsage, Failure
from agent.cli.inputs import asking_for, given_document, not_foreseen
from agent.cli.joined_node import title_of
from agent.cli.kubelet_program import HEAD, KubeletProgram, fault_of_program, kubelet_program
from agent.cli.machine import open_to_look
from agent.cli.plan_documents import check_documents
from agent.cli.streams import Colours, document, many, say
from agent.cli.wanted import wanted_node, wishes
from agent.host.port import Host
from agent.preflight import image
from agent.preflight.situation import Finding, Verdict
from agent.spec import Specification

_COLOURS = {Verdict.WARNING: "yellow", Verdict.ERROR: "red", Verdict.GOOD: "green"}


def show(request: Request) -> int:
    """REFUSED if an error remains."""
    if given_document(request) is options.USER_DATA:
        raise not_foreseen("preflight")
    host = open_to_look(request)
    if request.has(options.IMAGE):
        return _show_image(request, host)
    asking = asking_for(request, host)
    program, of_program = _program(request, host, asking)
    wished = wishes(request, host, asking, program)
    specification, of_document = _document(request, host, asking, wished)
    of_machine = checking.machine_findings(request, host, asking, specification)
    found = [*of_machine, of_program, of_document]
    return _told(request, found, "to become a node")


def _show_image(request: Request, host: Host) -> int:
    """Of what it might become nothing is asked: each copy may become another."""
    for option in options.FORESEEABLE:
        if option is not OUTPUT and request.has(option):
            raise option.misused(": an image is looked at as it is; ask for a node without --image")
    found = _findings_of_image(request, host, checking.ignored_checks(request, image.IDS))
    return _told(request, found, "to be an image")


def _findings_of_image(request: Request, host: Host, ignored: Collection[str]) -> Sequence[Finding]:
    """Whether this machine can be copied as it is; errors that are to be ignored are warnings."""
    title = title_of(host)
    reset = f"{called(request)} reset"
    text = f"it is a node ({title}); {reset} takes it out of that" if title else "it is no node"
    is_one = Finding(image.NODE, Verdict.ERROR if title else Verdict.GOOD, text)
    found = [is_one, *image.findings(host)]
    return [each.forgiven() if each.check in ignored else each for each in found]


def _told(request: Request, found: Sequence[Finding], purpose: str) -> int:
    passed = all(each.verdict is not Verdict.ERROR for each in found)
    if request.wants_json:
        say(document(passed=passed, checks=check_documents(found)))
    else:
        say(_table(found, purpose, Colours(sys.stdout)))
    return DONE if passed else REFUSED


def _program(request: Request, host: Host, asking: Asking) -> tuple[KubeletProgram | None, Finding]:
    if not request.has(asking.kubelet) and asking.join is None:
        return None, _not_given(programs.CHECK, asking.kubelet.name)
    try:
        program = kubelet_program(request, host, replace(asking, ignored=()))
        is_for_windows = fault_of_program(program.file.head(HEAD), of_this_system=False) is None
        kind = "a Windows program for x86-64" if is_for_windows else "a program of this system"
        told = f"{kind}, Kubernetes 1.{program.release().minor}"
    except BadUsage as fault:
        return _forgiven(request, host, asking, Finding(programs.CHECK, Verdict.ERROR, str(fault)))
    return program, Finding(programs.CHECK, Verdict.GOOD, told)


def _forgiven(
    request: Request, host: Host, asking: Asking, finding: Finding
) -> tuple[KubeletProgram | None, Finding]:
    """If a run would go on in spite of it, too: a file that is not there cannot be copied."""
    if finding.check not in asking.ignored:
        return None, finding
    try:
        program = kubelet_program(request, host, replace(asking, notice=lambda _: None))
    except BadUsage:
        return None, finding
    return program, finding.forgiven()


def _document(
    request: Request, host: Host, asking: Asking, wished: Wishes
) -> tuple[Specification | None, Finding]:
    check = checking.IGNITION_CHECK if asking.join is None else checking.CLUSTER_CHECK
    if asking.join is None and not request.has(asking.ignition):
        return None, _not_given(check, asking.ignition.name)
    if asking.join is not None and checking.errors_beforehand(request, host, asking):
        told = "the cluster is asked when what is amiss here has been put right"
        return None, Finding(check, Verdict.NOT_CHECKED, told)
    try:  # nobody can be forgiven this: without a document there is no node
        specification = wanted_node(request, host, asking, lambda: wished)
    except Failure as fault:
        for other in fault.others:
            asking.notice(str(other))
        return None, Finding(check, Verdict.ERROR, str(fault))
    return specification, Finding(check, Verdict.GOOD, specification.title)


def _not_given(check: str, option: str) -> Finding:
    return Finding(check, Verdict.NOT_CHECKED, f"no {option} is given")


def _table(found: Sequence[Finding], purpose: str, colours: Colours) -> str:
    widest = max(len(each.check) for each in found)
    lines = []
    for each in found:
        verdict = colours.paint(_COLOURS.get(each.verdict), f"{each.verdict.value:<11}")
        lines.append(f"{each.check:<{widest}}  {verdict}  {each.text}")
    errors = sum(each.verdict is Verdict.ERROR for each in found)
    warnings = sum(each.verdict is Verdict.WARNING for each in found)
    counted = f"{many(errors, 'error')}, {many(warnings, 'warning')}"
    lines.append(f"{counted}: this machine is {'not ' if errors else ''}fit {purpose}")
    return "\n".join(lines)
