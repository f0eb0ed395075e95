"""`--node-config FILE`: what a NodeConfiguration wants of this machine, by a file instead of a ConfigMap."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.cli import options, values
from agent.cli.asking import tell_report
from agent.cli.contents import Contents
from agent.cli.given import given_file
from agent.cli.means import means_of
from agent.cli.stages import Stage
from agent.engine.parts import CONFIGURED
from agent.sources.node_configuration import chosen, compile_node, read

if TYPE_CHECKING:
    from collections.abc import Sequence

    from agent.cli.arguments import Request
    from agent.cli.asking import Asking
    from agent.cli.given import GivenFile
    from agent.host.port import Host
    from agent.sources.node_configuration import NodeConfiguration

_LABELS = {"kubernetes.io/os": "windows", "kubernetes.io/arch": "amd64"}
"""Those that every Windows node has, also before it is one."""


def stage(request: Request, host: Host, asking: Asking) -> Stage:
    """Raises BadInput for a document that cannot be meant, in any part of it."""
    file = given_file(request, options.NODE_CONFIG, host)
    outcome = read(file.shown, file.read())
    tell_report(outcome.report, asking)
    node_name = _node_name(request, host, asking)
    mine = chosen(outcome.documents, node_name, {**_LABELS, "kubernetes.io/hostname": node_name})
    others = [each for each in outcome.documents if each not in mine]
    contents = Contents(host, means_of(request, host))
    for other in others:
        tell_report(compile_node([other], contents, file.shown).report, asking)
    stage = compiled(request, host, asking, CONFIGURED, file.shown, mine)
    _tell(file, mine, others, node_name, asking)
    return stage


def compiled(
    request: Request,
    host: Host,
    asking: Asking,
    part: str,
    title: str,
    documents: Sequence[NodeConfiguration],
) -> Stage:
    """What these documents want together. Raises BadInput."""
    contents = Contents(host, means_of(request, host))

    def again() -> Stage:
        found = compile_node(documents, contents, title)
        tell_report(found.report, asking)
        assert found.specification is not None, "a report without errors comes with a specification"
        what = f"make what {title} wants"
        return Stage(part, what, found.specification, contents, found.origins, found.artifacts, again)

    return again()


def _node_name(request: Request, host: Host, asking: Asking) -> str:
    if asking.join is not None:
        from agent.cli.join_configuration import name_of

        return name_of(asking.join, host)
    return values.node_name(request, options.NODE_NAME, host.facts.host_name()).lower()


def _tell(
    file: GivenFile,
    mine: Sequence[NodeConfiguration],
    others: Sequence[NodeConfiguration],
    node_name: str,
    asking: Asking,
) -> None:
    for other in others:
        asking.notice(f"{other.origin.error('').where}: it is for other nodes than {node_name}, and left out")
    if any(each.rollout or each.maintenance.paused for each in mine):
        asking.notice(
            f"{file.shown}: rollout and maintenance count where a ConfigMap is followed; here it is made now"
        )
    if any(each.program for each in mine):
        asking.notice(f"{file.shown}: self counts where a ConfigMap is followed, and is left out here")
