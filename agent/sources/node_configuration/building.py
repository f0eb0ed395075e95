"""What a document says, made typed; and its rules that a table of forms cannot say."""

from __future__ import annotations

import datetime
import hashlib
import json
import re
from collections.abc import Iterator

from agent.documents import Value
from agent.sources.forms import Checking, mapping, number, text, texts
from agent.sources.node_configuration.kinds import OF_THE_NODE, OWN_PROGRAM, kind_of
from agent.sources.node_configuration.model import (
    Item,
    Maintenance,
    NodeConfiguration,
    Nodes,
    Origin,
    OwnProgram,
    Rollout,
)
from agent.sources.report import Place

Given = dict[str, Value]

_SECONDS = {"h": 3600, "m": 60, "s": 1}
_SPAN = re.compile("(?<![0-9])([0-9]+)([hms])")


def build(checking: Checking, value: Given) -> NodeConfiguration:
    """Of a document whose values have their forms; what else is wrong goes into its entries."""
    nodes, rollout = mapping(value.get("nodes")), mapping(value.get("rollout"))
    maintenance = mapping(value.get("maintenance"))
    labels = {label: text(wanted) for label, wanted in mapping(nodes.get("labels")).items()}
    return NodeConfiguration(
        _origin(checking, ()),
        _digest(value),
        Nodes(texts(nodes.get("names")), labels),
        _rollout(checking, rollout) if rollout else None,
        Maintenance(maintenance.get("paused") is True, text(maintenance.get("reason"))),
        tuple(_items(checking, value)),
        _own_program(checking, value),
    )


def _digest(value: Given) -> str:
    wanted = {name: value[name] for name in OF_THE_NODE if value.get(name)}
    canonical = json.dumps(wanted, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _items(checking: Checking, value: Given) -> Iterator[Item]:
    for name in OF_THE_NODE:
        if name in value:
            for wanted, place in kind_of(name).wanted(checking, value[name], (name,)):
                yield Item(wanted, _origin(checking, place))


def _own_program(checking: Checking, value: Given) -> OwnProgram | None:
    if OWN_PROGRAM not in value:
        return None
    from agent.sources.node_configuration.kinds.own_program import own_program  # noqa: PLC0415 - 0.4 MB, for another wmcb.exe

    place = (OWN_PROGRAM,)
    return own_program(checking, mapping(value[OWN_PROGRAM]), place, _origin(checking, place))


def _origin(checking: Checking, place: Place) -> Origin:
    document = checking.document
    line, column = document.positions.get(place, (None, None))
    return Origin(document.name, place, line, column)


def _rollout(checking: Checking, given: Given) -> Rollout:
    window = sum(int(count) * _SECONDS[unit] for count, unit in _SPAN.findall(text(given.get("window"))))
    return Rollout(
        _time(checking, text(given["start"])) if "start" in given else None,
        float(window),
        number(given.get("percentage"), 100.0),
    )


def _time(checking: Checking, given: str) -> float:
    try:
        return datetime.datetime.fromisoformat(given).timestamp()
    except (ValueError, OverflowError):
        checking.wrong(("rollout", "start"), "there is no such time")
        return 0.0
