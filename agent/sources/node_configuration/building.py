"""What a document says, made typed; and its rules that a table of forms cannot say."""

from __future__ import annotations

import base64
import binascii
import datetime
import hashlib
import json
import re
from pathlib import PureWindowsPath
from typing import TYPE_CHECKING

from agent.sources import urls
from agent.sources.forms import items, mapping, number, text, texts
from agent.sources.node_configuration.model import (
    Item,
    Maintenance,
    NodeConfiguration,
    Nodes,
    Origin,
    RemoteFile,
    Rollout,
    Source,
)
from agent.sources.node_configuration.schema import OF_THE_NODE
from agent.sources.windows_paths import windows_path_fault
from agent.spec import (
    Command,
    Directory,
    EnvironmentVariable,
    EventSource,
    File,
    HealthCheck,
    Inline,
    Key,
    Protection,
    Restart,
    Service,
    Shell,
    StartType,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from agent.documents import Value
    from agent.sources.forms import Checking
    from agent.sources.report import Place
    from agent.spec import Want

    Fields = dict[str, Value]

_SECONDS = {"h": 3600, "m": 60, "s": 1}
_SPAN = re.compile("([0-9]+)([hms])")
_VARIABLE_OF_WINDOWS = re.compile("%[^%=]+%")
_OWN_FOLDER = ("programdata", "wmcb")
_OWN_SERVICE = "wmcb"
_START_TYPES = {
    "automatic": StartType.AUTOMATIC,
    "delayed": StartType.DELAYED,
    "manual": StartType.MANUAL,
    "disabled": StartType.DISABLED,
}
_SHELLS = {"cmd": Shell.CMD, "powershell": Shell.POWERSHELL}
_KINDS = {
    "file": File.kind,
    "directory": Directory.kind,
    "service": Service.kind,
    "environmentVariable": EnvironmentVariable.kind,
    "command": Command.kind,
}


def build(checking: Checking, value: Fields) -> NodeConfiguration:
    """Of a document whose values have their forms; what else is wrong goes into its entries."""
    work = _Building(checking)
    made: Mapping[str, Callable[[Fields, Place], Want | RemoteFile]] = {
        "directories": work.directory,
        "files": work.file,
        "environmentVariables": work.environment_variable,
        "services": work.service,
        "eventSources": work.event_source,
        "commands": work.command,
    }
    found = [
        Item(made[name](mapping(item), (name, place)), work.origin((name, place)))
        for name in OF_THE_NODE
        for place, item in enumerate(items(value.get(name)))
    ]
    nodes, rollout = mapping(value.get("nodes")), mapping(value.get("rollout"))
    maintenance = mapping(value.get("maintenance"))
    labels = {label: text(wanted) for label, wanted in mapping(nodes.get("labels")).items()}
    return NodeConfiguration(
        work.origin(()),
        _digest(value),
        Nodes(texts(nodes.get("names")), labels),
        work.rollout(rollout) if rollout else None,
        Maintenance(maintenance.get("paused") is True, text(maintenance.get("reason"))),
        tuple(found),
    )


def _digest(value: Fields) -> str:
    wanted = {name: value[name] for name in OF_THE_NODE if value.get(name)}
    canonical = json.dumps(wanted, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


class _Building:
    def __init__(self, checking: Checking) -> None:
        self._checking = checking

    def origin(self, place: Place) -> Origin:
        document = self._checking.document
        line, column = document.positions.get(place, (None, None))
        return Origin(document.name, place, line, column)

    def rollout(self, given: Fields) -> Rollout:
        window = sum(int(count) * _SECONDS[unit] for count, unit in _SPAN.findall(text(given.get("window"))))
        return Rollout(
            self._time(text(given["start"])) if "start" in given else None,
            float(window),
            number(given.get("percentage"), 100.0),
        )

    def _time(self, given: str) -> float:
        try:
            return datetime.datetime.fromisoformat(given).timestamp()
        except (ValueError, OverflowError):
            self._checking.wrong(("rollout", "start"), "there is no such time")
            return 0.0

    def directory(self, given: Fields, place: Place) -> Directory:
        return Directory(
            self._own_path(given, (*place, "path")),
            _protection(given),
            given.get("belongsToNode") is True,
            given.get("shared") is True,
        )

    def file(self, given: Fields, place: Place) -> File | RemoteFile:
        path = self._own_path(given, (*place, "path"))
        protection, until = _protection(given), _path(given, "until")
        if "source" in given:
            return RemoteFile(
                path, self._source(mapping(given["source"]), (*place, "source")), protection, until
            )
        content = None if "existing" in given else self._content(given, place)
        return File(path, content, protection, until)

    def _content(self, given: Fields, place: Place) -> Inline:
        if "text" in given:
            return Inline(self._utf8(text(given["text"]), (*place, "text")))
        joined = "".join(text(given["base64"]).split())
        try:
            return Inline(base64.b64decode(joined, validate=True))
        except binascii.Error:
            self._checking.wrong((*place, "base64"), "it is no base64, or not all of it")
            return Inline(b"")

    def _utf8(self, given: str, place: Place) -> bytes:
        try:
            return given.encode()
        except UnicodeEncodeError:
            self._checking.wrong(place, "it has half a character, which no file in UTF-8 can hold")
            return b""

    def _source(self, given: Fields, place: Place) -> Source:
        url = text(given["url"])
        if urls.parse(url) is None:
            self._checking.wrong((*place, "url"), "it is no URL")
        return Source(url, text(given["sha256"]).lower())

    def environment_variable(self, given: Fields, place: Place) -> EnvironmentVariable:  # noqa: ARG002 - nothing of it can be wrong
        value = text(given["value"]) if "value" in given else None
        return EnvironmentVariable(text(given["name"]), value, given.get("secret") is True)

    def event_source(self, given: Fields, place: Place) -> EventSource:  # noqa: ARG002 - nothing of it can be wrong
        return EventSource(text(given["name"]), PureWindowsPath(text(given["messageFile"])))

    def command(self, given: Fields, place: Place) -> Command:
        return Command(
            text(given["name"]),
            self._content(given, place),
            _SHELLS[text(given.get("shell")) or "cmd"],
            given.get("mayFail") is True,
            number(given.get("withinSeconds"), 3600.0),
            tuple(_references(given.get("after"))),
        )

    def service(self, given: Fields, place: Place) -> Service:
        start = _START_TYPES[text(given.get("start")) or "automatic"]
        running = given.get("running") is not False
        if running and start is StartType.DISABLED:
            self._checking.wrong(
                (*place, "start"), "a disabled service cannot run; say running: false as well"
            )
        self._check_command(given, place)
        name = text(given["name"])
        if name.lower() == _OWN_SERVICE:
            self._checking.wrong(
                (*place, "name"), "this is the service that does all this; wmcb daemon install changes it"
            )
        return Service(
            name,
            PureWindowsPath(text(given["program"])),
            texts(given.get("arguments")),
            text(given.get("displayName")),
            text(given.get("description")),
            start,
            texts(given.get("dependencies")),
            {name: text(value) for name, value in mapping(given.get("environment")).items()},
            _restart(given),
            number(given["preshutdownSeconds"], 0.0) if "preshutdownSeconds" in given else None,
            running,
            number(given.get("startWithinSeconds"), 60.0),
            number(given.get("stopWithinSeconds"), 60.0),
            _health(given),
            _path(given, "makes"),
            _path(given, "log"),
            tuple(_references(given.get("reads"))),
        )

    def _check_command(self, given: Fields, place: Place) -> None:
        program = text(given["program"])
        words: dict[Place, str] = {("program",): program}
        words |= {("arguments", at): word for at, word in enumerate(texts(given.get("arguments")))}
        for where, word in words.items():
            if _VARIABLE_OF_WINDOWS.search(word):
                message = (
                    "Windows would take what stands between two percent signs for a variable; leave them out"
                )
                self._checking.wrong((*place, *where), message)
        if '"' in program:
            self._checking.wrong(
                (*place, "program"), "a path has no quotes; arguments have a list of their own"
            )

    def _own_path(self, given: Fields, place: Place) -> PureWindowsPath:
        path = PureWindowsPath(text(given["path"]))
        if fault := windows_path_fault(path):
            self._checking.wrong(place, f"nothing of ours can lie there: {fault}")
        if tuple(part.lower() for part in path.parts[1:3]) == _OWN_FOLDER:
            self._checking.wrong(
                place, "this is where wmcb keeps what it knows of the node; choose another folder"
            )
        return path


def _path(given: Fields, name: str) -> PureWindowsPath | None:
    return PureWindowsPath(text(given[name])) if name in given else None


def _protection(given: Fields) -> Protection:
    return Protection(text(given.get("protection")) or "private")


def _restart(given: Fields) -> Restart | None:
    if "restart" not in given:
        return None
    restart = mapping(given["restart"])
    pauses = tuple(number(pause, 0.0) for pause in items(restart["afterSeconds"]))
    return Restart(pauses, int(number(restart["forgivenAfterSeconds"], 0)))


def _health(given: Fields) -> HealthCheck | None:
    if "health" not in given:
        return None
    health = mapping(given["health"])
    return HealthCheck(
        int(number(health["port"], 0)),
        text(health.get("path")) or "/healthz",
        number(health.get("withinSeconds"), 60.0),
    )


def _references(given: Value) -> Iterator[Key]:
    for reference in map(mapping, items(given)):
        for field, name in reference.items():
            wanted = text(name)
            kind = _KINDS[field]
            yield Key(kind, str(PureWindowsPath(wanted)) if kind in (File.kind, Directory.kind) else wanted)
