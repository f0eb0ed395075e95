"""A unit and its drop-ins: which files they are, the settings in each, and the service that comes of them.

The rules are those of systemd.syntax(7) and systemd.unit(5), with what the manager really does where the
manual is silent: a comment inside a continued line is left out, a blank line ends it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agent.redaction import register_named
from agent.sources.report import Entry, Origin, Report, Severity, bounded, quoted
from agent.sources.systemd import words
from agent.sources.systemd.words import BLANKS

UNIT_FOLDERS = (
    "/etc/systemd/system",
    "/run/systemd/system",
    "/usr/local/lib/systemd/system",
    "/usr/lib/systemd/system",
)
"""Highest precedence first."""

_COMMENT = "#;"
_BYTE_ORDER_MARK = "\ufeff"
_LONGEST_LINE = 1024 * 1024
_LINE_END = re.compile("\n\r?\0?|\r\n?\0?|\0")
"""Any of these in a row is one line end, as long as none of them comes twice."""

_SECTIONS = ("Unit", "Service", "Install")


@dataclass(frozen=True, slots=True)
class UnitFile:
    name: str
    """What messages call it: kubelet.service, or kubelet.service.d/10-proxy.conf."""
    contents: bytes


@dataclass(frozen=True, slots=True)
class Setting:
    section: str
    name: str
    value: str
    document: str
    line: int
    """Where it begins; a continued one ends later."""


def gather(
    unit: str, contents: str | None, drop_ins: Mapping[str, str], files: Mapping[str, bytes]
) -> tuple[UnitFile, ...]:
    """A unit as given, with what the same document writes beneath systemd's folders; in the order of merging.

    A unit or drop-in that is given hides a file of the same name, since both are the one file in /etc.
    """
    found = list(_fragment(unit, contents, files))
    by_name = {
        name: UnitFile(f"{unit}.d/{name}", text.encode(errors="surrogatepass"))
        for name, text in drop_ins.items()
    }
    for folder in _drop_in_folders(unit):
        for path in files:
            above, _, name = path.rpartition("/")
            if above == folder and name.endswith(".conf") and name not in by_name:
                by_name[name] = UnitFile(path, files[path])
    # A drop-in without .conf is none, wherever it comes from.
    return (*found, *(by_name[name] for name in sorted(by_name) if name.endswith(".conf")))


def _fragment(unit: str, contents: str | None, files: Mapping[str, bytes]) -> Iterator[UnitFile]:
    if contents is not None:
        yield UnitFile(unit, contents.encode(errors="surrogatepass"))
        return
    for folder in UNIT_FOLDERS:
        if (data := files.get(f"{folder}/{unit}")) is not None:
            yield UnitFile(f"{folder}/{unit}", data)
            return


def _drop_in_folders(unit: str) -> Iterator[str]:
    """Of kube-let.service: kube-let.service.d, then kube-.service.d, then service.d."""
    stem, _, kind = unit.rpartition(".")
    parts = stem.split("-")
    stems = [stem, *("-".join(parts[:end]) + "-" for end in range(len(parts) - 1, 0, -1))]
    for own in [*(f"{name}.{kind}.d" for name in stems), f"{kind}.d"]:
        for folder in UNIT_FOLDERS:
            yield f"{folder}/{own}"


def read_unit(file: UnitFile) -> tuple[tuple[Setting, ...], Report]:
    """The settings in their order. What follows a fault that makes systemd refuse the file is left out."""
    reader = _Reader(file.name)
    reader.read(file.contents.decode("utf-8", "surrogateescape"))
    return tuple(reader.settings), bounded(reader.entries)


class _Refused(Exception):
    """systemd stops reading the file here."""


class _Reader:
    def __init__(self, name: str) -> None:
        self._name = name
        self._section: str | None = None
        self._elsewhere = False
        """Inside a section that is none of a service's: what stands there is ignored without a word."""
        self.settings: list[Setting] = []
        self.entries: list[Entry] = []

    def read(self, text: str) -> None:
        try:
            for number, line in _logical_lines(text):
                self._line(number, line)
        except _Refused as refusal:
            number, message = refusal.args
            self._report(Severity.ERROR, number, message)

    def _line(self, number: int, line: str) -> None:
        stripped = line.strip(BLANKS)
        if not stripped:
            return
        if not stripped.isascii() and any("\udc80" <= character <= "\udcff" for character in stripped):
            self._report(Severity.WARNING, number, "this line is not UTF-8; systemd ignores it")
        elif stripped.startswith("["):
            self._open_section(number, stripped)
        elif self._section is not None:
            self._assign(number, self._section, stripped)
        elif not self._elsewhere:
            self._report(Severity.WARNING, number, "a setting before the first section; systemd ignores it")

    def _open_section(self, number: int, header: str) -> None:
        if not header.endswith("]") or not header.isprintable():
            raise _Refused(number, f"{quoted(header)} is no section header")
        name = header[1:-1]
        self._section = name if name in _SECTIONS else None
        self._elsewhere = self._section is None
        if self._elsewhere and not name.startswith("X-"):
            self._report(
                Severity.WARNING, number, f"a service has no section {quoted(name)}; systemd ignores it"
            )

    def _assign(self, number: int, section: str, line: str) -> None:
        name, equals, value = line.partition("=")
        if not equals or not name:
            fault = "a line without '='" if not equals else "a value without a name"
            self._report(Severity.WARNING, number, f"{fault}; systemd ignores it")
            return
        self.settings.append(Setting(section, name.strip(BLANKS), value.strip(BLANKS), self._name, number))

    def _report(self, severity: Severity, number: int, message: str) -> None:
        self.entries.append(Entry(severity, message, self._name, line=number))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Continued lines joined, comments left out; each with the number of the line on which it begins."""
    parts: list[str] = []
    length = 0
    begun = 0
    marked = False
    for number, physical in enumerate(_LINE_END.split(text), start=1):
        line = physical
        if len(line) > _LONGEST_LINE:
            raise _Refused(number, "a line is longer than 1 MiB")
        if line.lstrip(BLANKS)[:1] in tuple(_COMMENT):
            continue
        if not marked and line.startswith(_BYTE_ORDER_MARK):
            marked = True
            line = line[1:]
        begun = begun or number
        length += len(line)
        if length > _LONGEST_LINE:
            raise _Refused(number, "a continued line is longer than 1 MiB")
        if _continues(line):
            parts.append(line[:-1] + " ")
            continue
        yield begun, "".join([*parts, line])
        parts, length, begun = [], 0, 0
    if parts:
        yield begun, "".join(parts)


def _continues(line: str) -> bool:
    """A backslash at the end, unless it is itself escaped."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


