"""Variables of the machine's environment."""

from agent.sources.forms import Checking, Fields, Flag, ListOf, text
from agent.sources.node_configuration.kinds.kind import Given, several
from agent.sources.node_configuration.kinds.values import VALUE, VARIABLE
from agent.sources.report import Place
from agent.spec import EnvironmentVariable

_PATH = "path"
_VARIABLE = Fields(
    {
        "name": VARIABLE,
        "value": VALUE,
        "absent": Flag("The machine is not to have it.", only_true=True),
        "secret": Flag("Its value is never shown."),
    },
    needed=("name",),
    exactly_one=("value", "absent"),
)


def _variable(checking: Checking, given: Given, place: Place) -> EnvironmentVariable:
    if text(given["name"]).lower() == _PATH:
        checking.wrong((*place, "name"), "all that others have in it would go; pathEntries adds to it")
    value = text(given["value"]) if "value" in given else None
    return EnvironmentVariable(text(given["name"]), value, given.get("secret") is True)


KIND = several(ListOf(_VARIABLE, "Of the machine, as every program that starts later gets them."), _variable)
