"""Folders."""

from agent.sources.forms import Checking, Fields, Flag, ListOf
from agent.sources.node_configuration.kinds.kind import Given, several
from agent.sources.node_configuration.kinds.values import PROTECTION, own_path, path_form, protection
from agent.sources.report import Place
from agent.spec import Directory

_DIRECTORY = Fields(
    {
        "path": path_form("Where it is. Folders on the way are made."),
        "protection": PROTECTION,
        "belongsToNode": Flag("What the node's programs put into it is the node's too, and goes with it."),
        "shared": Flag("Others use it too: one that is there stays as it is."),
    },
    needed=("path",),
)


def _directory(checking: Checking, given: Given, place: Place) -> Directory:
    return Directory(
        own_path(checking, given, place),
        protection(given),
        given.get("belongsToNode") is True,
        given.get("shared") is True,
    )


KIND = several(ListOf(_DIRECTORY, "Folders."), _directory)
