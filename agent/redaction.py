"""The one function through which all goes that leaves this process, so that no secret does.

Secrets are registered by value where they are parsed: tokens, keys, fields with a secret's name, and fields
that a dataclass leaves out of its repr. `redacted` finds these wherever they stand and however they are
written: escaped, quoted, encoded. Patterns come second, for what was never parsed, as a token that was given
to a wrong option. What is registered is held in memory alone, and never written.

Every command imports this, so it imports next to nothing itself.
"""

import json
import re
from _thread import allocate_lock
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from urllib.parse import quote, quote_plus

from agent import secret_patterns as patterns
from agent.secret_patterns import LONGEST_NAME, is_path, is_secret_name

Forms = Mapping[str, Sequence[str]]

SHORTEST = 6
"""Of what is searched for everywhere. A shorter secret would be found in words that are none: of a password
with one letter nothing would be left to read. Its field and the patterns alone keep it from being shown."""
_LONGEST = 1 << 16
"""Of one secret, in characters. The longest private key in use (RSA, 16,384 bits) has 13,000."""
_MOST_SECRETS = 512
_MOST_CHARACTERS = 1 << 18
"""Of all of them: the resident service registers for months. The oldest are forgotten first."""
_MOST_NAMES = 1 << 12
_MOST_WORDS = 12
"""On each side of a secret that can be of a name with it: the nearest, so that long texts take no longer."""
_LINE = 16
"""A shorter line of a key says nothing of it."""
_ORDINARY = frozenset(
    {
        *("access", "administrator", "cluster", "container", "containerd", "default", "disabled", "enabled"),
        *("kubeadm", "kubelet", "kubernetes", "localhost", "machine", "manual", "network", "nothing"),
        *("number", "password", "private", "process", "program", "required", "restart", "runtime", "secret"),
        *("server", "service", "services", "status", "string", "system", "version", "windows", "worker"),
    }
)
"""Words that our own texts and names are made of. As a password each is known to every attacker; removed
everywhere it would leave programs that read JSON without the names in it."""
_PLACEHOLDERS = (("$(", ")"), ("${", "}"), ("{{", "}}"), ("<", ">"), ("%", "%"), ("*", "*"))
"""How what is filled in later begins and ends: it is no value yet."""


class Redacted(str):
    """A text that has gone through `redacted`, and need not again."""

    __slots__ = ()


class Registry:
    """Secrets by value. Any thread may add one."""

    def __init__(self) -> None:
        self._lock = allocate_lock()
        self._secrets: dict[str, tuple[str, ...]] = {}
        """With all forms of each, once they were searched for; the latest last."""
        self._size = 0
        self._forms: Forms | None = {}
        self._names: dict[str, None] = {}
        """Of resources, the latest last."""

    def add(self, secret: str) -> None:
        with self._lock:
            if secret in self._names:
                return
            if (forms := self._secrets.pop(secret, None)) is None:
                self._size += len(secret)
                self._forms = None
            self._secrets[secret] = forms or ()
            while len(self._secrets) > _MOST_SECRETS or self._size > _MOST_CHARACTERS:
                oldest = next(iter(self._secrets))
                del self._secrets[oldest]
                self._size -= len(oldest)

    def add_name(self, name: str) -> None:
        with self._lock:
            self._names.pop(name, None)
            self._names[name] = None
            if len(self._names) > _MOST_NAMES:
                del self._names[next(iter(self._names))]
            if self._secrets.pop(name, None) is not None:
                self._size -= len(name)
                self._forms = None

    def has_name(self, name: str) -> bool:
        return name in self._names

    def forms(self) -> Forms:
        """All that is to be searched for."""
        with self._lock:
            if self._forms is None:
                self._secrets = {each: known or tuple(_forms(each)) for each, known in self._secrets.items()}
                self._forms = _by_beginning(form for forms in self._secrets.values() for form in forms)
            return self._forms


_registry = Registry()


def register(*secrets: str) -> None:
    """These are secrets, whatever they look like. Of one with several lines each line is one, too."""
    for secret in secrets:
        # A bootstrap token's id is shown: people find the token by it.
        token = patterns.bootstrap_token(secret.strip())
        stripped = token[2] if token else secret.strip()
        if SHORTEST <= len(stripped) <= _LONGEST and not _is_ordinary(stripped):
            _registry.add(stripped)


def register_name(name: str) -> None:
    """Register the name of a resource or a machine, and each folder's in it: a secret that is the same word,
    or a part of it, is not searched for there. Removed, it would leave no text that says what it is about.
    """
    for element in {name, *name.split("\\")}:
        if len(element) >= SHORTEST:
            _registry.add_name(element)


def register_named(name: str, value: str) -> None:
    """If the name is a secret's, the value is one; else what in it is plainly one."""
    if (
        is_secret_name(name, value)
        and value.lower() not in patterns.NO_SECRETS
        and not value.startswith(patterns.VEIL)
    ):
        register(value)
        scheme, _, credentials = value.partition(" ")
        if scheme.lower() in ("bearer", "basic"):
            register(credentials)
    elif value:
        register_within(value)


