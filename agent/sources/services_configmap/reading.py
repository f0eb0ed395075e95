"""From the data of a ConfigMap to what it says, by the operator's schema and rules."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PureWindowsPath

from agent.documents import Value, items, mapping, number, text, texts
from agent.redaction import register_document
from agent.sources.forms import Checking, Fields, Flag, Form, ListOf, MapOf, Number, Text
from agent.sources.kubelet.documents import Document
from agent.sources.report import Entry, Outcome, Place, bounded, quoted, quoted_key
from agent.sources.services_configmap import model
from agent.sources.services_configmap.json_path import JsonPath, NoPath
from agent.sources.services_configmap.model import WindowsService

_LARGEST = 1 << 20
_DATA = ("data",)

_NAME = Text(expected="a name", least=1, most=256)
_PATH = Text(expected="a path or command", least=1, most=32_000)
_VARIABLE_NAME = Text(
    expected="a variable's name of letters, digits, . _ and -", pattern=r"[A-Za-z0-9._-]{1,100}"
)
_NODE_VARIABLES = ListOf(
    Fields(
        {"name": _VARIABLE_NAME, "nodeObjectJsonPath": Text(expected="a JSONPath", least=1)},
        needed=("name", "nodeObjectJsonPath"),
    )
)
_PRE_SCRIPT = Fields(
    {
        "path": _PATH,
        "variableName": Text(expected=_VARIABLE_NAME.expected, pattern=rf"|{_VARIABLE_NAME.pattern}"),
        "nodeArgs": _NODE_VARIABLES,
    },
    needed=("path",),
)
_SERVICE = Fields(
    {
        "name": Text(expected="a service's name", pattern=r"[^/\\\x00]{1,256}"),
        "path": _PATH,
        "nodeVariablesInCommand": _NODE_VARIABLES,
        "powershellPreScripts": ListOf(_PRE_SCRIPT),
        "dependencies": ListOf(_NAME, most=50),
        "bootstrap": Flag(),
        "priority": Number(),
    },
    needed=("name", "path"),
)
_KEYS: Mapping[str, Form] = {
    "services": ListOf(_SERVICE, most=200),
    "files": ListOf(
        Fields(
            {"path": _PATH, "checksum": Text(expected="a checksum", least=1)}, needed=("path", "checksum")
        ),
        most=10_000,
    ),
    "environmentVars": MapOf(
        Text(expected="text", pattern=r"[^\x00]*", most=32_000),
        key=Text(expected="a name without =", pattern=r"[^=\x00]+"),
    ),
    "watchedEnvironmentVars": ListOf(Text(expected="a name without =", pattern=r"[^=\x00]+")),
}
_NEEDED = ("services", "files")

_SHA256 = re.compile(r"[0-9A-Fa-f]{64}")
_MEANT_AS_PATH = re.compile(r"\.|(metadata|spec|status)\.")


def read(name: str, data: Mapping[str, str]) -> Outcome[model.ServicesConfigMap]:
    """`data` is the ConfigMap's own, and `name` what a person knows it by."""
    entries: list[Entry] = []
    checking = Checking(Document(name, {}), entries, as_go=True)
    values = dict(_values(data, checking))
    if bounded(entries).fatal:
        return Outcome(None, bounded(entries))
    made = _Reading(checking).configuration(name, values)
    report = bounded(entries)
    return Outcome(None if report.fatal else made, report)


def _values(data: Mapping[str, str], checking: Checking) -> Iterator[tuple[str, Value]]:
    for key in _NEEDED:
        if key not in data:
            checking.wrong((*_DATA, key), "it is missing; a services ConfigMap has services and files")
    for key, given in data.items():
        place = (*_DATA, key)
        if key not in _KEYS:
            message = f"there is no such key in a services ConfigMap; it has {', '.join(_KEYS)}"
            # As the operator's daemon does, which counts keys and looks for those that it needs.
            (checking.wrong if len(data) > len(_KEYS) else checking.warn)(place, message)
        elif given or key in _NEEDED:
            try:
                value = _json(given, place, checking)
            except _NoJson as fault:
                checking.wrong(place, str(fault))
            else:
                yield key, checking.of(_KEYS[key], value if value is not None else _nothing(key), place)


class _NoJson(Exception):
    """The text says what is wrong."""


