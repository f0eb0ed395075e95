"""What a node should be by a services ConfigMap: command lines with all their values, in their order."""

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PureWindowsPath

from agent.command_lines import split
from agent.documents import Value
from agent.redaction import register_words
from agent.sources.report import Entry, Place, Report, Severity
from agent.sources.services_configmap.json_path import NotThere
from agent.sources.services_configmap.model import (
    MANAGED,
    ExpectedFile,
    NodeVariable,
    PreScript,
    ServicesConfigMap,
    WindowsService,
)
from agent.spec import EnvironmentVariable, Restart, Service, Specification

POWERSHELL_OPTIONS = ("-NonInteractive", "-ExecutionPolicy", "Bypass", "-Command")
"""Before a script's text, as the operator's daemon calls PowerShell."""

_RESTART = Restart(after_seconds=(5.0,), forgiven_after_seconds=600)
# A value must not become more than the one word that it stands for.
_ENDS_AN_ARGUMENT = re.compile(r"[\s\x00-\x1f\x7f\"%]")
# At its beginning an @ makes several arguments of a variable.
_ENDS_A_WORD_OF_POWERSHELL = re.compile(r"\A@|[^A-Za-z0-9._:/\\@=+-]")
_VARIABLE_OF_WINDOWS = re.compile("%[^%=]+%")


@dataclass(frozen=True, slots=True)
class Script:
    """To be run before its service is made so, each time."""

    service: str
    place: Place
    text: str
    variable: str

    @property
    def arguments(self) -> tuple[str, ...]:
        """Of powershell.exe."""
        return (*POWERSHELL_OPTIONS, self.text)


@dataclass(frozen=True, slots=True)
class Scripts:
    scripts: tuple[Script, ...]
    report: Report = field(default_factory=Report)
    """Fatal where a script needs what the Node does not have, or not yet."""


@dataclass(frozen=True, slots=True)
class Desired:
    specification: Specification
    files: tuple[ExpectedFile, ...] = ()


@dataclass(frozen=True, slots=True)
class Compiled:
    desired: Desired | None
    """None where the report is fatal. With another Node, or another output, it may not be."""
    report: Report


def stages(services: Iterable[WindowsService]) -> tuple[tuple[WindowsService, ...], ...]:
    """A service's scripts may need that those before it run: only the first of a stage has scripts."""
    made: list[list[WindowsService]] = []
    for service in services:
        if service.pre_scripts or not made:
            made.append([])
        made[-1].append(service)
    return tuple(map(tuple, made))


def scripts(
    configuration: ServicesConfigMap, services: Iterable[WindowsService], node: Mapping[str, Value]
) -> Scripts:
    """In their order. Without a Node, as at a bootstrap, `node` is empty."""
    work = _Work(configuration.name, node)
    found = tuple(work.script(service, script) for service in services for script in service.pre_scripts)
    return Scripts(found if not work.entries else (), Report(tuple(work.entries)))


def compile_services(
    configuration: ServicesConfigMap,
    services: Iterable[WindowsService],
    node: Mapping[str, Value],
    outputs: Mapping[Place, str],
) -> Compiled:
    """`services` are all, or those up to the end of a stage; `outputs` what scripts said, by their place."""
    work = _Work(configuration.name, node, outputs)
    made = [work.service(service) for service in services]
    report = Report(tuple(work.entries))
    if report.fatal:
        return Compiled(None, report)
    variables = [
        EnvironmentVariable(name, value, secret="@" in value)
        for name, value in configuration.environment.items()
    ]
    # Of one that is taken away the value may still hold a password.
    absent = [EnvironmentVariable(name, None, secret=True) for name in configuration.absent]
    wants = [*variables, *absent, *(service for service in made if service is not None)]
    specification = Specification.of(wants, title=configuration.name)
    return Compiled(Desired(specification, configuration.files), report)


