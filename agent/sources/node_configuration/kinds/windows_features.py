"""Parts of Windows that are switched on."""

from agent.sources.forms import Checking, Fields, Flag, ListOf, text
from agent.sources.node_configuration.kinds.kind import Given, several
from agent.sources.node_configuration.kinds.values import FEATURE
from agent.sources.report import Place
from agent.spec.machine import WindowsFeature

_FEATURE = Fields(
    {"name": FEATURE, "withParents": Flag("Those that it is part of are switched on, too.")}, needed=("name",)
)


def _feature(checking: Checking, given: Given, place: Place) -> WindowsFeature:  # noqa: ARG001 - nothing of it can be wrong
    return WindowsFeature(text(given["name"]), given.get("withParents") is True)


KIND = several(
    ListOf(
        _FEATURE,
        "Switched on. Where that takes a restart of Windows, what refers to it waits for that. None is"
        " switched off again but by wmcb reset --features.",
        most=50,
    ),
    _feature,
)