def _json(given: str, place: Place, checking: Checking) -> Value:
    twice: list[str] = []

    def gathered(pairs: list[tuple[str, Value]]) -> dict[str, Value]:
        made = dict(pairs)
        if len(made) < len(pairs):
            counts = Counter(key for key, _ in pairs)
            twice.append(counts.most_common(1)[0][0])
        return made

    if len(given) > _LARGEST:
        raise _NoJson(f"it is longer than {_LARGEST // 1024} KiB")
    try:
        value: Value = json.loads(given, object_pairs_hook=gathered, parse_constant=_no_constant)
    except json.JSONDecodeError as fault:
        spot = f"line {fault.lineno}, column {fault.colno}"
        raise _NoJson(f"it is not JSON: {fault.msg} at {spot}") from None
    except (ValueError, RecursionError):
        raise _NoJson("it is not JSON that can be read: too deep, or a number that is none") from None
    if twice:
        checking.warn(place, f"{quoted_key(twice[0])} stands twice in one object; the last one counts")
    register_document(value)
    return value


def _no_constant(name: str) -> Value:
    raise ValueError(name)


def _nothing(key: str) -> Value:
    """Go takes null for an empty list or map."""
    return {} if isinstance(_KEYS[key], MapOf) else []


# From here on all values have their form.


class _Reading:
    def __init__(self, checking: Checking) -> None:
        self._checking = checking

    def configuration(self, name: str, values: Mapping[str, Value]) -> model.ServicesConfigMap:
        services = [
            self._service(mapping(service), (*_DATA, "services", at))
            for at, service in enumerate(items(values["services"]))
        ]
        self._judge(services)
        environment = {key: text(value) for key, value in mapping(values.get("environmentVars")).items()}
        watched = texts(values.get("watchedEnvironmentVars"))
        self._check_names(environment, (*_DATA, "environmentVars"))
        return model.ServicesConfigMap(
            name,
            in_order(services),
            tuple(self._files(items(values["files"]))),
            environment,
            tuple(dict.fromkeys(watched)),
        )

    def _judge(self, services: list[model.WindowsService]) -> None:
        for place, message in faults(services):
            self._checking.wrong(place, message)
        for place, message in oddities(services):
            self._checking.warn(place, message)

    def _check_names(self, names: Iterable[str], place: Place) -> None:
        known: dict[str, str] = {}
        for name in names:
            if (other := known.setdefault(name.upper(), name)) != name:
                self._checking.wrong((*place, name), f"Windows takes it for the same as {quoted(other)}")

    def _service(self, given: dict[str, Value], place: Place) -> model.WindowsService:
        return model.WindowsService(
            text(given.get("name")),
            text(given.get("path")),
            self._variables(given.get("nodeVariablesInCommand"), (*place, "nodeVariablesInCommand")),
            self._pre_scripts(given.get("powershellPreScripts"), (*place, "powershellPreScripts")),
            tuple(dict.fromkeys(texts(given.get("dependencies")))),
            given.get("bootstrap") is True,
            int(number(given.get("priority"), 0)),
            place,
        )

    def _pre_scripts(self, given: Value, place: Place) -> tuple[model.PreScript, ...]:
        return tuple(
            model.PreScript(
                text(script.get("path")),
                text(script.get("variableName")),
                self._variables(script.get("nodeArgs"), (*place, at, "nodeArgs")),
                (*place, at),
            )
            for at, script in enumerate(map(mapping, items(given)))
        )

    def _variables(self, given: Value, place: Place) -> tuple[model.NodeVariable, ...]:
        return tuple(self._each_variable(given, place))

    def _each_variable(self, given: Value, place: Place) -> Iterator[model.NodeVariable]:
        for at, variable in enumerate(map(mapping, items(given))):
            here = (*place, at, "nodeObjectJsonPath")
            path = text(variable.get("nodeObjectJsonPath"))
            try:
                made = JsonPath(path)
            except NoPath as fault:
                self._checking.wrong(here, f"no value of the Node can be found by this JSONPath: {fault}")
                continue
            if made.constant and _MEANT_AS_PATH.match(path):
                message = (
                    "without braces it stands for itself, and nothing is looked up; {.metadata.name} would be"
                )
                self._checking.warn(here, message)
            yield model.NodeVariable(text(variable.get("name")), made, here)

    def _files(self, given: list[Value]) -> Iterator[model.ExpectedFile]:
        known: dict[PureWindowsPath, str] = {}
        for at, file in enumerate(map(mapping, given)):
            place = (*_DATA, "files", at)
            path, checksum = PureWindowsPath(text(file.get("path"))), text(file.get("checksum")).lower()
            if not path.is_absolute():
                self._checking.wrong(
                    (*place, "path"), "a whole path with its drive is expected, such as C:\\k"
                )
            elif not _SHA256.fullmatch(checksum):
                message = "it is no SHA-256 in 64 hexadecimal digits, so the file is not looked at"
                self._checking.warn((*place, "checksum"), message)
            elif known.setdefault(path, checksum) != checksum:
                self._checking.wrong(
                    (*place, "checksum"), "the same file is listed before, with another checksum"
                )
            else:
                yield model.ExpectedFile(path, checksum)


