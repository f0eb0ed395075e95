"""`## template: jinja`: the part of Jinja that user data is written in, and a refusal for all the rest.

Cluster API puts the header on all of its user data, and values of the cloud's metadata into names and labels.
That takes expressions such as {{ ds.meta_data["local-hostname"] }}, at times a default, and {% raw %} around
texts that mean their braces. A whole template language would be another megabyte in the program, and a slip
of the pen would name the machine CI_MISSING_JINJA_VAR; here it is refused with line and column.
"""

import re
from collections.abc import Mapping
from typing import NoReturn

HEADER = re.compile(r"##\s*template:(?P<kind>.*)", re.IGNORECASE)

_OPENING = re.compile(r"\{\{|\{%|\{#")
_RAW = re.compile(r"\{%-?\s*raw\s*-?%\}")
_END_RAW = re.compile(r"(?P<before>\{%(?P<trim>-?))\s*endraw\s*(?P<after>-?)%\}\n?")
_COMMENT_END = re.compile(r"-?#\}\n?")
_TOKEN = re.compile(
    r"""\s*(?:
        (?P<name>[A-Za-z_]\w*)
      | (?P<number>\d{1,18}(?![\w.]))
      | (?P<text>"[^"\\\n]*"|'[^'\\\n]*')
      | (?P<end>-?\}\})
      | (?P<sign>[.\[\]|(),])
    )""",
    re.VERBOSE,
)
_NOT_OF_A_NAME = re.compile(r"\W")
_LARGEST = 64 << 20
_LONGEST_NAME = 120

Scalar = str | int | float | bool | None


class TemplateFault(Exception):
    """The text says why, and quotes no more than the names of variables."""

    def __init__(self, why: str, line: int, column: int) -> None:
        super().__init__(why)
        self.line = line
        self.column = column


def rendered(text: str, metadata: Mapping[str, object]) -> str:
    """The text without its header's line. Raises TemplateFault, whose lines are those of the whole text."""
    header, _, body = text.partition("\n")
    found = HEADER.match(header)
    kind = found["kind"].strip().lower() if found else ""
    if kind != "jinja":
        raise TemplateFault("this kind of template is not known; use jinja", 1, 1)
    return _Rendering(body, metadata).result()


def instance_data(meta_data: Mapping[str, object]) -> dict[str, object]:
    """What templates can name, made from a cloud's metadata as cloud-init and cloudbase-init make it."""
    instance_id = _first(meta_data, "instance-id", "instance_id", "uuid")
    name = _first(meta_data, "local-hostname", "local_hostname", "hostname", "name")
    standard = {
        key: value for key, value in (("instance_id", instance_id), ("local_hostname", name)) if value
    }
    return {**standard, "v1": standard, "ds": {"meta_data": {**standard, **meta_data}}}


def _first(meta_data: Mapping[str, object], *keys: str) -> object:
    return next((meta_data[key] for key in keys if meta_data.get(key)), None)


class _Missing:
    """What a variable is that nobody gave."""


_MISSING = _Missing()


class _Rendering:
    def __init__(self, text: str, metadata: Mapping[str, object]) -> None:
        self._text = text
        self._metadata = metadata
        self._at = 0
        self._made: list[str] = []
        self._size = 0

    def result(self) -> str:
        while found := _OPENING.search(self._text, self._at):
            literal = self._text[self._at : found.start()]
            self._put(literal.rstrip() if self._text.startswith("-", found.end()) else literal)
            if found[0] == "{{":
                self._expression(found.start())
            elif found[0] == "{#":
                self._comment(found.start())
            else:
                self._statement(found.start())
        self._put(self._text[self._at :])
        return "".join(self._made)

    def _put(self, text: str) -> None:
        self._size += len(text)
        if self._size > _LARGEST:
            self._fail("it becomes larger than anybody needs", self._at)
        self._made.append(text)

    def _comment(self, start: int) -> None:
        end = _COMMENT_END.search(self._text, start + 2)
        if end is None:
            self._fail("this comment never ends", start)
        self._go_on(end.end(), trim=end[0].startswith("-"))

    def _statement(self, start: int) -> None:
        raw = _RAW.match(self._text, start)
        if raw is None:
            self._fail(
                "statements such as if and for are not understood here, only expressions and raw", start
            )
        end = _END_RAW.search(self._text, raw.end())
        if end is None:
            self._fail("there is no endraw for this raw", start)
        inner = self._text[raw.end() : end.start()]
        inner = inner.lstrip() if raw[0].endswith("-%}") else inner
        self._put(inner.rstrip() if end["trim"] else inner)
        self._go_on(end.end(), trim=bool(end["after"]))

    def _expression(self, start: int) -> None:
        reader = _Expression(self._text, start + 2 + self._text.startswith("-", start + 2), self._metadata)
        try:
            value = reader.value()
        except _NotUnderstood as fault:
            self._fail(str(fault), fault.at)
        if isinstance(value, _Missing):
            self._fail(f"{reader.name} is not in the metadata that was given", start)
        if not isinstance(value, str | int | float | None):
            self._fail("this is a list or a mapping, not a text", start)
        self._put(str(value))
        self._go_on(reader.at, trim=reader.trims)

    def _go_on(self, at: int, *, trim: bool) -> None:
        while trim and at < len(self._text) and self._text[at].isspace():
            at += 1
        self._at = at

    def _fail(self, why: str, at: int) -> NoReturn:
        before = self._text[:at]
        # The header's line comes before all of them.
        raise TemplateFault(why, before.count("\n") + 2, at - (before.rfind("\n") + 1) + 1)


