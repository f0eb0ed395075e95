"""What a command makes so before the node itself, or in its place: each part in a run of its own.

What a NodeConfiguration wants of this machine is one, by --node-config FILE instead of a ConfigMap. Contents
that a document names by URL or path are fetched before a run begins, which may stop services.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agent.artifacts.means import Means, is_url
from agent.artifacts.receiving import Progress
from agent.artifacts.stock import Stock, contents_of
from agent.cli import options, values
from agent.cli.arguments import Request
from agent.cli.asking import Asking, last_of, tell_report, usable
from agent.cli.command_line import command_line
from agent.cli.engine_run import display, looking, recorded
from agent.cli.failure import BadInput, Failure
from agent.cli.given import GivenFile, given_file, refuse_another_kind
from agent.cli.join_configuration import name_of
from agent.cli.machine import is_imagined, runs_programs
from agent.cli.means import Fetching, means_of
from agent.cli.outlook import foreseen_of
from agent.engine import run as engine
from agent.engine.parts import CONFIGURED, Taken
from agent.engine.planning import Plan
from agent.engine.run import Done
from agent.engine.state_folder import StateFolder
from agent.host.errors import HostError
from agent.host.port import Host
from agent.resources.kind import CannotBeSo, NotWell
from agent.sources.node_configuration.compiling import chosen, compile_node
from agent.sources.node_configuration.model import LOG_RUNNER, NodeConfiguration
from agent.sources.node_configuration.reading import read
from agent.sources.report import Entry, Origin, Report
from agent.sources.urls import shown
from agent.spec import Artifact, File, Key, Lying, Specification

Documents = Sequence[NodeConfiguration]

_LABELS = {"kubernetes.io/os": "windows", "kubernetes.io/arch": "amd64"}
"""Those that every Windows node has, also before it is one."""


class Unfetched(Exception):
    """By the names of artifacts, or the paths of files, why they cannot be had."""

    def __init__(self, failures: Mapping[str, str]) -> None:
        super().__init__("; ".join(failures.values()))
        self.failures = failures


class Contents:
    def __init__(self, host: Host, means: Means) -> None:
        self._state = StateFolder.of(host)
        self._stock = Stock(host, self._state.given, means)

    def resolved(self, artifact: Artifact) -> Artifact | None:
        return self._stock.resolved(artifact)

    def content(self, sha256: str) -> Lying:
        return self._stock.content(sha256)

    def fetch_for(self, plan: Plan, artifacts: Sequence[Artifact], progress: Progress) -> None:
        """What files need that do not hold it yet, and that of which nobody knows what is in it.

        Raises Unfetched, HostError.
        """
        needed = contents_of(plan)
        if not any(self._stock.lacks(artifact, needed) for artifact in artifacts):
            return
        self._state.ensure()
        failures = self._stock.supply(artifacts, needed, progress)
        if failures:
            raise Unfetched(failures)

    def clear(self) -> None:
        """Nothing of it is needed any more."""
        self._stock.clear()


@dataclass(frozen=True, slots=True)
class Stage:
    part: str
    what: str
    """What the log and Windows' events call it."""
    specification: Specification
    contents: Contents | None = None
    origins: Mapping[Key, Origin] = field(default_factory=dict)
    """Where a person has said what is wanted."""
    artifacts: Sequence[Artifact] = ()
    """What has to be fetched for it, unless nothing of it is needed."""
    again: Callable[[], Stage] | None = None
    """The same, of what is known by now."""


def foreseen(host: Host, stage: Stage) -> Plan:
    """What `make` would do. Raises Failure."""
    with looking(host):
        try:
            return engine.preview(host, stage.specification, part=stage.part)
        except CannotBeSo as fault:
            raise _at_its_place(fault, stage) from fault


def make(request: Request, host: Host, stage: Stage) -> Done:
    """Raises Failure."""
    with recorded(host, stage.what, display(request), foreseen_of) as told:
        stage = _fetched(host, stage, Fetching(told))
        try:
            command = command_line(request)
            done = engine.make_so(host, stage.specification, told, command=command, part=stage.part)
        except CannotBeSo as fault:
            raise _at_its_place(fault, stage) from fault
        except engine.TakenBack as failure:
            cause = _step_at_its_place(failure, stage)
            if cause is None:
                raise
            raise engine.TakenBack(failure.undone, failure.at) from cause
        if stage.contents is not None:
            stage.contents.clear()
        return done


def _fetched(host: Host, stage: Stage, progress: Fetching) -> Stage:
    """With all that it needs at hand. What cannot be had now may be gone on with by the next run."""
    contents = stage.contents
    if contents is None:
        return stage
    try:
        contents.fetch_for(foreseen(host, stage), stage.artifacts, progress)
        if stage.again is not None and any(each.files is None for each in stage.artifacts):
            stage = stage.again()
            contents.fetch_for(foreseen(host, stage), stage.artifacts, progress)
    except Unfetched as fault:
        raise _unfetched(fault, stage) from fault
    return stage


def _unfetched(fault: Unfetched, stage: Stage) -> Failure:
    sources = {each.name: each.source for each in stage.artifacts}
    failures = [_of_artifact(name, sources[name], why, stage) for name, why in fault.failures.items()]
    first, *others = sorted(failures, key=str)
    return Failure(str(first), where=first.where, others=others)


def _of_artifact(name: str, source: str, why: str, stage: Stage) -> Failure:
    """A file that is fetched by itself is known by its path."""
    origin = stage.origins.get(Key("artifact", name)) or stage.origins[Key("file", name)]
    place = f" from {shown(source)}" if is_url(source) else ""
    return _told_at(origin, f"its content cannot be fetched{place}: {why}")


def _at_its_place(fault: CannotBeSo, stage: Stage) -> Failure:
    """All that stands in the way, each where it was asked for."""
    as_what = BadInput if isinstance(fault, Taken) else Failure
    failures = [_told_at(stage.origins.get(key), text, as_what) for key, text in fault.faults.items()]
    return last_of(failures) if failures else Failure(str(fault))


def _step_at_its_place(failure: engine.TakenBack, stage: Stage) -> Failure | None:
    """What made a step fail, where it was asked for; None for what was not asked for in a document."""
    origin, cause = stage.origins.get(failure.at) if failure.at else None, failure.__cause__
    if origin is None or not isinstance(cause, HostError | CannotBeSo | NotWell):
        return None
    return _told_at(origin, str(cause), details=cause.details if isinstance(cause, NotWell) else ())


def _told_at(
    origin: Origin | None, text: str, as_what: type[Failure] = Failure, details: Sequence[str] = ()
) -> Failure:
    if origin is None:
        return Failure(text, details=details)
    entry = origin.error(text)
    return as_what(f"{entry.where}: {text}", where=entry.where, details=details)


def beside(stage: Stage, specification: Specification) -> Specification:
    """What there will be in the end, to be judged as a whole."""
    wants = {**stage.specification.by_key(), **specification.by_key()}
    return Specification.of(wants.values(), specification.notes, specification.title)


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
