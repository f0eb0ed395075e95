"""The kubelet's command line taken apart: which program it is, and its flags as pflag reads them."""

import csv
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent.sources.durations import seconds
from agent.sources.kubelet import flags
from agent.sources.kubelet.documents import Value
from agent.sources.kubelet.flags import Flag, Kind
from agent.sources.report import quoted
from agent.sources.systemd.environment import Word

_MULTI_CALL = ("hyperkube",)
_WRAPPERS = ("kubenswrapper", "kubensenter")
_KUBELET = ("kubelet", "kubelet.exe")

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_TRUE = {"1", "t", "T", "TRUE", "true", "True"}
_FALSE = {"0", "f", "F", "FALSE", "false", "False"}
_NUMBER = re.compile(r"[-+]?(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]*|[1-9][0-9]*)", re.ASCII)
_FRACTION = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?", re.ASCII)


class NotAKubelet(Exception):
    """The text says what the command is instead."""


class Unusable(Exception):
    """A word or value over which the kubelet would not start. The text says why."""


@dataclass(frozen=True, slots=True)
class Given:
    """One flag as it was given; `known` is its row in the table, if it has one."""

    name: str
    value: str | None
    known: Flag | None
    written: tuple[str, ...]
    """The very words."""
    unanswered: tuple[str, ...] = ()
    expanded: bool = False
    """Whether variables' values are in the value."""

    @property
    def shown(self) -> str:
        return "" if self.value is None else self.value

    @property
    def secret(self) -> bool:
        """Whether the value may be shown to nobody."""
        return flags.is_secret(self.name)


def kubelet_words(program: str, words: Sequence[Word]) -> Sequence[Word]:
    """What follows the kubelet itself. Raises NotAKubelet."""
    name = _file_name(program)
    rest = words
    if name in _WRAPPERS and rest:
        name, rest = _file_name(rest[0].text), rest[1:]
    if name in _MULTI_CALL:
        if not rest or rest[0].text != "kubelet":
            raise NotAKubelet(f"it runs {quoted(name)}, but not as a kubelet")
        return rest[1:]
    if name not in _KUBELET:
        raise NotAKubelet(f"it runs {quoted(name)}, which is no kubelet")
    return rest


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]


def parse(words: Sequence[Word]) -> Iterator[Given | Unusable]:
    """Each flag in turn; what the kubelet would not start over is yielded in its place."""
    place = 0
    while place < len(words):
        word = words[place]
        text = word.text
        if text == "--":
            yield from map(_stray, words[place + 1 :])
            return
        if not text and word.unanswered:
            yield Given("", None, None, (), word.unanswered)
            place += 1
        elif len(text) < 2 or text[0] != "-":
            yield _stray(word)
            place += 1
        else:
            found, place = _flag(words, place)
            yield from found


def _stray(word: Word) -> Unusable:
    return Unusable(f"the kubelet takes no word outside its flags, such as {_told(word)}")


def _told(word: Word) -> str:
    return "what a variable holds" if word.expanded else quoted(word.text)


def _flag(words: Sequence[Word], place: int) -> tuple[list[Given | Unusable], int]:
    word = words[place]
    text = word.text
    if not text.startswith("--"):
        return _shorthand(words, place)
    name, equals, value = text[2:].partition("=")
    # Underscores are hyphens to the kubelet.
    name = name.replace("_", "-")
    if not name or name.startswith("-"):
        return [Unusable(f"{_told(word)} is no flag")], place + 1
    known = flags.by_name().get(name)
    if equals:
        return [Given(name, value, known, (text,), word.unanswered, word.expanded)], place + 1
    if known is not None and known.kind is Kind.SWITCH:
        return [Given(name, None, known, (text,))], place + 1
    return _with_next(words, place, name, known)


def _with_next(
    words: Sequence[Word], place: int, name: str, known: Flag | None
) -> tuple[list[Given | Unusable], int]:
    following = words[place + 1] if place + 1 < len(words) else None
    # Of a flag that nobody knows, only a word that is no flag itself can be the value.
    if following is None or (known is None and following.text.startswith("-")):
        if known is None:
            return [Given(name, None, None, (words[place].text,))], place + 1
        return [Unusable(f"--{name} wants a value")], place + 1
    written = (words[place].text, following.text)
    return [Given(name, following.text, known, written, following.unanswered, following.expanded)], place + 2


