"""Folders that Windows looks for programs in."""

from collections.abc import Iterator
from pathlib import PureWindowsPath

from agent.documents import Value
from agent.sources.forms import Checking, ListOf, Text, texts
from agent.sources.node_configuration.kinds.kind import Kind, Wanted
from agent.sources.report import Place
from agent.spec.machine import PathEntry

_FOLDER = Text(
    "A folder, which need not be there yet.",
    r"a whole Windows path with its drive, such as C:\k, and in it no semicolon, quote or percent sign,",
    pattern=r'[A-Za-z]:[\\/][^;"%\x00-\x1f]*',
    most=2_000,
)


def _path_entries(checking: Checking, value: Value, place: Place) -> Iterator[tuple[Wanted, Place]]:  # noqa: ARG001 - nothing of it can be wrong
    for number, folder in enumerate(texts(value)):
        yield PathEntry(PureWindowsPath(folder)), (*place, number)


KIND = Kind(
    ListOf(_FOLDER, "Entries of the machine's Path, behind those of others.", most=100), _path_entries
)