def register_within(text: str) -> None:
    """What in it is plainly a secret: a URL's password and what its query names so, a bootstrap token, a
    private key, and what follows a secret's name and a colon without a blank.
    """
    if "://" in text:
        for url in patterns.pattern_of(patterns.URL).findall(text):
            register(*patterns.of_url(url))
    if patterns.may_have_token(text):
        register(*(found[2] for found in patterns.pattern_of(patterns.BOOTSTRAP_TOKEN).finditer(text)))
    if patterns.PRIVATE_KEY in text:
        keys = [text[begin:end] for begin, end in patterns.private_keys(text)]
        register(*(key.replace("\\r", "").replace("\\n", "\n") for key in keys))
    name, colon, value = text.partition(":")
    if colon and not value[:1].isspace() and is_secret_name(name) and not patterns.is_place(name, value):
        register(value)


def register_document(value: object, name: str = "") -> None:
    """What in it stands in fields with a secret's name, or is plainly one; `name` is its own field's."""
    waiting = [(name, value)]
    while waiting:
        name, value = waiting.pop()
        if isinstance(value, str):
            register_named(name, value)
        elif isinstance(value, dict):
            waiting += _fields(value)
        elif isinstance(value, list | tuple):
            # A command line, or a header.
            register_words(each for each in value if isinstance(each, str))
            is_pair = name.lower().endswith("headers") and len(value) == 2 and isinstance(value[0], str)
            waiting += [(value[0] if is_pair else name, each) for each in value[is_pair:]]
        elif isinstance(value, bytes) and patterns.PRIVATE_KEY.encode() in value:
            register_within(value.decode(errors="replace"))


def _fields(value: Mapping[object, object]) -> Iterator[tuple[str, object]]:
    """A variable may be a mapping of its own, whose name stands in another field."""
    own = value.get("name")
    for key, each in value.items():
        register_within(str(key))
        yield (own if key == "value" and isinstance(own, str) else str(key)), each


def register_words(words: Iterable[str]) -> None:
    """The secrets in a command line."""

    def noted(secret: str) -> str:
        register(secret)
        return patterns.REDACTED

    for word in _words(words, noted):
        register_within(word)


def has_secret(words: Iterable[str]) -> bool:
    """Whether a command line has one, by a name or by its look. A URL's query is hidden whole, and has one
    only where a name in it says so.
    """
    named: list[str] = []

    def noted(secret: str) -> str:
        named.append(secret)
        return patterns.REDACTED

    rest = list(_words(words, noted))
    urls = patterns.pattern_of(patterns.URL)
    in_urls = (any(map(any, map(patterns.of_url, urls.findall(word)))) for word in rest)
    others = [urls.sub(" ", word) for word in rest]
    return bool(named) or any(in_urls) or [*map(patterns.without_patterns, others)] != others


def redacted(text: str) -> Redacted:
    """The text without secrets. Its time grows with its length, and with nothing else of it."""
    if isinstance(text, Redacted):
        return text
    return Redacted(patterns.without_patterns(patterns.without(text, _spans(text, _registry.forms()))))


def redacted_name(name: str) -> Redacted:
    """What a program knows something by: the name of a field or a resource. It stays as it is, unless it has
    the look of a secret.
    """
    return Redacted(patterns.without_patterns(name))


def redacted_document(value: object) -> object:
    """A document fit for JSON, each text in it without secrets, the names of its fields by their look alone.
    Removed only from what is written, a secret that looks like a number would leave what is no JSON.
    """
    # Of thousands of texts few have a secret in them, if any: which ones there are is found in one go.
    whole = "\0".join(_texts(value))
    forms = _by_beginning({whole[begin:end] for begin, end in _spans(whole, _registry.forms())})

    def shown(value: object) -> object:
        if isinstance(value, Redacted):
            return value
        if isinstance(value, str):
            return Redacted(patterns.without_patterns(patterns.without(value, _spans(value, forms))))
        if isinstance(value, dict):
            names = (redacted_name(key) if isinstance(key, str) else key for key in value)
            return dict(zip(names, map(shown, value.values()), strict=True))
        return [shown(each) for each in value] if isinstance(value, list | tuple) else value

    return shown(value)


def _texts(value: object) -> Iterator[str]:
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, str):
            yield each
        elif isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, list | tuple):
            waiting += each


def redacted_words(
    words: Iterable[str], instead: Callable[[str], str] = lambda _: patterns.REDACTED
) -> list[Redacted]:
    """A command line. `instead` gives what is shown in a secret's place."""
    return [redacted(word) for word in _words(words, instead)]


