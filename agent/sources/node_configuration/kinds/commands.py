"""Somebody's own commands."""

from agent.sources.forms import Checking, Fields, Flag, ListOf, Text, number, text
from agent.sources.node_configuration.kinds.kind import Given, several
from agent.sources.node_configuration.kinds.references import REFERENCE, references
from agent.sources.node_configuration.kinds.values import BASE64, content, name_form, seconds_form
from agent.sources.report import Place
from agent.spec import Command, Shell

_SHELLS = {"cmd": Shell.CMD, "powershell": Shell.POWERSHELL}

_COMMAND = Fields(
    {
        "name": name_form("For a person, and no other command's."),
        "text": Text("The script, in UTF-8."),
        "base64": BASE64,
        "shell": Text("What runs it.", one_of=tuple(_SHELLS)),
        "mayFail": Flag("An exit code that is not 0 is no reason to take the change back."),
        "withinSeconds": seconds_form("It is ended after so long.", least=1),
        "after": ListOf(REFERENCE, "What has to be as wanted before. It is not run again when that changes."),
    },
    "Run once, and not again unless its script becomes another. What it did is never taken back.",
    needed=("name",),
    exactly_one=("text", "base64"),
)


def _command(checking: Checking, given: Given, place: Place) -> Command:
    return Command(
        text(given["name"]),
        content(checking, given, place),
        _SHELLS[text(given.get("shell")) or "cmd"],
        given.get("mayFail") is True,
        number(given.get("withinSeconds"), 3600.0),
        tuple(references(given.get("after"))),
    )


KIND = several(ListOf(_COMMAND, "Somebody's own commands.", most=200), _command)
