"""One setting's value split into words, by systemd's quotes and C escapes, and its specifiers."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

BLANKS = " \t\n\r"


class BadWord(Exception):
    """The text says what is wrong with it."""


class BadEscape(BadWord):
    """A backslash before something that it gives no meaning to."""


@dataclass(frozen=True, slots=True)
class Rules:
    escapes: bool = False
    """Whether \\n and its kin are understood; if not, a backslash only takes the meaning off the next one."""
    keep_unknown_escapes: bool = False
    unbalanced: bool = False
    """Whether a quote may stay open."""


STRICT = Rules(escapes=True)
LENIENT = Rules(escapes=True, keep_unknown_escapes=True)
PLAIN = Rules()
VALUE = Rules(unbalanced=True)

_SIMPLE = {"a": 7, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11, "\\": 92, '"': 34, "'": 39, "s": 32}
_DIGITS = {"x": 2, "u": 4, "U": 8}


def split(text: str, rules: Rules) -> tuple[str, ...]:
    """All words. Raises BadWord."""
    words: list[str] = []
    place = 0
    while True:
        word, place = first_word(text, place, rules)
        if word is None:
            return tuple(words)
        words.append(word)


def first_word(text: str, place: int, rules: Rules) -> tuple[str | None, int]:
    """The word at or after `place` and where the next one begins; None if there is none. Raises BadWord."""
    place = skip_blanks(text, place)
    if place >= len(text):
        return None, place
    return _Word(text, place, rules).read()


def skip_blanks(text: str, place: int) -> int:
    while place < len(text) and text[place] in BLANKS:
        place += 1
    return place


class _Word:
    def __init__(self, text: str, place: int, rules: Rules) -> None:
        self._text = text
        self._place = place
        self._rules = rules
        # Bytes, because \xc3\xa9 is one character written as two escapes.
        self._made = bytearray()

    def read(self) -> tuple[str, int]:
        quote = ""
        while self._place < len(self._text):
            character = self._text[self._place]
            if character == "\\":
                self._escape(quote)
                continue
            self._place += 1
            if quote:
                quote = self._quoted(character, quote)
            elif character in "\"'":
                quote = character
            elif character in BLANKS:
                break
            else:
                self._add(character)
        if quote and not self._rules.unbalanced:
            raise BadWord("a quote is never closed")
        try:
            return self._made.decode(), skip_blanks(self._text, self._place)
        except UnicodeDecodeError:
            raise BadWord("its escapes do not make UTF-8") from None

    def _quoted(self, character: str, quote: str) -> str:
        if character == quote:
            return ""
        self._add(character)
        return quote

    def _escape(self, quote: str) -> None:
        self._place += 1
        if self._place >= len(self._text):
            self._trailing_backslash(quote)
            return
        character = self._text[self._place]
        if not self._rules.escapes:
            self._add(character)
            self._place += 1
        elif escape := _unescape(self._text, self._place):
            made, length = escape
            self._made += made
            self._place += length
        elif self._rules.keep_unknown_escapes:
            self._add("\\" + character)
            self._place += 1
        else:
            raise BadEscape(f"'\\{character}' is no escape sequence")

    def _trailing_backslash(self, quote: str) -> None:
        if self._rules.keep_unknown_escapes and not quote:
            self._add("\\")
        elif not self._rules.unbalanced:
            raise BadEscape("a backslash at the very end")

    def _add(self, text: str) -> None:
        self._made += text.encode("utf-8", "surrogateescape")


def _unescape(text: str, place: int) -> tuple[bytes, int] | None:
    """What the sequence after a backslash stands for, and how long it is; None if it is no such sequence."""
    kind = text[place]
    if kind in _SIMPLE:
        return bytes([_SIMPLE[kind]]), 1
    if kind in _DIGITS:
        value = _number(text[place + 1 : place + 1 + _DIGITS[kind]], 16, _DIGITS[kind])
        return _encoded(kind, value) if value else None
    value = _number(text[place : place + 3], 8, 3)
    return (bytes([value]), 3) if value and value <= 0xFF else None


def _number(digits: str, base: int, length: int) -> int | None:
    allowed = "0123456789abcdef"[:base]
    if len(digits) != length or any(digit not in allowed for digit in digits.lower()):
        return None
    return int(digits, base)


def _encoded(kind: str, value: int) -> tuple[bytes, int] | None:
    length = 1 + _DIGITS[kind]
    if kind == "x":
        return bytes([value]), length
    if 0xD800 <= value <= 0xDFFF or value > 0x10FFFF:
        return None
    return chr(value).encode(), length


_LINUX_FOLDERS = {
    # As for every service of the system; whoever uses one as a path maps it like any other path.
    "C": "/var/cache",
    "D": "/usr/share",
    "E": "/etc",
    "L": "/var/log",
    "S": "/var/lib",
    "T": "/tmp",  # noqa: S108 (systemd's answer, not a file of ours)
    "V": "/var/tmp",  # noqa: S108
    "t": "/run",
}
_WINDOWS_SYSTEM = {
    # A service without User= runs as root on Linux; here it is the system itself.
    "u": "SYSTEM",
    "g": "SYSTEM",
    "o": "windows",
    "a": "x86-64",
    "A": "",
    "B": "",
    "M": "",
    "W": "",
}
_NO_ANSWER = {
    "G": "a group number", "R": "a control group", "U": "a user number", "b": "the boot id",
    "c": "a control group", "d": "a credentials folder", "h": "a home directory", "m": "the machine id",
    "q": "a pretty host name", "r": "a control group", "s": "a login shell",
    "v": "the release of a Linux kernel",
}  # fmt: skip
FROM_THE_NODE = "Hlw"
"""Host name, its first label, and the version of the operating system: for the caller to answer."""

_LETTER = re.compile("[0-9A-Za-z]")


class UnknownSpecifier(Exception):
    """systemd refuses the setting. The text is the specifier."""


@dataclass(frozen=True, slots=True)
class Resolved:
    """What %n, %H and others like them stand for on a Windows node, put into a text."""

    text: str
    unanswered: tuple[str, ...] = ()
    """Specifiers that stand for something which a Windows node has not; nothing is in their place."""


def answers(unit: str, path: str, node: Mapping[str, str]) -> dict[str, str]:
    """`path` is the unit's own file; `node` answers the letters of FROM_THE_NODE, as far as it can."""
    name = unit.rpartition(".")[0]
    prefix, _, instance = name.partition("@")
    last = prefix.rpartition("-")[2]
    of_unit = {
        "n": unit,
        "N": name,
        "p": prefix,
        "P": _unescape_name(prefix),
        "i": instance,
        "I": _unescape_name(instance),
        "j": last,
        "J": _unescape_name(last),
        "f": "/" + _unescape_name(instance or prefix),
        "y": path,
        "Y": path.rpartition("/")[0],
    }
    return {**_LINUX_FOLDERS, **_WINDOWS_SYSTEM, **of_unit, **node}


def resolve(text: str, known: Mapping[str, str]) -> Resolved:
    """Raises UnknownSpecifier."""
    made: list[str] = []
    unanswered: list[str] = []
    place = 0
    while (percent := text.find("%", place)) >= 0 and percent + 1 < len(text):
        made.append(text[place:percent])
        letter = text[percent + 1]
        place = percent + 2
        if letter == "%":
            made.append("%")
        elif letter in known:
            made.append(known[letter])
        elif letter in _NO_ANSWER or letter in FROM_THE_NODE:
            unanswered.append(f"%{letter}")
        elif _LETTER.fullmatch(letter):
            raise UnknownSpecifier(f"%{letter}")
        else:
            made.append(f"%{letter}")
    return Resolved("".join([*made, text[place:]]), tuple(unanswered))


def _unescape_name(name: str) -> str:
    """As systemd-escape --unescape: - is /, \\x2d is a character."""
    slashed = name.replace("-", "/")
    return re.sub(r"\\x([0-9a-fA-F]{2})", lambda found: chr(int(found[1], 16)), slashed)
