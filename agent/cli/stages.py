"""What a command makes so before the node itself, or in its place: each part in a run of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.cli.engine_run import recorded
from agent.cli.failure import BadInput, Failure
from agent.cli.looking import looking
from agent.cli.outlook import foreseen_of
from agent.cli.progress import display
from agent.engine import run as engine
from agent.engine.parts import Taken
from agent.fetch.failure import Failed
from agent.records import field, frozen
from agent.release import RELEASE
from agent.spec import Specification

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent.cli.arguments import Request
    from agent.cli.contents import Contents
    from agent.engine.planning import Plan
    from agent.engine.run import Done
    from agent.host.port import Host
    from agent.sources.node_configuration.model import Origin
    from agent.spec import Key


@frozen
class Stage:
    part: str
    what: str
    """What the log and Windows' events call it."""
    specification: Specification
    contents: Contents | None = None
    origins: Mapping[Key, Origin] = field(default_factory=dict)
    """Where a person has said what is wanted."""


def foreseen(host: Host, stage: Stage) -> Plan:
    """What `make` would do. Raises Failure."""
    with looking():
        try:
            return engine.preview(host, stage.specification, part=stage.part)
        except Taken as fault:
            raise _at_its_place(fault, stage) from fault


def make(request: Request, host: Host, stage: Stage) -> Done:
    """Raises Failure."""
    with recorded(host, stage.what, display(request), foreseen_of) as told:
        _fetch(host, stage)
        try:
            return engine.make_so(host, stage.specification, RELEASE, told, part=stage.part)
        except Taken as fault:
            raise _at_its_place(fault, stage) from fault
        finally:
            if stage.contents is not None:
                stage.contents.clear()


def _fetch(host: Host, stage: Stage) -> None:
    if stage.contents is None:
        return
    try:
        stage.contents.fetch_for(foreseen(host, stage))
    except Failed as fault:
        stage.contents.clear()
        raise Failure(f"{stage.specification.title}: what it names cannot be fetched: {fault}") from fault


def _at_its_place(fault: Taken, stage: Stage) -> Failure:
    origin = stage.origins.get(fault.key)
    if origin is None:
        return Failure(str(fault))
    entry = origin.error(str(fault))
    return BadInput(str(entry).removeprefix("error: "), where=entry.where)


def beside(stage: Stage, specification: Specification) -> Specification:
    """What there will be in the end, to be judged as a whole."""
    wants = {**stage.specification.by_key(), **specification.by_key()}
    return Specification.of(wants.values(), specification.notes, specification.title)
