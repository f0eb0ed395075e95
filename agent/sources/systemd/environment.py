"""Environment files, and variables put into a command line."""

import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from agent.redaction import register_named
from agent.sources.report import Entry, Origin, Report, Severity, bounded, quoted_key
from agent.sources.systemd import words
from agent.sources.systemd.service import EnvironmentFile, Service, Variable, is_variable_name
from agent.sources.systemd.words import Resolved

_NEWLINES = "\n\r"
_BLANKS = " \t\n\r"
_ESCAPED_IN_QUOTES = '"\\`$'
_GLOB = re.compile(r"[*?\[]")
_NEWLINE = re.compile("[\n\r]")
_END_OF_NAME = re.compile("[}:]")


@dataclass(frozen=True, slots=True)
class Environment:
    variables: Mapping[str, Variable]
    missing: tuple[EnvironmentFile, ...]
    """Files without '-' that nobody carries: systemd would not have started the service."""
    report: Report


@dataclass(frozen=True, slots=True)
class Word:
    """One argument, its variables expanded."""

    text: str
    unanswered: tuple[str, ...] = ()
    """Variables and specifiers in it that have no value."""
    expanded: bool = False
    """Whether variables' values are in it, which may be secret: a message does not quote it."""


def load(service: Service, files: Mapping[str, bytes]) -> Environment:
    """What systemd would start the service with: a file wins over Environment=, a later file over both."""
    variables = {variable.name: variable for variable in service.variables}
    missing: list[EnvironmentFile] = []
    entries: list[Entry] = []
    for file in service.environment_files:
        paths = sorted(_matching(file.path, files))
        if not paths and not file.optional:
            missing.append(file)
        for path in paths:
            read, report = read_file(path, files[path])
            entries += report.entries
            for variable in read:
                variables.pop(variable.name, None)
                variables[variable.name] = variable
    for taken in service.unset:
        name, equals, value = taken.partition("=")
        if name in variables and (not equals or variables[name].value == value):
            del variables[name]
    return Environment(variables, tuple(missing), bounded(entries))


def _matching(pattern: str, files: Mapping[str, bytes]) -> Iterator[str]:
    if not _GLOB.search(pattern):
        if pattern in files:
            yield pattern
        return
    wanted = pattern.split("/")
    for path in files:
        elements = path.split("/")
        if len(elements) == len(wanted) and all(map(_element_matches, elements, wanted)):
            yield path


def _element_matches(element: str, pattern: str) -> bool:
    # A leading dot has to be asked for, as in a shell.
    hidden = element.startswith(".") and not pattern.startswith(".")
    return not hidden and fnmatch.fnmatchcase(element, pattern)


def read_file(path: str, contents: bytes) -> tuple[tuple[Variable, ...], Report]:
    """The variables of an environment file, as load_env_file of systemd reads it."""
    text = contents.partition(b"\0")[0].decode("utf-8", "surrogateescape")
    found: dict[str, Variable] = {}
    entries: list[Entry] = []
    for line, name, value in _assignments(text):
        if not _is_utf8(name + value):
            message = f"the value of {quoted_key(name)} is not UTF-8; systemd ignores the whole file"
            return (), Report((Entry(Severity.WARNING, message, path, line=line),))
        if is_variable_name(name):
            register_named(name, value)
            found.pop(name, None)
            found[name] = Variable(name, value, Origin(path, line=line))
        else:
            # Not quoted: it is a line of a key that began above, more often than not.
            message = "what is before the equals sign is no name of a variable; systemd ignores it"
            entries.append(Entry(Severity.WARNING, message, path, line=line))
    return tuple(found.values()), bounded(entries)


def _is_utf8(text: str) -> bool:
    return text.isascii() or not any("\udc80" <= character <= "\udcff" for character in text)