EXEC_SETTINGS = (
    "ExecCondition", "ExecStartPre", "ExecStart", "ExecStartPost", "ExecReload", "ExecStop", "ExecStopPost",
)  # fmt: skip
_VARIABLE_NAME = re.compile("[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class Command:
    """One command line: unquoted, its specifiers resolved, its variables not yet expanded."""

    program: str
    arguments: tuple[words.Resolved, ...]
    origin: Origin
    may_fail: bool = False
    expands_variables: bool = True


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    value: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class EnvironmentFile:
    path: str
    """May hold * ? and [...]"""
    optional: bool
    origin: Origin


@dataclass(frozen=True, slots=True)
class Service:
    name: str
    commands: Mapping[str, tuple[Command, ...]] = field(default_factory=dict)
    """By setting, one of EXEC_SETTINGS."""
    variables: tuple[Variable, ...] = ()
    environment_files: tuple[EnvironmentFile, ...] = ()
    unset: tuple[str, ...] = ()
    """Names, or NAME=VALUE to take away only that value."""
    type: str = "simple"


def is_variable_name(name: str) -> bool:
    return bool(_VARIABLE_NAME.fullmatch(name))


def read_service(name: str, files: Sequence[UnitFile], node: Mapping[str, str]) -> tuple[Service, Report]:
    """Merges the files in their order. `node` answers the specifiers that only the node can."""
    merging = _Merging(name, words.answers(name, f"{UNIT_FOLDERS[0]}/{name}", node))
    report = Report()
    for file in files:
        settings, read = read_unit(file)
        report += read
        for setting in settings:
            if setting.section == "Service":
                merging.take(setting)
    return merging.service(), report + bounded(merging.entries)


class _BadCommand(Exception):
    """Why systemd refuses a command line."""


class _Merging:
    def __init__(self, name: str, answers: Mapping[str, str]) -> None:
        self._name = name
        self._answers = answers
        self._commands: dict[str, list[Command]] = {}
        self._variables: dict[str, Variable] = {}
        self._files: list[EnvironmentFile] = []
        self._unset: list[str] = []
        self._type = "simple"
        self.entries: list[Entry] = []

    def service(self) -> Service:
        return Service(
            self._name,
            {setting: tuple(commands) for setting, commands in self._commands.items()},
            tuple(self._variables.values()),
            tuple(self._files),
            tuple(self._unset),
            self._type,
        )

    def take(self, setting: Setting) -> None:
        if setting.name in EXEC_SETTINGS:
            self._take_commands(setting)
        elif setting.name == "Environment":
            self._take_environment(setting)
        elif setting.name == "EnvironmentFile":
            self._take_environment_file(setting)
        elif setting.name == "UnsetEnvironment":
            self._take_unset(setting)
        elif setting.name == "Type":
            self._type = setting.value

    def _take_commands(self, setting: Setting) -> None:
        commands = self._commands.setdefault(setting.name, [])
        if not setting.value:
            commands.clear()
            return
        try:
            for command in _CommandLines(setting, self._answers, self._warn):
                commands.append(command)
        except _BadCommand as fault:
            self._report(Severity.ERROR, setting, str(fault))

    def _take_environment(self, setting: Setting) -> None:
        if not setting.value:
            self._variables.clear()
            return
        place = 0
        while True:
            try:
                word, place = words.first_word(setting.value, place, words.STRICT)
            except words.BadWord as fault:
                self._warn(setting, f"{fault}; systemd ignores the rest of the line")
                return
            if word is None:
                return
            self._assign(setting, word)

    def _assign(self, setting: Setting, word: str) -> None:
        name = word.partition("=")[0]
        try:
            resolved = words.resolve(word, self._answers)
        except words.UnknownSpecifier as unknown:
            self._warn(setting, f"systemd has no specifier {unknown}; it ignores {_named(name)}")
            return
        if resolved.unanswered:
            # Half a value is worse than none: what needs the variable is told that it has no value.
            missing = ", ".join(resolved.unanswered)
            self._warn(setting, f"{missing} has no answer on Windows; {_named(name)} is not set")
            return
        name, equals, value = resolved.text.partition("=")
        if not equals or not is_variable_name(name):
            # Not quoted: it is the second half of a value with a blank in it, more often than not.
            self._warn(
                setting,
                "a word in it is no NAME=VALUE; systemd ignores it: a value with a blank needs quotes",
            )
            return
        register_named(name, value)
        self._variables.pop(name, None)
        self._variables[name] = Variable(name, value, _origin(setting))

    def _take_environment_file(self, setting: Setting) -> None:
        if not setting.value:
            self._files.clear()
            return
        try:
            resolved = words.resolve(setting.value, self._answers)
        except words.UnknownSpecifier as unknown:
            self._warn(setting, f"systemd has no specifier {unknown}; it ignores the line")
            return
        optional = resolved.text.startswith("-")
        path = resolved.text[optional:]
        if resolved.unanswered:
            missing = ", ".join(resolved.unanswered)
            self._warn(setting, f"{missing} has no answer on Windows; the file is not read")
        elif not path.startswith("/"):
            self._warn(setting, f"{quoted(path)} does not start at /; systemd ignores it")
        else:
            self._files.append(EnvironmentFile(_simplified(path), optional, _origin(setting)))

    def _take_unset(self, setting: Setting) -> None:
        if not setting.value:
            self._unset.clear()
            return
        try:
            self._unset += words.split(setting.value, words.LENIENT)
        except words.BadWord as fault:
            self._warn(setting, f"{fault}; systemd ignores the line")

    def _warn(self, setting: Setting, message: str) -> None:
        self._report(Severity.WARNING, setting, message)

    def _report(self, severity: Severity, setting: Setting, message: str) -> None:
        self.entries.append(_origin(setting).entry(severity, message))


def _named(name: str) -> str:
    """What is no name is not shown: it may be half of a value."""
    return quoted(name) if is_variable_name(name) else "a word"


class _CommandLines:
    """The command lines of one setting: usually one, more where a lone ; stands between them."""

    _PREFIXES = "@-:+!|"

    def __init__(
        self, setting: Setting, answers: Mapping[str, str], warn: Callable[[Setting, str], None]
    ) -> None:
        self._setting = setting
        self._answers = answers
        self._warn = warn
        self._text = setting.value
        self._place = 0

    def __iter__(self) -> Iterator[Command]:
        while (first := self._word()) is not None:
            if first != ";":
                yield self._command(first)

    def _command(self, first: str) -> Command:
        program = first.lstrip(self._PREFIXES)
        prefixes = first[: len(first) - len(program)]
        self._check_prefixes(prefixes)
        resolved = self._resolve(program)
        if resolved.unanswered:
            missing = ", ".join(resolved.unanswered)
            raise _BadCommand(f"its program depends on {missing}, which has no answer on Windows")
        if not resolved.text or resolved.text.endswith("/"):
            raise _BadCommand("no program to run")
        arguments = self._arguments()
        if "@" in prefixes:
            if not arguments:
                raise _BadCommand("'@' wants the program's name for itself as the next word")
            arguments = arguments[1:]
        return Command(
            _simplified(resolved.text),
            arguments,
            _origin(self._setting),
            may_fail="-" in prefixes,
            expands_variables=":" not in prefixes,
        )

    def _check_prefixes(self, prefixes: str) -> None:
        if "|" in prefixes:
            raise _BadCommand("'|' runs the command through a login shell, which a Windows node has not")
        if any(prefixes.count(prefix) > 1 for prefix in "@-:+") or ("+" in prefixes and "!" in prefixes):
            raise _BadCommand(f"systemd does not take the prefixes {quoted(prefixes)} together")

    def _arguments(self) -> tuple[words.Resolved, ...]:
        found: list[words.Resolved] = []
        while self._place < len(self._text):
            if self._takes_alone(";"):
                break
            if self._takes_alone("\\;"):
                found.append(words.Resolved(";"))
                continue
            word = self._word()
            if word is None:
                break
            found.append(self._resolve(word))
        return tuple(found)

    def _takes_alone(self, mark: str) -> bool:
        """Consumes `mark` if it stands here as a word of its own."""
        end = self._place + len(mark)
        if not self._text.startswith(mark, self._place) or self._text[end : end + 1] not in ("", *BLANKS):
            return False
        self._place = words.skip_blanks(self._text, end)
        return True

    def _word(self) -> str | None:
        try:
            word, self._place = words.first_word(self._text, self._place, words.STRICT)
        except words.BadWord:
            word = self._lenient_word()
        return word

    def _lenient_word(self) -> str | None:
        """As systemd tries it a second time: an escape that it does not know stays as it is."""
        try:
            word, self._place = words.first_word(self._text, self._place, words.LENIENT)
        except words.BadWord as fault:
            raise _BadCommand(str(fault)) from None
        self._warn(self._setting, f"an unknown escape sequence in {quoted(word or '')} stays as it is")
        return word

    def _resolve(self, word: str) -> words.Resolved:
        try:
            return words.resolve(word, self._answers)
        except words.UnknownSpecifier as unknown:
            raise _BadCommand(f"systemd has no specifier {unknown}") from None


def _origin(setting: Setting) -> Origin:
    return Origin(setting.document, (setting.section, setting.name), setting.line)


def _simplified(path: str) -> str:
    """Without doubled and trailing slashes and without '.' elements."""
    if "/" not in path:
        return path
    elements = [element for element in path.split("/") if element not in ("", ".")]
    return ("/" if path.startswith("/") else "") + "/".join(elements)