def _words(words: Iterable[str], instead: Callable[[str], str]) -> Iterator[str]:
    is_secret = is_list = False
    for word in words:
        if is_secret and word and (not word.startswith("-") or patterns.PRIVATE_KEY in word):
            yield word if _is_hidden(word) else instead(word)
            is_secret = False
        elif is_list and not word.startswith("-"):
            yield word
            is_list = False
        else:
            is_list = word.lstrip("-") in patterns.NO_SETTINGS
            name = word.lstrip("-/").replace("-", "").replace("_", "")
            is_secret = word.startswith(("-", "/")) and name.isalnum() and is_secret_name(word)
            yield _without_settings(word, instead)


def _without_settings(word: str, instead: Callable[[str], str]) -> str:
    """Of --password=..., /p:..., PASSWORD=... and Server=...;Password=... the names alone."""
    if "=" not in word and ":" not in word:
        return word

    def settle(found: re.Match[str]) -> str:
        before, name, between, value = found.groups()
        if between == ":" and patterns.is_place(name, value):
            return found[0]
        inner, equals, inner_value = value.partition("=")
        is_option = name.lstrip("-") not in patterns.NO_SETTINGS
        if equals and is_option and "/" not in inner and not _names_secret(name):
            # --connection=Password=...
            name, between, value = f"{name}{between}{inner}", "=", inner_value
        is_one = is_option and _names_secret(name, value) and not _is_no_secret(value)
        return f"{before}{name}{between}{instead(value) if is_one else value}"

    return patterns.pattern_of(patterns.SETTING).sub(settle, word)


def _is_hidden(value: str) -> bool:
    return value == patterns.REDACTED or value.startswith(patterns.VEIL)


def _is_no_secret(value: str) -> bool:
    """Whether it is hidden already, or a switch, or several: the rest of NAME=true,OTHER=false."""
    switches = (each.rpartition("=")[2] for each in value.lower().split(","))
    return (
        _is_hidden(value)
        or value.lower() in patterns.NO_SECRETS
        or all(each in ("true", "false") for each in switches)
    )


def _names_secret(name: str, value: str = "") -> bool:
    return name in patterns.PASSWORD_OPTIONS or is_secret_name(name, value)


def _is_ordinary(value: str) -> bool:
    is_later = any(value.startswith(begin) and value.endswith(end) for begin, end in _PLACEHOLDERS)
    return is_path(value) or is_later or value.lower() in _ORDINARY


# By value


def _forms(secret: str) -> Iterator[str]:
    """How it may be written: as it is, in JSON, in a URL, in base64, on one line, and line by line."""
    yield secret
    one_line = " ".join(secret.split())
    yield from (json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1], one_line)
    try:
        yield from (quote(secret), quote(secret, safe=""), quote_plus(secret), repr(secret)[1:-1])
        yield from _in_base64(secret.encode())
    except UnicodeEncodeError:
        pass  # half a character, which is in no URL and no bytes
    lines = secret.splitlines()
    if len(lines) > 1:
        yield from (line.strip() for line in lines if len(line.strip()) >= _LINE and "-----" not in line)


def _in_base64(secret: bytes) -> Iterator[str]:
    """As a part of something longer, too: a byte more before it makes other letters of it."""
    for before in range(3):
        encoded = b64encode(bytes(before) + secret).decode().rstrip("=")
        # The first letters, and the last, hold bits of what stands beside it.
        inside = encoded[(0, 2, 3)[before] : len(encoded) - (1 if (before + len(secret)) % 3 else 0)]
        if len(inside) >= SHORTEST:
            yield inside
            yield inside.replace("+", "-").replace("/", "_")


def _by_beginning(forms: Iterable[str]) -> Forms:
    """By the first letters, which all have. On one line, a secret may have become shorter than that."""
    found: dict[str, list[str]] = {}
    for form in sorted({each for each in forms if len(each) >= SHORTEST}, key=len, reverse=True):
        found.setdefault(form[:SHORTEST], []).append(form)
    return found


def _spans(text: str, forms: Forms) -> Iterator[tuple[int, int]]:
    """Where a registered secret begins and ends, in their order; two may overlap. It takes as long whatever
    their number is.
    """
    for begin in range(len(text) - SHORTEST + 1) if forms else ():
        for form in forms.get(text[begin : begin + SHORTEST], ()):
            if text.startswith(form, begin):
                if not _is_in_name(text, begin, begin + len(form)):
                    yield begin, begin + len(form)
                break


def _is_in_name(text: str, begin: int, end: int) -> bool:
    """Return whether a registered name stands around it, from where a word begins to where one ends."""
    low, high = max(-1, begin - LONGEST_NAME), min(len(text), end + LONGEST_NAME) + 1
    begins = [at for at in range(begin, low, -1) if not text[at - 1 : at].isalnum()][:_MOST_WORDS]
    ends = [at for at in range(end, high) if not text[at : at + 1].isalnum()][:_MOST_WORDS]
    return any(_registry.has_name(text[first:last]) for first in begins for last in ends)


def in_quotes(word: str) -> str:
    """Somebody's own word inside a message: on one line, whatever is in it; a backslash stands as it is, as
    in a path of Windows.
    """
    return repr(str(redacted(word))).replace("\\\\", "\\")