def _assignments(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, name and value of each NAME=VALUE."""
    place = 0
    line = 1
    while True:
        while place < len(text) and text[place] in _BLANKS:
            line += text[place] == "\n"
            place += 1
        if place >= len(text):
            return
        if text[place] in "#;":
            end = _end_of_line(text, place)
            line += 1
            place = end + 1
            continue
        end = _end_of_line(text, place)
        equals = text.find("=", place, end)
        if equals < 0:
            place = end
            continue
        # systemd takes a name without its trailing blanks, and leading ones were skipped.
        value, after = _value(text, equals + 1)
        yield line, text[place:equals].rstrip(_BLANKS), value
        line += text.count("\n", place, after)
        place = after


def _end_of_line(text: str, place: int) -> int:
    found = _NEWLINE.search(text, place)
    return found.start() if found else len(text)


def _value(text: str, place: int) -> tuple[str, int]:
    """The value that begins here, and where the next line does.

    Quotes mean something only as long as nothing unquoted came before them, and blanks between quoted parts
    vanish: "a" "b" is ab, while a"b" keeps its quotes.
    """
    made: list[str] = []
    bare = False
    kept = 0
    """How much of `made` is not blanks at the end, which go."""
    while place < len(text):
        character = text[place]
        place += 1
        if character in _NEWLINES:
            break
        if character == "\\":
            bare = True
            place = _escaped(text, place, made)
            kept = len(made)
        elif bare or character not in _BLANKS + "\"'":
            bare = True
            made.append(character)
            kept = kept if character in _BLANKS else len(made)
        elif character in "\"'":
            place = _quoted(text, place, character, made)
    return "".join(made[:kept] if bare else made), place


def _escaped(text: str, place: int, made: list[str]) -> int:
    if text[place : place + 1] not in ("", *_NEWLINES):
        made.append(text[place])
    return place + 1


def _quoted(text: str, place: int, quote: str, made: list[str]) -> int:
    while place < len(text) and text[place] != quote:
        if text[place] == "\\" and quote == '"':
            place += 1
            escaped = text[place : place + 1]
            if escaped and escaped not in _ESCAPED_IN_QUOTES + "\n":
                made.append("\\")
            made.append(escaped if escaped != "\n" else "")
        else:
            made.append(text[place])
        place += 1
    return place + 1


def names(arguments: Iterable[Resolved]) -> frozenset[str]:
    """The variables that a command line asks for."""
    found: set[str] = set()
    for argument in arguments:
        text = argument.text
        if text.startswith("$") and text[1:2] not in ("{", "$"):
            found.add(text[1:])
        else:
            found.update(name for _, _, name in _references(text) if name is not None)
    return frozenset(found)


def expand(arguments: Iterable[Resolved], variables: Mapping[str, str]) -> tuple[Word, ...]:
    """${NAME} is one word, or part of one; $NAME alone is as many words as its value has."""
    found: list[Word] = []
    for argument in arguments:
        text = argument.text
        if text.startswith("$") and text[1:2] not in ("{", "$"):
            found += _separate_words(text[1:], argument.unanswered, variables)
        else:
            found.append(_one_word(text, argument.unanswered, variables))
    return tuple(found)


def _separate_words(name: str, unanswered: tuple[str, ...], variables: Mapping[str, str]) -> Iterator[Word]:
    value = variables.get(name)
    if value is None:
        # No word at all, as on Linux; what is unanswered stands beside an empty one, for whoever reports.
        yield Word("", (*unanswered, name))
        return
    try:
        for word in words.split(value, words.VALUE):
            yield Word(word, unanswered, expanded=True)
    except words.BadWord:
        yield Word(value, unanswered, expanded=True)


def _one_word(text: str, unanswered: tuple[str, ...], variables: Mapping[str, str]) -> Word:
    missing = list(unanswered)
    made: list[str] = []
    place = 0
    expanded = False
    for start, end, name in _references(text):
        made.append(text[place:start])
        made.append("$" if name is None else variables.get(name, ""))
        expanded = expanded or name in variables
        if name is not None and name not in variables:
            missing.append(name)
        place = end
    return Word("".join([*made, text[place:]]), tuple(missing), expanded)


def _references(text: str) -> Iterator[tuple[int, int, str | None]]:
    """Where each ${NAME} begins and ends, with its name, and each $$, with none."""
    place = 0
    while (start := text.find("$", place)) >= 0:
        following = text[start + 1 : start + 2]
        place = start + 2
        if following == "$":
            yield start, place, None
        elif following == "{":
            ended = _END_OF_NAME.search(text, place)
            if ended is None:
                return
            place = ended.end()
            # ${NAME:-default} is for shells: to systemd it is plain text.
            if ended[0] == "}":
                yield start, place, text[start + 2 : ended.start()]
