"""A machine that is to be an image: what must not be on it, since each of its copies would have it."""

import json
from collections.abc import Collection, Sequence

from agent.cli.arguments import Request
from agent.cli.asking import last_of
from agent.cli.command_line import called
from agent.cli.current_node import title_of
from agent.cli.failure import BadInput, Refused
from agent.cli.run_log import RunLog
from agent.cli.stages import Stage
from agent.engine.target import Target
from agent.host.port import Host
from agent.preflight import image
from agent.preflight.situation import Finding, Verdict
from agent.resources.sealing import is_secret
from agent.spec import HostName, Want


def findings(request: Request, host: Host, ignored: Collection[str]) -> Sequence[Finding]:
    """Whether this machine can be copied as it is; errors that are to be ignored are warnings."""
    title = title_of(host)
    reset = f"{called(request)} reset"
    text = f"it is a node ({title}); {reset} takes it out of that" if title else "it is no node"
    is_one = Finding(image.NODE, Verdict.ERROR if title else Verdict.GOOD, text)
    found = [is_one, *image.findings(host)]
    return [each.forgiven() if each.check in ignored else each for each in found]


def refuse_identity(request: Request, host: Host, stages: Sequence[Stage]) -> None:
    """Raises Refused where this is a node, or was one, and BadInput for a document that makes it this one."""
    if title := title_of(host):
        text = f"this machine is a node already ({title}); {called(request)} reset takes it out of that first"
        raise Refused(text)
    found = [
        Refused(f"{name} is of a node that this machine was; remove it, or an image has it", where=name)
        for name in image.of_a_node(host)
    ]
    if found:
        raise last_of(found)
    for stage in stages:
        for want in stage.specification.wants:
            if isinstance(want, HostName):
                raise _at_its_place(stage, want, "an image has no name: each of its copies gets one")
            if is_secret(json.dumps(Target.of(want).document())):
                text = (
                    "its password is sealed by a key of this machine: an image has none, give it to each copy"
                )
                raise _at_its_place(stage, want, text)


def _at_its_place(stage: Stage, want: Want, text: str) -> BadInput:
    entry = stage.origins[want.key].error(text)
    return BadInput(str(entry).removeprefix("error: "), where=entry.where)


def forget_this_machine(host: Host) -> None:
    """What was made stays known, and each copy goes on from there; what was said meanwhile does not."""
    RunLog(host).remove()
