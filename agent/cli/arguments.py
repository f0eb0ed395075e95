"""Arguments in, a request out.

Imported at each start, so it is small and imports nothing: argparse and what it draws in take as long as all
the rest of `wmcb version`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from agent.cli.failure import BadUsage, without_secret

if TYPE_CHECKING:
    from agent.cli.given import GivenFile


class Option(NamedTuple):
    """`--name VALUE`, or a switch where there is no placeholder."""

    name: str
    summary: str
    placeholder: str = ""
    choices: Sequence[str] = ()
    short: str = ""
    repeated: bool = False
    """Given several times it is as if given once, with commas between."""
    numbered: bool = False
    """A switch that takes a number as well, which makes no difference."""
    ended_by_none: bool = False
    """An empty value ends what was given before."""

    def misused(self, fault: str) -> BadUsage:
        """Return what to raise where it cannot be meant; `fault` goes on behind its name."""
        return BadUsage(f"{self.name}{fault}", where=self.name)


class Command(NamedTuple):
    """Something to do."""

    name: str
    summary: str
    run: str
    """Its function, as module:function, imported only when it is called."""
    options: Sequence[Option] = ()
    examples: Sequence[str] = ()
    operand: str = ""
    """A word may follow the command's name; this is what help calls it."""
    unlisted: Sequence[Option] = ()
    """Options that help does not name: it takes them in order to refuse or ignore them, and to say why."""

    @property
    def shown(self) -> str:
        """The name for people: the default command has none that could be typed."""
        return self.name or "(none)"


class Request:
    """What was asked for. `command` is None when help is wanted for several, or all."""

    __slots__ = ("command", "files", "off", "operand", "values", "words")

    def __init__(
        self,
        words: Sequence[str],
        command: Command | None,
        values: Mapping[str, str],
        operand: str = "",
        off: Collection[str] = (),
    ) -> None:
        self.operand = operand
        self.words = words
        self.command = command
        self.values = values
        self.off = off
        """Names of the switches that were given as `--name=false`."""
        self.files: dict[str, GivenFile] = {}
        """Those that it names and somebody has asked for, by option: agent.cli.given."""

    def has(self, option: Option) -> bool:
        return option.name in self.values

    def value(self, option: Option, default: str) -> str:
        return self.values.get(option.name, default)

    def is_off(self, option: Option) -> bool:
        return option.name in self.off

    def with_values(self, values: Mapping[str, str]) -> Request:
        """Return the same request with other options."""
        return Request(self.words, self.command, values, self.operand, self.off)

    @property
    def wants_json(self) -> bool:
        return self.value(OUTPUT, "text") == "json"


HELP = Option("--help", "show this, or what a command does", short="-h")
VERBOSE = Option("--verbose", "say more, and where we failed", short="-v", numbered=True)
"""Kubeadm's -v=5 is in many people's scripts."""
OUTPUT = Option("--output", "for people, or for programs", "text|json", ("text", "json"), short="-o")
SANDBOX = Option("--sandbox", "work on a folder that stands for C:", "DIR")
SANDBOX_RUN = Option("--sandbox-run", "in it, start services' programs for real")
COMMON = (HELP, VERBOSE, SANDBOX, SANDBOX_RUN)
_NOWHERE: Mapping[str, str] = {}
_ON = ("true", "1", "t", "T", "TRUE", "True")
_OFF = ("false", "0", "f", "F", "FALSE", "False")
"""What Go's flags read as true and as false; PowerShell's $true and $false become True and False."""


def parse(
    arguments: Sequence[str],
    commands: Sequence[Command],
    common: Sequence[Option] = COMMON,
    program: str = "wmcb",
    *,
    last_counts: bool = False,
    elsewhere: Mapping[str, str] = _NOWHERE,
) -> Request:
    """Options may stand anywhere, as `--name value` or `--name=value`; `common` are those of every command.

    What people try first is understood: `--version` for the command version, `help plan` for `plan --help`.
    `program` is what somebody is told to ask for help. `last_counts`: of an option that is given twice.
    `elsewhere`: commands that there are none of, and what to call instead.
    """
    known = options_by_name(commands, common)
    words: list[str] = []
    values: dict[str, str] = {}
    off: set[str] = set()
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--version" and not words:
            words.append("version")
        elif word == "/?":
            values[HELP.name] = ""
        elif word.startswith("-"):
            option, value = _option(word, rest, known)
            if option is None:
                name, spoken = word.partition("=")[0], [*words, *_words(rest)]
                near = _near_option(name, spoken, commands, common, program)
                raise BadUsage(f"unknown option {name}{near}", where=name)
            if last_counts and not option.repeated:
                values.pop(option.name, None)
            if value is not None:
                _add(values, option, value)
                off.discard(option.name)
            elif option.name not in values:
                off.add(option.name)
        else:
            words.append(word)
    if words[:1] == ["help"]:
        del words[0]
        values[HELP.name] = ""
    _refuse_what_is_elsewhere(words, elsewhere)
    request = _request(words, values, commands, common, program)
    request.off = frozenset(off)
    return request