def _shorthand(words: Sequence[Word], place: int) -> tuple[list[Given | Unusable], int]:
    word = words[place]
    found: list[Given | Unusable] = []
    letters = word.text[1:]
    while letters:
        name = flags.SHORTHANDS.get(letters[0])
        known = flags.by_name().get(name or "")
        if name is None or known is None:
            return [*found, Unusable(f"the kubelet has no flag -{letters[0]}")], place + 1
        rest = letters[1:]
        if known.kind is Kind.SWITCH and not rest.startswith("="):
            found.append(Given(name, None, known, (f"-{letters[0]}",)))
            letters = rest
        elif rest:
            value = rest[1:] if rest.startswith("=") and len(rest) > 1 else rest
            return [
                *found,
                Given(name, value, known, (word.text,), word.unanswered, word.expanded),
            ], place + 1
        else:
            given, after = _with_next(words, place, name, known)
            return [*found, *given], after
    return found, place + 1


def value_of(kind: Kind, text: str) -> Value:
    """A flag's value as the configuration would hold it. Raises Unusable with what was expected."""
    return _READERS[kind](text)


def switch(text: str) -> bool:
    """As Go reads it: t, T, 1 and so on. Raises Unusable."""
    if text not in _TRUE and text not in _FALSE:
        raise Unusable(f"{Kind.SWITCH.value} was expected")
    return text in _TRUE


def _number(text: str) -> int:
    digits = text.replace("_", "")
    if len(digits) > 40 or not _NUMBER.fullmatch(digits):
        raise Unusable(f"{Kind.NUMBER.value} was expected")
    bare = digits.lstrip("+-")
    octal = bare.startswith("0") and bare[1:].isdigit()
    value = int(bare, 8 if octal else 0)
    return -value if digits.startswith("-") else value


def _duration(text: str) -> str:
    if seconds(text) is None:
        raise Unusable(f"{Kind.DURATION.value} was expected")
    return text


def _fraction(text: str) -> str:
    if not _FRACTION.fullmatch(text):
        raise Unusable(f"{Kind.FRACTION.value} was expected")
    return text


def _list(text: str) -> Iterator[str]:
    if not text:
        return
    try:
        yield from next(csv.reader([text], strict=True))
    except (csv.Error, StopIteration):
        raise Unusable(f"{Kind.LIST.value} was expected") from None


def pairs(text: str, sign: str) -> Iterator[tuple[str, str]]:
    """Raises Unusable."""
    for pair in filter(None, text.split(",")):
        name, found, value = pair.partition(sign)
        if not found:
            raise Unusable(f"a list of NAME{sign}VALUE was expected")
        yield name.strip(), value.strip()


def taints(text: str) -> Iterator[Value]:
    """Raises Unusable."""
    for taint in filter(None, text.split(",")):
        rest, colon, effect = taint.rpartition(":")
        key, _, value = rest.partition("=")
        if not colon or not key or effect not in EFFECTS:
            raise Unusable(f"{Kind.TAINTS.value} was expected")
        yield {"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect}


def reservations(text: str) -> Iterator[Value]:
    """Raises Unusable."""
    for reservation in filter(None, text.split(";")):
        number, colon, limits = reservation.partition(":")
        if not colon:
            raise Unusable(f"{Kind.RESERVATIONS.value} was expected")
        yield {"numaNode": _number(number), "limits": dict(pairs(limits, "="))}


_READERS: Mapping[Kind, Callable[[str], Value]] = {
    Kind.TEXT: lambda text: text,
    Kind.SWITCH: switch,
    Kind.NUMBER: _number,
    Kind.FRACTION: _fraction,
    Kind.DURATION: _duration,
    Kind.LIST: lambda text: list(_list(text)),
    Kind.PAIRS: lambda text: dict(pairs(text, "=")),
    Kind.SWITCHES: lambda text: {name: switch(on) for name, on in pairs(text, "=")},
    Kind.THRESHOLDS: lambda text: dict(pairs(text, "<")),
    Kind.TAINTS: lambda text: list(taints(text)),
    Kind.RESERVATIONS: lambda text: list(reservations(text)),
}
