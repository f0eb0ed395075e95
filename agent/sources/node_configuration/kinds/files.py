"""Files."""

from agent.sources import urls
from agent.sources.forms import Checking, Fields, Flag, ListOf, Text, mapping, text
from agent.sources.node_configuration.kinds import values
from agent.sources.node_configuration.kinds.kind import Given, several
from agent.sources.node_configuration.model import RemoteFile, Source
from agent.sources.report import Place
from agent.spec import File

_SOURCE = Fields(
    {
        "url": Text(
            "From where.",
            "an http or https URL",
            pattern=r"https?://[^\s\x00-\x1f/?#][^\s\x00-\x1f]*",
            most=8_000,
        ),
        "sha256": values.SHA256,
        "maxSize": values.MAX_SIZE,
    },
    "Its content is downloaded, and checked.",
    needed=("url", "sha256"),
)
_FILE = Fields(
    {
        "path": values.path_form("Where it is. Folders on the way are made."),
        "text": Text("Its content, in UTF-8."),
        "base64": values.BASE64,
        "source": _SOURCE,
        "existing": Flag(
            "It has to be there already, and its protection alone is looked after.", only_true=True
        ),
        "protection": values.PROTECTION,
        "until": values.path_form(
            "Wanted until this other file is there; then it goes: a credential for one use."
        ),
    },
    needed=("path",),
    exactly_one=("text", "base64", "source", "existing"),
)


def _file(checking: Checking, given: Given, place: Place) -> File | RemoteFile:
    own = values.own_path(checking, given, place)
    until = values.path(given, "until")
    if "source" in given:
        source = _source(checking, mapping(given["source"]), (*place, "source"))
        return RemoteFile(own, source, values.protection(given), until)
    inline = None if "existing" in given else values.content(checking, given, place)
    return File(own, inline, values.protection(given), until)


def _source(checking: Checking, given: Given, place: Place) -> Source:
    url = text(given["url"])
    if urls.parse(url) is None:
        checking.wrong((*place, "url"), "it is no URL")
    return Source(url, text(given["sha256"]).lower(), values.size_limit(given))


KIND = several(ListOf(_FILE, "Files."), _file)