def _refuse_what_is_elsewhere(words: Sequence[str], elsewhere: Mapping[str, str]) -> None:
    for tried in (" ".join(words), " ".join(words[:2]), *words[:1]):
        if instead := elsewhere.get(tried):
            raise BadUsage(f"there is no command {tried}: {instead}")


def options_by_name(commands: Sequence[Command], common: Sequence[Option]) -> Mapping[str, Option]:
    """Also by their short names."""
    known = {}
    of_commands = (option for command in commands for option in (*command.options, *command.unlisted))
    for option in (*common, *of_commands):
        known[option.name] = option
        if option.short:
            known[option.short] = option
    return known


def _add(values: dict[str, str], option: Option, value: str) -> None:
    if option.name in values and option.placeholder:
        if not option.repeated:
            raise option.misused(" is given twice")
        value = f"{values[option.name]},{value}"
    values[option.name] = value


def _near_option(
    wrong: str, words: Sequence[str], commands: Sequence[Command], common: Sequence[Option], program: str
) -> str:
    """Of the command that these words begin with, or of the one without a name."""
    for number in range(len(words), -1, -1):
        command, _ = _called(words[:number], commands)
        if command is not None:
            known = [option.name for option in (*common, *command.options)]
            return suggestion(wrong, known, f"{program} {command.name}".rstrip())
    return suggestion(wrong, [each.name for each in options_by_name(commands, common).values()], program)


def _words(arguments: Iterable[str]) -> list[str]:
    return [each for each in arguments if not each.startswith("-")]


def _option(word: str, rest: list[str], known: Mapping[str, Option]) -> tuple[Option | None, str | None]:
    """With None for an option that is unknown, and for a switch that is said to be off."""
    name, equals, value = word.partition("=")
    glued = known.get(word[:2])
    if name not in known and glued and glued.placeholder and word[2:] in (glued.choices or (word[2:],)):
        name, equals, value = word[:2], "=", word[2:]  # as in -v5
    option = known.get(name)
    if option is None:
        return None, None
    if not option.placeholder:
        if equals and value in _OFF and not (option.numbered and value.isdigit()):
            return option, None
        if equals and value not in _ON and not (option.numbered and value.isdigit()):
            values = "true, false or a number" if option.numbered else "true or false"
            fault = f"it is a switch, which can be {option.name} alone, {values}"
            raise BadUsage.of(name, value, fault)
        return option, ""
    if not equals:
        if not rest or rest[0].partition("=")[0] in known:
            # Windows PowerShell 5.1 leaves out an argument that is empty.
            none = f", or {name}= for none" if option.ended_by_none else ""
            raise BadUsage(f"{name} needs a value: {name} {option.placeholder}{none}", where=name)
        value = rest.pop(0)
    if option.choices and value not in option.choices:
        raise BadUsage.of(name, value, f"it can be {' or '.join(option.choices)}")
    return option, value


