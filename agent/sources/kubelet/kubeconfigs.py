"""A kubeconfig that a Linux worker carries, its paths made right for Windows."""

import json
from collections.abc import Iterator

from agent.sources.kubelet.documents import Document, Value, read_document
from agent.sources.kubelet.paths import Reference, UnusablePath, absolute, path_on_windows
from agent.sources.report import Entry, Place, Severity

_PATHS = (
    ("clusters", "cluster", ("certificate-authority",)),
    ("users", "user", ("client-certificate", "client-key", "tokenFile")),
)
"""List, the mapping in each of its items, and what in that is a path."""


def for_windows(name: str, contents: bytes) -> tuple[bytes, tuple[Reference, ...], tuple[Entry, ...]]:
    """As it is if it names no path that differs; otherwise as JSON, which is YAML too. Raises NotReadable."""
    document = read_document(name, contents)
    folder = name.rpartition("/")[0]
    references: list[Reference] = []
    entries: list[Entry] = []
    changed = False
    for place, mapping, key in _places(document):
        path = str(mapping[key])
        try:
            mapped = path_on_windows(path, folder)
        except UnusablePath as fault:
            message = f"this cannot be a path on Windows: {fault.unquoted}"
            entries.append(document.entry(Severity.ERROR, place, message))
            continue
        references.append(Reference(absolute(path, folder), mapped, key))
        changed = changed or mapped != path
        mapping[key] = mapped
    entries += _commands(document)
    if changed:
        contents = json.dumps(document.value, indent=2, ensure_ascii=False).encode() + b"\n"
    return contents, tuple(references), tuple(entries)


def _places(document: Document) -> Iterator[tuple[Place, dict[str, Value], str]]:
    for section, inside, keys in _PATHS:
        for place, mapping in _mappings(document, section, inside):
            for key in keys:
                if isinstance(mapping.get(key), str) and mapping[key]:
                    yield (*place, key), mapping, key


def _mappings(document: Document, section: str, inside: str) -> Iterator[tuple[Place, dict[str, Value]]]:
    items = document.value.get(section)
    for number, item in enumerate(items if isinstance(items, list) else ()):
        mapping = item.get(inside) if isinstance(item, dict) else None
        if isinstance(mapping, dict):
            yield (section, number, inside), mapping


def _commands(document: Document) -> Iterator[Entry]:
    """Programs that get credentials: one for Linux is of no use here."""
    for place, user in _mappings(document, "users", "user"):
        program = user.get("exec")
        command = program.get("command") if isinstance(program, dict) else None
        if isinstance(command, str) and command.startswith("/"):
            message = "a program for Linux; the kubelet gets no credentials by it"
            yield document.entry(Severity.WARNING, (*place, "exec", "command"), message)
