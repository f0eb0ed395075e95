"""Parts of Windows that are switched on."""

from __future__ import annotations

from agent.sources.forms import Checking, Flag, ListOf, text
from agent.sources.forms import Fields as Table
from agent.sources.node_configuration.kinds.kind import Fields, Several
from agent.sources.node_configuration.kinds.values import FEATURE
from agent.sources.report import Place
from agent.spec.windows_feature import WindowsFeature

_FEATURE = Table(
    {
        "name": FEATURE,
        "withParents": Flag("Those that it is part of are switched on, too."),
    },
    needed=("name",),
)


def _feature(checking: Checking, given: Fields, place: Place) -> WindowsFeature:  # noqa: ARG001 - nothing of it can be wrong
    return WindowsFeature(text(given["name"]), given.get("withParents") is True)


KIND = Several(
    ListOf(
        _FEATURE,
        "Switched on. Where that takes a restart of Windows, what refers to it waits for that. None is"
        " switched off again but by wmcb reset --features.",
        most=50,
    ),
    _feature,
)