def _request(
    words: Sequence[str],
    values: Mapping[str, str],
    commands: Sequence[Command],
    common: Sequence[Option],
    program: str,
) -> Request:
    name = " ".join(words)
    if HELP.name in values and not name:
        return Request(words, None, values)
    command, operand = _called(words, commands)
    if command is not None and (name or values):
        allowed = [option.name for option in (*common, *command.options, *command.unlisted)]
        for option in values:
            if option not in allowed:
                if not name and (others := _commands_with(option, commands)):
                    raise BadUsage(f"{option} goes with {program} {' or '.join(others)}", where=option)
                near = _near_option(option, words, commands, common, program)
                but = _but_others(option, commands)
                raise BadUsage(f"{command.shown} has no option {option}{but}{near}", where=option)
        return Request(words, command, values, operand)
    below = [each.name for each in commands if not name or each.name.startswith(name + " ")]
    if HELP.name in values and below:
        return Request(words, None, values)
    if not name:
        raise BadUsage(f"no command given; {program} --help lists them")
    if below:
        raise BadUsage(f"{_shown(words)}: say which of {', '.join(below)}")
    _refuse_what_follows(words, commands)
    group = _group(words, commands)
    below = [each.name for each in commands if each.name.startswith(f"{' '.join(group)} ")]
    if group and below:
        nearest = _nearest(name.rpartition(" ")[2], [each.rpartition(" ")[2] for each in below])
        then = f"did you mean {' '.join(group)} {nearest}?" if nearest else f"there is {', '.join(below)}"
        raise BadUsage(f"unknown command {_shown(words)}; {then}")
    _refuse_half_a_path(words, values)
    names = [each.name for each in commands]
    raise BadUsage(f"unknown command {_shown(words)}{suggestion(name, names, program)}")


def _refuse_half_a_path(words: Sequence[str], values: Mapping[str, str]) -> None:
    """What stands behind the blank of an option's value."""
    if values and "\\" in words[0]:
        raise BadUsage(f"unknown command {_shown(words)}; a path with a blank in it has to be in quotes")


def _commands_with(option: str, commands: Sequence[Command]) -> list[str]:
    return [each.name for each in commands if option in [known.name for known in each.options]]


def _but_others(option: str, commands: Sequence[Command]) -> str:
    """Which have it, unless they are many: an option with a name like it may be for something else."""
    names = [name or "wmcb without a command" for name in _commands_with(option, commands)]
    if not 1 <= len(names) <= _FEW:
        return ""
    *first, last = names
    return f", but {', '.join(first)} and {last} have" if first else f", but {last} has"


def _refuse_what_follows(words: Sequence[str], commands: Sequence[Command]) -> None:
    """Where the first words are a command, it is not that which is unknown."""
    for number in range(len(words) - 1, 0, -1):
        command, operand = _called(words[:number], commands)
        if command is not None and command.name:
            if operand:
                # Not quoted: a token whose option was forgotten, or half of one, and a log is written.
                raise BadUsage(f"{command.shown} takes one {command.operand} only: what follows is too much")
            raise BadUsage(f"{command.shown} takes options only: {without_secret(words[number])} is too much")
        if _is_group(words[:number], commands):
            return


def _shown(words: Sequence[str]) -> str:
    """A token whose option was forgotten is not told."""
    return " ".join(without_secret(word) for word in words)


def _group(words: Sequence[str], commands: Sequence[Command]) -> Sequence[str]:
    """Return the most of the first words that other commands begin with, as `join phase`."""
    for number in range(len(words), 0, -1):
        if _is_group(words[:number], commands):
            return words[:number]
    return ()


def _is_group(words: Sequence[str], commands: Sequence[Command]) -> bool:
    beginning = f"{' '.join(words)} "
    return any(command.name.startswith(beginning) for command in commands)


def _called(words: Sequence[str], commands: Sequence[Command]) -> tuple[Command | None, str]:
    """The command of this name, or the one that takes the last word as its operand."""
    name, before = " ".join(words), " ".join(words[:-1])
    for command in commands:
        if command.name == name:
            return command, ""
    if words and not _is_group(words, commands):
        for command in commands:
            if command.operand and command.name == before:
                return command, words[-1]
    return None, ""


def suggestion(wrong: str, known: Iterable[str], program: str = "wmcb") -> str:
    """The end of a line that says something is unknown. `program` may be one of its commands, too."""
    near = _nearest(wrong, known)
    return f"; did you mean {near}?" if near else f"; see {program} --help"


_FEW = 4
_CLOSE = 0.62
"""How alike a name has to be to be suggested, of 1: drift is 0.6 like audit, --out 0.67 like --output."""


def _nearest(wrong: str, known: Iterable[str]) -> str | None:
    import difflib  # noqa: PLC0415 - difflib, 1 ms of each start

    # Without the dashes, which are alike in all options: --purge is not to lead to --forget.
    names = {each.lstrip("-"): each for each in known}
    near = difflib.get_close_matches(wrong.lower().lstrip("-"), list(names), n=1, cutoff=_CLOSE)
    return names[near[0]] if near else None
