"""What a command makes so before the node itself, or in its place: each part in a run of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from agent.artifacts.means import is_url
from agent.cli.arguments import Request
from agent.cli.asking import last_of
from agent.cli.command_line import command_line
from agent.cli.contents import Contents, Unfetched
from agent.cli.engine_run import recorded
from agent.cli.failure import BadInput, Failure
from agent.cli.looking import looking
from agent.cli.means import Fetching
from agent.cli.outlook import foreseen_of
from agent.cli.progress import display
from agent.engine import run as engine
from agent.engine.parts import Taken
from agent.engine.planning import Plan
from agent.engine.run import Done
from agent.host.errors import HostError
from agent.host.port import Host
from agent.resources.kind import CannotBeSo, NotWell
from agent.sources.report import Origin
from agent.sources.urls import shown
from agent.spec import Artifact, Key, Specification


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
