"""Plants secrets into documents by the tables that their readers go by, and looks for them afterwards.

A field that is added to a table is planted from then on.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import PureWindowsPath
from typing import Any, NamedTuple

from agent.host.files import FileKind, Files
from agent.sources import forms
from agent.sources.cloudconfig import settings, written_files
from agent.sources.ignition import spec2, spec3
from agent.sources.ignition.schema import Many, Struct
from agent.sources.kubeadm import schema as kubeadm
from agent.sources.node_configuration.schema import SCHEMA
from agent.sources.services_configmap import reading as services_configmap
from sandbox.cli.given import Answer, Machine

NOWHERE = "127.0.0.1:1"
"""Where no server listens."""

ANY = "anything"
"""The name of what may be called so or otherwise."""

Place = tuple[str | int, ...]
Form = Any
"""Of any of the tables: each format has its own classes for the same few forms."""


class Plant(NamedTuple):
    """What is put into a field; `{}` is the secret."""

    text: str
    secret: str

    @property
    def value(self) -> str:
        return self.text.format(self.secret)


PLANTS = {
    "a bootstrap token": Plant("abcdef.{}", "0123456789geheim"),
    "a password in a URL": Plant(f"https://me:{{}}@{NOWHERE}/x", "Geheim017wort"),
    "a signature in a URL": Plant(f"https://{NOWHERE}/x?sv=1&sig={{}}", "Geheim018wort"),
    "no blank behind the colon": Plant("password:{}", "Geheim019wort"),
    "a connection": Plant("Server=a;Password={};x=1", "Geheim020wort"),
    "an option in a text": Plant("connect.exe -Password {} -Force", "Geheim022wort"),
    "a variable in a text": Plant("set AZURE_STORAGE_KEY={}", "Geheim023wort"),
}
NO_BLANK = Plant("value:{}", "Geheim021wort")
"""A key then, and no value."""
WORD = Plant("{}", "Geheim024wort024")
"""With no look of a secret; it can be read as base64, too."""

_IN_CLOUD_CONFIG: dict[str, forms.Form] = {
    "write_files": forms.ListOf(forms.Fields(dict.fromkeys(sorted(written_files._KNOWN), forms.Text()))),
    "bootcmd": forms.ListOf(forms.Text()),
    "runcmd": forms.ListOf(forms.Text()),
    "ntp": forms.Fields({"servers": forms.ListOf(forms.Text()), "pools": forms.ListOf(forms.Text())}),
}
CLOUD_CONFIG = forms.Fields(
    {
        name: _IN_CLOUD_CONFIG.get(name, forms.Text())
        for name in sorted({*settings._TAKEN, *settings._IGNORED, *settings._NEEDED})
    }
)
TABLES: Mapping[str, Form] = {
    "NodeConfiguration": SCHEMA,
    "services ConfigMap": forms.Fields(services_configmap._KEYS),
    "cloud-config": CLOUD_CONFIG,
    "Ignition 2": spec2.CONFIG,
    "Ignition 3": spec3.CONFIG,
    **{f"JoinConfiguration {version}": form for version, form in kubeadm.VERSIONS.items()},
    **{f"ResetConfiguration {version}": form for version, form in kubeadm.RESET_VERSIONS.items()},
    **{f"UpgradeConfiguration {version}": form for version, form in kubeadm.UPGRADE_VERSIONS.items()},
}


def places(form: Form, place: Place = ()) -> Iterator[Place]:
    """Yield the place of each field of a table, in the first of a list, and of each mapping."""
    if isinstance(form, forms.Fields | kubeadm.Fields | Struct):
        yield place
        of_fields = {each.name: each.kind for each in form.fields} if isinstance(form, Struct) else form.forms
        for name, each in of_fields.items():
            yield from places(each, (*place, name))
    elif isinstance(form, forms.MapOf | kubeadm.MapOf):
        yield place
        yield from places(form.value, (*place, ANY))
    elif isinstance(form, forms.ListOf | kubeadm.ListOf | Many):
        yield from places(form.of if isinstance(form, Many) else form.item, (*place, 0))
    else:
        yield place


def leaves(value: Any, place: Place = ()) -> Iterator[Place]:
    """Yield the same of a document, for each text in it and each mapping."""
    if isinstance(value, dict):
        yield place
        for key, each in value.items():
            yield from leaves(each, (*place, key))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from leaves(each, (*place, number))
    elif isinstance(value, str):
        yield place


def has(document: Any, place: Place) -> bool:
    """Return whether the document has this field, in any item of its lists."""
    if not place or document is None:
        return document is not None
    first, *rest = place
    if isinstance(document, list):
        return any(has(each, tuple(rest)) for each in document)
    return isinstance(document, dict) and has(document.get(first), tuple(rest))


def planted(document: Any, place: Place, plant: Plant, key: Plant = NO_BLANK) -> tuple[Any, bool]:
    """Return the document with the plant there, or in a mapping its key, and whether that is so.

    Of a list it is the item that has the field already; what is missing on the way to it is made.
    """
    inside: Any = {"": copy.deepcopy(document)}
    whole = inside
    last: str | int = ""
    for number, step in enumerate(place):
        if not isinstance(inside[last], dict | list):
            inside[last] = [] if isinstance(step, int) else {}
        inside = inside[last]
        last = _item(inside, place[number + 1 :]) if isinstance(inside, list) else step
        if isinstance(inside, dict):
            inside.setdefault(last, None)
    is_key = isinstance(inside[last], dict)
    if is_key:
        inside[last][key.value] = None
    else:
        inside[last] = plant.value
    return whole[""], is_key


def _item(items: list[Any], rest: Place) -> int:
    if not items:
        items.append(None)
    return next((at for at, each in enumerate(items) if has(each, rest)), 0)


def written(machine: Machine) -> Mapping[str, str]:
    """Return what wmcb has written that users may read, or that goes elsewhere."""
    folder = machine.place / ".sandbox"
    found = {"events": (folder / "events.jsonl").read_text()} if (folder / "events.jsonl").exists() else {}
    service = machine.host.services.read("wmcb")
    if service is not None:
        found["the service's command line"] = service.image_path
    logs = machine.place / "ProgramData" / "wmcb" / "logs"
    found |= {path.name: path.read_text() for path in logs.glob("wmcb*.log")}
    files = machine.host.files
    for path in _files(files, PureWindowsPath(r"C:\ProgramData\wmcb")):
        if _may_be_read_by_users(files, path):
            found[str(path)] = files.read(path).decode(errors="replace")
    return found


def _files(files: Files, folder: PureWindowsPath) -> Iterator[PureWindowsPath]:
    state = files.observe(folder)
    if state is not None and state.kind is FileKind.DIRECTORY:
        for name in files.list(folder):
            yield from _files(files, folder / name)
    elif state is not None:
        yield folder


def _may_be_read_by_users(files: Files, path: PureWindowsPath) -> bool:
    return any(f";;;{each})" in str(files.descriptor(path)) for each in ("BU", "AU", "WD", "IU"))


class Leak(NamedTuple):
    where: str
    plant: str
    about: object
    line: str


def leaks_of(machine: Machine, plant: Plant, answer: Answer, about: object) -> list[Leak]:
    """Return where the secret stands after a command."""
    texts = {"stdout": answer.out, "stderr": answer.err, **written(machine)}
    return [
        Leak(name, plant.text, about, line.strip()[:300])
        for name, text in texts.items()
        if plant.secret in text
        for line in text.splitlines()
        if plant.secret in line
    ]
