"""Names under which programs write to Windows' event log."""

from pathlib import PureWindowsPath

from agent.sources.forms import Checking, Fields, ListOf, Text, text
from agent.sources.node_configuration.kinds.kind import Given, several
from agent.sources.node_configuration.kinds.values import path_form
from agent.sources.report import Place
from agent.spec import EventSource

_EVENT_SOURCE = Fields(
    {
        "name": Text(
            "Under which programs write to the Application log.",
            "a name without a backslash",
            pattern=r"[^\\\x00-\x1f]+",
            most=255,
        ),
        "messageFile": path_form("A program that carries the texts of its events."),
    },
    needed=("name", "messageFile"),
)


def _event_source(checking: Checking, given: Given, place: Place) -> EventSource:  # noqa: ARG001 - nothing of it can be wrong
    return EventSource(text(given["name"]), PureWindowsPath(text(given["messageFile"])))


KIND = several(
    ListOf(_EVENT_SOURCE, "Names under which programs write to Windows' event log.", most=100), _event_source
)
