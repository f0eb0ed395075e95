"""What Microsoft Defender does not look at."""

from pathlib import PureWindowsPath

from agent.sources.forms import Checking, Fields, ListOf, text
from agent.sources.node_configuration.kinds.kind import Given, several
from agent.sources.node_configuration.kinds.values import path_form
from agent.sources.report import Place
from agent.spec.machine import DefenderExclusion

_WHAT = ("path", "process")

_EXCLUSION = Fields(
    {
        "path": path_form("A file, or a folder and all below it."),
        "process": path_form("A program: no file that it opens is looked at."),
    },
    exactly_one=_WHAT,
)


def _exclusion(checking: Checking, given: Given, place: Place) -> DefenderExclusion:
    what = next(each for each in _WHAT if each in given)
    path = str(PureWindowsPath(text(given[what])))
    if PureWindowsPath(path).parent == PureWindowsPath(path):
        checking.wrong((*place, what), "this is a whole disk; say what on it is not to be looked at")
    return DefenderExclusion(what, path)


KIND = several(
    ListOf(
        _EXCLUSION,
        "What Microsoft Defender does not look at, on machines that have it. A security decision: who can put"
        " something there is not watched.",
        most=100,
    ),
    _exclusion,
)