class _Work:
    def __init__(
        self, name: str, node: Mapping[str, Value], outputs: Mapping[Place, str] | None = None
    ) -> None:
        self._name = name
        self._node = dict(node)
        self._outputs = outputs or {}
        self.entries: list[Entry] = []

    def script(self, service: WindowsService, script: PreScript) -> Script:
        values = self._node_values(script.arguments, _ENDS_A_WORD_OF_POWERSHELL)
        text = _replaced(script.text, values)
        return Script(service.name, script.place, text, script.variable)

    def service(self, service: WindowsService) -> Service | None:
        """None for one with an entry."""
        before = len(self.entries)
        # A name that both have is the Node's: the operator's daemon puts those in first.
        values = self._printed(service) | self._node_values(service.node_variables, _ENDS_AN_ARGUMENT)
        constants = {variable.name for variable in service.node_variables if variable.path.constant}
        program, *arguments = _words(service.command, values, constants)
        register_words(arguments)
        path = PureWindowsPath(program)
        if fault := _command_fault(path, (program, *arguments)):
            self._wrong((*service.place, "path"), fault)
        if len(self.entries) > before:
            return None
        return Service(
            service.name,
            path,
            tuple(arguments),
            description=f"{MANAGED} {service.name}",
            dependencies=service.dependencies,
            restart=_RESTART,
        )

    def _node_values(self, variables: Iterable[NodeVariable], ends_a_word: re.Pattern[str]) -> dict[str, str]:
        values: dict[str, str] = {}
        for variable in variables:
            try:
                value = variable.path.text(self._node)
            except NotThere as reason:
                self._wrong(variable.place, f"the Node has no value for it yet: {reason}")
                continue
            if not variable.path.constant and (fault := _value_fault(value, ends_a_word)):
                self._wrong(variable.place, f"the Node's value for it {fault}")
            values[variable.name] = value
        return values

    def _printed(self, service: WindowsService) -> dict[str, str]:
        values: dict[str, str] = {}
        for script in service.pre_scripts:
            if not script.variable:
                continue
            if script.place not in self._outputs:
                self._wrong(script.place, "the script has not been run")
                continue
            value = self._outputs[script.place].strip()
            if fault := _value_fault(value, _ENDS_AN_ARGUMENT):
                self._wrong(script.place, f"what the script printed {fault}")
            values[script.variable] = value
        return values

    def _wrong(self, place: Place, message: str) -> None:
        self.entries.append(Entry(Severity.ERROR, message, self._name, place))


def _value_fault(value: str, ends_a_word: re.Pattern[str]) -> str | None:
    if not value:
        return "is empty"
    if value.startswith("-"):
        return "begins with a dash, and would be an option of the command that it is put into"
    if ends_a_word.search(value):
        return "is more than one word, and would change the command that it is put into"
    return None


def _words(command: str, values: Mapping[str, str], constants: Collection[str]) -> tuple[str, ...]:
    """Return the arguments of a command, in which no value but a constant changes where one ends.

    A value that ends in a backslash would otherwise take its meaning from a quote behind it.
    """
    marks = {name: f"\0{index}\0" for index, name in enumerate(values) if name not in constants}
    marked = _replaced(command, {**values, **marks})
    behind = {mark: values[name] for name, mark in marks.items()}
    return tuple(_replaced(word, behind) for word in split(marked))


def _command_fault(program: PureWindowsPath, command: tuple[str, ...]) -> str | None:
    if not program.is_absolute():
        return (
            "its program is no whole path with its drive; if there are blanks in it, put it in double quotes"
        )
    if any("\0" in word for word in command):
        return "there is a NUL in it, which no command line can have; leave it out"
    if any(_VARIABLE_OF_WINDOWS.search(word) for word in command):
        return "Windows would take what stands between two percent signs for a variable; leave them out"
    return None


def _replaced(command: str, values: Mapping[str, str]) -> str:
    """All at once, so that nothing in a value is taken for a variable; of two names the longer one counts."""
    if not values:
        return command
    names = sorted(values, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, names)), lambda found: values[found[0]], command)