class _NotUnderstood(Exception):
    def __init__(self, why: str, at: int) -> None:
        super().__init__(why)
        self.at = at


_ONLY = "only names, dots, brackets and the filter default are understood here"


class _Expression:
    """name.name["name"][0] | default("text")"""

    def __init__(self, text: str, at: int, metadata: Mapping[str, object]) -> None:
        self._text = text
        self._metadata = metadata
        self.at = at
        self.trims = False
        """It ended with -}}."""
        self.name = ""
        self._blamed = at

    def value(self) -> object:
        value = self._primary()
        while True:
            kind, word = self._next()
            if kind == "end":
                self.trims = word.startswith("-")
                return value
            if word == ".":
                value = self._member(value, self._expect("name"))
            elif word == "[":
                value = self._subscripted(value)
            elif word == "|":
                value = self._filtered(value)
            else:
                self._fail()

    def _primary(self) -> object:
        kind, word = self._next()
        if kind == "text":
            return word[1:-1]
        if kind == "number":
            return int(word)
        if kind != "name":
            self._fail()
        self.name = word
        return _looked_up(self._metadata, word)

    def _subscripted(self, value: object) -> object:
        kind, word = self._next()
        key: str | int = word[1:-1] if kind == "text" else int(word) if kind == "number" else self._fail()
        self._expect("sign", "]")
        return self._member(value, key)

    def _member(self, value: object, key: str | int) -> object:
        self.name = f"{self.name}.{key}"[:_LONGEST_NAME]
        return _looked_up(value, key)

    def _filtered(self, value: object) -> object:
        if self._expect("name") not in ("default", "d"):
            self._fail()
        self._expect("sign", "(")
        kind, word = self._next()
        otherwise: Scalar = word[1:-1] if kind == "text" else int(word) if kind == "number" else self._fail()
        _, word = self._next()
        also_for_empty = word == ","
        if also_for_empty:
            also_for_empty = self._expect("name") in ("true", "True")
            _, word = self._next()
        if word != ")":
            self._fail()
        return otherwise if isinstance(value, _Missing) or (also_for_empty and not value) else value

    def _expect(self, kind: str, word: str | None = None) -> str:
        found, said = self._next()
        if found != kind or (word is not None and said != word):
            self._fail()
        return said

    def _next(self) -> tuple[str, str]:
        found = _TOKEN.match(self._text, self.at)
        if found is None or found.lastgroup is None:
            while self._text.startswith((" ", "\t"), self.at):
                self.at += 1
            self._blamed = self.at
            self._fail()
        self._blamed = found.start(found.lastgroup)
        self.at = found.end()
        return found.lastgroup, found[found.lastgroup]

    def _fail(self) -> NoReturn:
        raise _NotUnderstood(_ONLY, self._blamed)


def _looked_up(value: object, key: str | int) -> object:
    if isinstance(value, Mapping):
        if key in value:
            return value[key]
        # cloud-init knows each key by a second name too, in which nothing looks like an operator.
        aliases = (known for known in value if _NOT_OF_A_NAME.sub("_", str(known)) == key)
        found = next(aliases, None)
        return _MISSING if found is None else value[found]
    if isinstance(value, list) and isinstance(key, int) and key < len(value):
        return value[key]
    return _MISSING
