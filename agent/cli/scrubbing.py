"""Takes secrets out of what somebody is going to send to others.

First by `agent.redaction`, as in all that wmcb writes. Then in two ways more, since logs of other programs
are sent with it: of documents all fields that hold values of users, of any text what may look like a secret.
Too much rather than too little.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from agent.redaction import redacted
from agent.secret_patterns import REDACTED, is_secret_name

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None

REMOVED = REDACTED

_NAMES = (
    r"(?:pass(?:word|wd|phrase)?|pwd|secret|token|api[-_]?key|access[-_]?key|account[-_]?key|private[-_]?key"
)
_NAMES += r"|key[-_]?data|certificate[-_]?key|authorization|cookie|credentials?|sig|signature)"
_NAME = re.compile(_NAMES, re.IGNORECASE)
_OF_A_PLACE = re.compile(
    r"[-_](?:file|path|dir|directory|config|ttl|hash|mode|name|url)(?!\w)", re.IGNORECASE
)
_VALUE = re.compile(
    rf"""(?:"(?:[^"\\]|\\.)*+"?|'[^']*+'?|(?:{re.escape(REMOVED)}|[^\s"',;&}}\]])++)""", re.DOTALL
)
# A word is read once, from its beginning, and judged by `_is_secret`: a pattern that looks for the name
# within it takes time that grows with the cube of a long word.
_ASSIGNED = re.compile(r"""(?<![\w-])([\w-]++)["']?\s*+[:=]\s*+""")
_FOLLOWED = re.compile(r"(?<![\w.-])([\w.-]++)\s++(?![-:=])")
_DOTTED = re.compile(r"[\w.-]+")

_LOOKS_LIKE_ONE = tuple(
    (re.compile(pattern, re.IGNORECASE | re.DOTALL), instead)
    for pattern, instead in (
        # Up to the last @: a user may be of a domain.
        (r"://[^/\s\"']+@", f"://{REMOVED}@"),
        (
            r"(://[^\s\"'?#]*+)([?#]?)[^\s\"']*+",
            lambda found: f"{found[1]}?{REMOVED}" if found[2] else found[0],
        ),
        (r"\b(bearer|basic|negotiate|digest)\s+[A-Za-z0-9+/=._~-]{6,}", rf"\1 {REMOVED}"),
        (r"\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,2}", REMOVED),
        (r"\b[a-z0-9]{6}\.[a-z0-9]{16}\b", REMOVED),
        (r"\bAKIA[A-Z0-9]{16}\b", REMOVED),
    )
)
_LONG = re.compile(r"[A-Za-z0-9+/_-]{100,}={0,2}")
_OF_A_DIFFERENCE = ("found", "wanted")
_NAME_OF_ONE = "secret"
_KIND_AND_NAME = 2
_OF_A_RESOURCE = ("wanted", "before", "settled", "differences")
_VALUES_OF_SOMEBODY = frozenset({"environment", "value", "env"})


class Scrubber:
    def text(self, text: str) -> str:
        text = str(redacted(text))
        for pattern, instead in _LOOKS_LIKE_ONE:
            text = pattern.sub(instead, text)
        text = _without_named(text, _ASSIGNED, _is_secret)
        text = _without_named(text, _FOLLOWED, _is_option)
        return _LONG.sub(REMOVED, text)

    def document(self, value: Json, name: str = "") -> Json:
        """`name` is that of the field it stands in."""
        if name in _VALUES_OF_SOMEBODY or (_DOTTED.fullmatch(name) and _is_secret(name)):
            return _without_values(value)
        if isinstance(value, str):
            return self._string(value)
        if isinstance(value, dict):
            # A difference of that field: what was found and is wanted are such values.
            named = str(value.get("field", ""))
            of = {key: named if key in _OF_A_DIFFERENCE else key for key in value}
            if _is_of_secret(value):
                of |= dict.fromkeys(_OF_A_RESOURCE, _NAME_OF_ONE)
            return {self.text(key): self.document(each, of[key]) for key, each in value.items()}
        if isinstance(value, list | tuple):
            return self._words(value)
        return value

    def _string(self, text: str) -> str:
        """Which may be a document itself, or one in each of its lines."""
        if not text.startswith(("{", "[")):
            return self.text(text)
        try:
            return json.dumps(self.document(json.loads(text)))
        except (ValueError, RecursionError):
            lines = text.splitlines()
            return "\n".join(map(self._string, lines)) if lines[1:] else self.text(text)

    def _words(self, words: Sequence[Json]) -> Json:
        """Of a command line, perhaps: a secret may be the word after the one that names it."""
        found: list[Json] = []
        before: Json = None
        for word in words:
            is_named = (
                isinstance(before, str)
                and _DOTTED.fullmatch(before)
                and before[0] == "-"
                and _is_option(before)
            )
            is_value = isinstance(word, str) and not word.startswith("-")
            found.append(REMOVED if is_named and is_value else self.document(word))
            before = word
        return found


def _without_named(text: str, named: re.Pattern[str], judge: Callable[[str], bool]) -> str:
    """Return the text without each value that follows a word which `judge` finds to name a secret."""
    parts, done, place = list[str](), 0, 0
    while found := named.search(text, place):
        place = found.end()
        value = _VALUE.match(text, place) if judge(found[1]) else None
        if value:
            parts += (text[done:place], REMOVED)
            done = place = value.end()
    return "".join((*parts, text[done:]))


def _is_secret(name: str) -> bool:
    """Return whether a field of this name holds a secret, not the place of one."""
    field = name.rpartition(".")[2]
    return is_secret_name(field) or _NAME.search(_OF_A_PLACE.split(field)[-1]) is not None


def _is_option(word: str) -> bool:
    """Return whether this is an option of a command line whose value is a secret."""
    return "-" in word and _is_secret(word.partition("-")[2])


def _is_of_secret(value: Mapping[str, Json]) -> bool:
    """Whether it tells of a resource with a secret's name, as a value of the registry may have."""
    key = value.get("key", value.get("resource"))
    return isinstance(key, list) and len(key) == _KIND_AND_NAME and _is_secret(_last(str(key[1])))


def _last(name: str) -> str:
    return name.rpartition("\\")[2]


def _without_values(value: Json) -> Json:
    """With the names of what there is."""
    if isinstance(value, dict):
        return {key: _without_values(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_values(each) for each in value]
    return REMOVED if isinstance(value, str) else value
