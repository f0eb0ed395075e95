"""`--node-config FILE`: what a NodeConfiguration wants of this machine, by a file instead of a ConfigMap."""

from collections.abc import Sequence

from agent.cli import options, values
from agent.cli.arguments import Request
from agent.cli.asking import Asking, tell_report, usable
from agent.cli.given import GivenFile, given_file, refuse_another_kind
from agent.cli.join_configuration import name_of
from agent.cli.machine import is_imagined, runs_programs
from agent.cli.means import means_of
from agent.cli.stages import Contents, Stage
from agent.engine.parts import CONFIGURED
from agent.host.port import Host
from agent.sources.node_configuration.compiling import chosen, compile_node
from agent.sources.node_configuration.model import LOG_RUNNER, NodeConfiguration
from agent.sources.node_configuration.reading import read
from agent.sources.report import Entry, Report
from agent.spec import File, Key, Specification

Documents = Sequence[NodeConfiguration]

_LABELS = {"kubernetes.io/os": "windows", "kubernetes.io/arch": "amd64"}
"""Those that every Windows node has, also before it is one."""


def stage(request: Request, host: Host, asking: Asking, first: Specification | None = None) -> Stage:
    """Raises BadInput for a document that cannot be meant, in any part of it. `first` is made before."""
    file = given_file(request, options.NODE_CONFIG, host)
    refuse_another_kind(file, options.NODE_CONFIG, host)
    outcome = read(file.shown, file.read())
    tell_report(outcome.report, asking)
    node_name = _node_name(request, host, asking)
    mine = chosen(outcome.documents, node_name, {**_LABELS, "kubernetes.io/hostname": node_name})
    others = [each for each in outcome.documents if each not in mine]
    contents = Contents(host, means_of(request, host))
    for other in others:
        tell_report(compile_node([other], contents, file.shown).report, asking)
    stage = compiled(request, host, asking, CONFIGURED, file.shown, mine, first)
    _tell(file, mine, others, node_name, asking)
    return stage


def compiled(
    request: Request,
    host: Host,
    asking: Asking,
    part: str,
    title: str,
    documents: Documents,
    first: Specification | None = None,
) -> Stage:
    """What these documents want together. Raises BadInput."""
    contents = Contents(host, means_of(request, host))

    def again() -> Stage:
        found = compile_node(documents, contents, title)
        specification = usable(found.specification, found.report, asking)
        if found.unwritten and not _brings_log_runner(host, first):
            _tell_unwritten(request, asking, found.unwritten)
        what = f"make what {title} wants"
        return Stage(part, what, specification, contents, found.origins, found.artifacts, again)

    return again()


def _brings_log_runner(host: Host, first: Specification | None) -> bool:
    is_brought = first is not None and Key(File.kind, str(LOG_RUNNER)) in first.by_key()
    return is_brought or host.files.observe(LOG_RUNNER) is not None


def _tell_unwritten(request: Request, asking: Asking, entries: Sequence[Entry]) -> None:
    """Raises BadInput where the service would be started, and could not be."""
    if runs_programs(request) and not is_imagined(request):
        tell_report(Report(tuple(entries)), asking)
    for each in entries:
        asking.warn(f"{each.where}: {each.message}")


def _node_name(request: Request, host: Host, asking: Asking) -> str:
    if asking.join is not None:
        return name_of(asking.join, host)
    return values.node_name(request, options.NODE_NAME, host.facts.host_name()).lower()


def _tell(file: GivenFile, mine: Documents, others: Documents, node_name: str, asking: Asking) -> None:
    for other in others:
        asking.notice(f"{other.origin.error('').where}: it is for other nodes than {node_name}, and left out")
    if any(each.rollout or each.maintenance.paused for each in mine):
        asking.notice(
            f"{file.shown}: rollout and maintenance count where a ConfigMap is followed; here it is made now"
        )
    if any(each.program for each in mine):
        asking.notice(f"{file.shown}: self counts where a ConfigMap is followed, and is left out here")
