"""From a text of one or several documents to what each says."""

import datetime
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from agent.documents import Value, mapping, number, text, texts
from agent.sources.durations import seconds
from agent.sources.forms import Checking
from agent.sources.kubelet.documents import Document, NotReadable, read_document
from agent.sources.node_configuration import model
from agent.sources.node_configuration.kinds import OF_THE_NODE, OWN_PROGRAM, kind_of
from agent.sources.node_configuration.schema import API, KIND, SCHEMA
from agent.sources.report import Entry, Origin, Place, Report, Severity, bounded, quoted

DATA_KEY = "node.yaml"
"""Of the ConfigMap's data."""

_LARGEST = 1 << 20
_MOST_DOCUMENTS = 100
_SEPARATOR = re.compile(r"---[ \t]*(#.*)?\r?")


@dataclass(frozen=True, slots=True)
class Outcome:
    documents: tuple[model.NodeConfiguration, ...]
    """None of them where the report is fatal: a half of what is wanted is wanted by nobody."""
    report: Report


def read_data(name: str, data: Mapping[str, str]) -> Outcome:
    """Of a ConfigMap, `name` being its own. One that has to be signed: `read`, with what was signed."""
    if DATA_KEY not in data:
        entry = Entry(Severity.ERROR, f"there is no key {DATA_KEY} in it", name, ("data", DATA_KEY))
        return Outcome((), Report((entry,)))
    # Half a character, which JSON can carry, is then told as no UTF-8.
    return read(f"{name}, key {DATA_KEY}", data[DATA_KEY].encode("utf-8", "surrogatepass"))


def read(name: str, contents: bytes) -> Outcome:
    """`name` is what a person knows the text by."""
    entries: list[Entry] = []
    documents = list(_documents(name, contents, entries))
    if not documents and not entries:
        entries.append(Entry(Severity.ERROR, f"there is no {KIND} in it; it is empty", name))
    made = [_read(document, entries) for document in documents]
    report = bounded(entries)
    return Outcome(() if report.fatal else tuple(each for each in made if each), report)


def _documents(name: str, contents: bytes, entries: list[Entry]) -> Iterator[Document]:
    if len(contents) > _LARGEST:
        entries.append(Entry(Severity.ERROR, f"it is longer than {_LARGEST // 1024} KiB", name))
        return
    for count, part in enumerate(_split(contents)):
        if count == _MOST_DOCUMENTS:
            entries.append(Entry(Severity.ERROR, f"it has more than {_MOST_DOCUMENTS} documents", name))
            return
        try:
            yield read_document(name, part)
        except NotReadable as fault:
            entries.append(fault.entry)


def _split(contents: bytes) -> Iterator[bytes]:
    """Each with empty lines before it, so that what is wrong is told by the line of the whole text."""
    whole = contents.decode("utf-8-sig", "surrogateescape")
    first, gathered = 0, list[str]()
    for at, line in enumerate([*whole.split("\n"), "---"]):
        if not _SEPARATOR.fullmatch(line):
            gathered.append(line)
            continue
        if not all(map(_is_empty, gathered)):
            yield ("\n" * first + "\n".join(gathered)).encode("utf-8", "surrogateescape")
        first, gathered = at + 1, []


def _is_empty(line: str) -> bool:
    """Return whether a line says nothing: it is blank, or a comment."""
    said = line.strip(" \t\r")
    return not said or said.startswith("#")


def _read(document: Document, entries: list[Entry]) -> model.NodeConfiguration | None:
    api, kind = document.value.get("apiVersion"), document.value.get("kind")
    if isinstance(api, str) and isinstance(kind, str) and (api, kind) != (API, KIND):
        shown = quoted(f"{api} {kind}")
        why = f"{shown} is not read here; {API} {KIND} is"
        if kind == "ConfigMap":
            why += ", the text of its key node.yaml"
        entries.append(document.entry(Severity.ERROR, ("apiVersion" if kind == KIND else "kind",), why))
        return None
    mine: list[Entry] = []
    checking = Checking(document, mine)
    value = mapping(checking.of(SCHEMA, document.value, ()))
    made = None if mine else _built(checking, value)
    entries += mine
    return made


# What a document says, made typed; and its rules that a table of forms cannot say.


def _built(checking: Checking, value: dict[str, Value]) -> model.NodeConfiguration:
    """Of a document whose values have their forms; what else is wrong goes into its entries."""
    nodes, rollout = mapping(value.get("nodes")), mapping(value.get("rollout"))
    maintenance = mapping(value.get("maintenance"))
    labels = {label: text(wanted) for label, wanted in mapping(nodes.get("labels")).items()}
    return model.NodeConfiguration(
        _origin(checking, ()),
        _digest(value),
        model.Nodes(texts(nodes.get("names")), labels),
        _rollout(checking, rollout) if rollout else None,
        model.Maintenance(maintenance.get("paused") is True, text(maintenance.get("reason"))),
        tuple(_items(checking, value)),
        _own_program(checking, value),
    )


def _digest(value: dict[str, Value]) -> str:
    wanted = {name: value[name] for name in OF_THE_NODE if value.get(name)}
    canonical = json.dumps(wanted, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _items(checking: Checking, value: dict[str, Value]) -> Iterator[model.Item]:
    for name in OF_THE_NODE:
        if name in value:
            for wanted, place in kind_of(name).wanted(checking, value[name], (name,)):
                yield model.Item(wanted, _origin(checking, place))


def _own_program(checking: Checking, value: dict[str, Value]) -> model.OwnProgram | None:
    if OWN_PROGRAM not in value:
        return None
    from agent.sources.node_configuration.kinds.files import own_program  # noqa: PLC0415 - 0.4 MB, for another wmcb.exe

    place = (OWN_PROGRAM,)
    return own_program(checking, mapping(value[OWN_PROGRAM]), place, _origin(checking, place))


def _origin(checking: Checking, place: Place) -> Origin:
    document = checking.document
    line, column = document.positions.get(place, (None, None))
    return Origin(document.name, place, line, column)


def _rollout(checking: Checking, given: dict[str, Value]) -> model.Rollout:
    return model.Rollout(
        _time(checking, text(given["start"])) if "start" in given else None,
        seconds(text(given.get("window"))) or 0.0,
        number(given.get("percentage"), 100.0),
    )


def _time(checking: Checking, given: str) -> float:
    try:
        return datetime.datetime.fromisoformat(given).timestamp()
    except (ValueError, OverflowError):
        checking.wrong(("rollout", "start"), "there is no such time")
        return 0.0
