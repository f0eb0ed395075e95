"""One setting's value split into words: systemd's quotes and C escapes."""

from dataclasses import dataclass

from agent.sources.systemd.unit_files import BLANKS


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