Fault = tuple[Place, str]


def in_order(services: Iterable[WindowsService]) -> tuple[WindowsService, ...]:
    """By priority, of equals as they were given; but each behind those that it depends on.

    The operator's daemon goes by priority alone and would register a service before one that it needs.
    """
    by_priority = sorted(services, key=lambda service: service.priority)
    known = _by_name(by_priority)
    done: dict[str, WindowsService] = {}
    for first in by_priority:
        # Without recursion: a chain can be as long as the list.
        under_way = [first]
        while under_way:
            service = under_way[-1]
            waits_for = next(_needed(service, known, done, under_way), None)
            if waits_for is not None:
                under_way.append(waits_for)
            else:
                done[_folded(under_way.pop().name)] = service
    return tuple(done.values())


def _needed(
    service: WindowsService,
    known: Mapping[str, WindowsService],
    done: Mapping[str, WindowsService],
    under_way: Sequence[WindowsService],
) -> Iterator[WindowsService]:
    """A circle is left open; there is an entry about it."""
    for name in map(_folded, service.dependencies):
        if name in known and name not in done and known[name] not in under_way:
            yield known[name]


def faults(services: Sequence[WindowsService]) -> Iterator[Fault]:
    yield from _twice(services)
    yield from _bootstrap(services)
    yield from _cycles(services)
    yield from _priorities(services)


def oddities(services: Sequence[WindowsService]) -> Iterator[Fault]:
    """What the operator's daemon takes, and what was hardly meant."""
    known = _by_name(services)
    for service in services:
        for name in service.dependencies:
            other = known.get(_folded(name))
            if other is not None and other.priority > service.priority:
                message = f"service {quoted(other.name)} has a later priority; it starts first nevertheless"
                yield (*service.place, "dependencies"), message
        for place, name in _variables(service):
            if name not in service.command:
                yield place, f"{quoted(name)} is nowhere in the service's path"


def _variables(service: WindowsService) -> Iterator[tuple[Place, str]]:
    for variable in service.node_variables:
        yield variable.place, variable.name
    for script in service.pre_scripts:
        if script.variable:
            yield (*script.place, "variableName"), script.variable


def _twice(services: Iterable[WindowsService]) -> Iterator[Fault]:
    known: set[str] = set()
    for service in services:
        if _folded(service.name) in known:
            yield (*service.place, "name"), f"service {quoted(service.name)} is there twice"
        known.add(_folded(service.name))


def _bootstrap(services: Iterable[WindowsService]) -> Iterator[Fault]:
    known = _by_name(services)
    for service in known.values():
        if not service.bootstrap:
            continue
        if service.node_variables:
            message = "a bootstrap service starts before there is a Node, and can take nothing from it"
            yield (*service.place, "nodeVariablesInCommand"), message
        for name in service.dependencies:
            other = known.get(_folded(name))
            if other is not None and not other.bootstrap:
                message = f"a bootstrap service cannot depend on {quoted(other.name)}, which is none"
                yield (*service.place, "dependencies"), message


def _cycles(services: Iterable[WindowsService]) -> Iterator[Fault]:
    """Those that are left when all have gone that need nobody who is left."""
    left = _by_name(services)
    while free := [name for name, service in left.items() if not _needs(service, left)]:
        for name in free:
            del left[name]
    # Whoever needs one of a circle is left, too; nobody needs him.
    while ends := left.keys() - {name for service in left.values() for name in _needs(service, left)}:
        for name in ends:
            del left[name]
    if left:
        names = ", ".join(quoted(service.name) for service in left.values())
        first = next(iter(left.values()))
        yield (*first.place, "dependencies"), f"these services need each other in a circle: {names}"


def _needs(service: WindowsService, among: Mapping[str, WindowsService]) -> list[str]:
    return [name for name in map(_folded, service.dependencies) if name in among]


def _priorities(services: Iterable[WindowsService]) -> Iterator[Fault]:
    by_priority = sorted(services, key=lambda service: (service.priority, service.bootstrap))
    for before, service in pairwise(by_priority):
        if service.bootstrap and not before.bootstrap:
            message = (
                f"a bootstrap service needs a lower number than each of the others; {quoted(before.name)} has"
                f" {before.priority}"
            )
            yield (*service.place, "priority"), message


def _by_name(services: Iterable[WindowsService]) -> dict[str, WindowsService]:
    return {_folded(service.name): service for service in services}


def _folded(name: str) -> str:
    """Names of services have no case."""
    return name.upper()
