"""What a secret looks like, for those that were never registered: `agent.redaction` uses it for all texts.

Each pattern takes time that grows with the text alone: what could fail after a repetition is bounded.
"""

from __future__ import annotations

from agent.secret_names import is_secret_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

REDACTED = "***"

_LONG_USER = 16
"""A user's name in a URL that is as long is a token in its place, more often than not."""

LONGEST_NAME = 255
"""Of what stands before a sign, in characters: an image's reference before its tag is as long."""

URL = r"://(?:[^\s\"'<>(]|\((?!hidden, ))*"
_NEXT_URL = r"[,;)\]](?=[A-Za-z][A-Za-z0-9+.-]{0,20}://)"
_END_OF_SENTENCE = ",;:.)]"
"""What stands behind a URL rather than at its end: nothing of a secret is told by it."""
BOOTSTRAP_TOKEN = r"(?<![A-Za-z0-9])([a-z0-9]{6})\.([a-z0-9]{16})(?![A-Za-z0-9])"  # noqa: S105 - how one looks
_TOKEN_LENGTH = 23
_SCHEME = r"\b([Bb]earer|[Bb]asic|BEARER|BASIC)([ \t]{1,4})[A-Za-z0-9+/=._~-]{20,}"
_WEB_TOKEN = r"\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,2}"  # noqa: S105 - how one looks
_ACCESS_KEY = r"\bAKIA[A-Z0-9]{16}\b"
_NAMING = r"[:=]|(?<![\w/.-])--?[A-Za-z][\w-]{0,79}[ \t]{1,4}(?![-\s])"
"""What ends a name: a sign, or behind an option a blank."""
_NAMED = (
    r"(?!(?:true|false|null|none)\b|\\?[\"']?\(hidden, |\*\*\*(?:[\s\"';,)}\]]|$))"
    r"(?:\\\"[^\"]*\"?|\"(?:[^\"\\]|\\.)+\"?[^\s\"';,)}\]]*|'[^']+'?[^\s\"';,)}\]]*|[^\s\"';]+)"
)
"""Without a blank behind the colon: `token: ...` is how a message about one begins, too."""
_NAMED_SIGNS = ("pass", "pw", "secret", "token", "key", "cred", "auth", "cookie", "sig", "sas", "pat", "/p")
"""One of these is in each name that is a secret's."""
OF_A_WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
_OF_A_NAME = f"{OF_A_WORD}@/:"
_PROSE = frozenset(
    {
        *("a", "alone", "also", "an", "and", "are", "as", "at", "be", "because", "before", "behind"),
        *("beside", "but", "by", "can", "cannot", "does", "for", "from", "given", "goes", "had", "has"),
        *("have", "here", "if", "in", "instead", "into", "is", "it", "its", "may", "means", "must", "need"),
        *("needs", "nor", "not", "of", "on", "only", "option", "or", "over", "says", "set", "should", "so"),
        *("stands", "takes", "than", "that", "the", "then", "there", "this", "to", "too", "twice"),
        *("unless", "until", "was", "were", "when", "where", "which", "will", "with", "without"),
    }
)
"""How a sentence goes on behind an option's name. None of these is a password."""
SETTING = r"""(^|;)([^;=:]{1,80})([=:])("[^"]*"?|'[^']*'?|\{[^}]*\}?|[^;]*)"""
_MARKER = r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY-----"
PRIVATE_KEY = "PRIVATE KEY-----"
_OF_A_KEY = r"(?:\\[nr]|(?:Proc-Type|DEK-Info):[ A-Z0-9,-]{0,80}|[\sA-Za-z0-9+/=])*"
_OF_A_KEY_BACKWARDS = r"(?:[nr]\\|[\sA-Za-z0-9+/=])*"
VEIL = "(hidden, "
"""How a plan shows a secret, so that two can be told apart (agent.resources.kind)."""
NO_SECRETS = ("true", "false", "null", "none", "")

_compiled: dict[str, re.Pattern[str]] = {}


def pattern_of(pattern: str) -> re.Pattern[str]:
    if pattern not in _compiled:
        import re

        _compiled[pattern] = re.compile(pattern, re.IGNORECASE if pattern is _NAMED else 0)
    return _compiled[pattern]


def without_patterns(text: str) -> str:
    """What no text of ours has is looked for by its sign first: most have none of them."""
    if PRIVATE_KEY in text:
        text = _without(text, private_keys(text))
    if "://" in text:
        text = pattern_of(URL).sub(lambda found: _shown_urls(found[0]), text)
    if may_have_token(text):
        text = pattern_of(BOOTSTRAP_TOKEN).sub(rf"\1.{REDACTED}", text)
    if any(sign in text for sign in ("earer", "asic", "EARER", "ASIC")):
        text = pattern_of(_SCHEME).sub(rf"\1\2{REDACTED}", text)
    if "eyJ" in text:
        text = pattern_of(_WEB_TOKEN).sub(REDACTED, text)
    if "AKIA" in text:
        text = pattern_of(_ACCESS_KEY).sub(REDACTED, text)
    return _without(text, named_values(text))


def is_place(name: str, value: str) -> bool:
    """Whether a name, a colon and a value are a host and its port, or an image and its tag."""
    is_host = "." in name and value[:1].isdigit()
    is_image = name[:1] not in ("/", "-") and ("/" in name or _is_version(value))
    return is_host or is_image


def _is_version(text: str) -> bool:
    return "." in text and text.replace(".", "").isdigit()


def named_values(text: str) -> Iterator[tuple[int, int]]:
    """Where the values of secrets stand that are known by their names: token=..., /p:..., --token ..."""
    lower = text.lower()
    if not any(sign in text for sign in "=:-") or not any(sign in lower for sign in _NAMED_SIGNS):
        return
    naming, named = pattern_of(_NAMING), pattern_of(_NAMED)
    at = 0
    while found := naming.search(text, at):
        begin, at = at, found.end()
        sign = text[at - 1]
        is_word = sign in " \t"
        before = found[0] if is_word else text[max(begin, at - 1 - LONGEST_NAME) : at - 1]
        before = before.rstrip(" \t\"'\\")
        name = before[len(before.rstrip(_OF_A_NAME)) :]
        if not _may_name_secret(name) or (is_word and name == "-p"):
            continue
        # Bounded: of a list of labels each would be looked through to the list's end.
        first = text[at : at + LONGEST_NAME].split(None, 1)[:1]
        is_told = _is_prose if is_word else _is_value_of_all if sign == "=" else _is_tag
        if not is_told(name, *first) and (value := named.match(text, at)):
            yield value.span()
            at = value.end()


def _may_name_secret(name: str) -> bool:
    return name in ("/p", "-p") or is_secret_name(name.rpartition("/")[2].rpartition(":")[2])


def _is_prose(name: str, value: str = "") -> bool:
    """Whether a sentence goes on there, or it says what the option needs: --token TOKEN."""
    word = value.rstrip(_END_OF_SENTENCE).lower()
    return word in _PROSE or len(word) <= 1 or (value.isupper() and word in name.lower())


def _is_value_of_all(name: str, value: str = "") -> bool:
    """Whether all may know it: a label, or the place of a file."""
    return not is_secret_name(name, value.partition(",")[0].rstrip(_END_OF_SENTENCE))


def _is_tag(name: str, value: str = "") -> bool:
    """Whether it is an image's tag, or a host's port."""
    tag = value.partition("@")[0].rstrip(_END_OF_SENTENCE)
    return tag.replace(".", "").replace("-", "").replace("_", "").isalnum() and is_place(name, tag)


def may_have_token(text: str) -> bool:
    at = text.find(".")
    while at >= 0:
        if text[at + 1 : at + 17].isalnum() and text[max(0, at - 6) : at].isalnum():
            return True
        at = text.find(".", at + 1)
    return False


def _shown_urls(urls: str) -> str:
    """One URL, or several as in a list."""
    parts: list[str] = []
    at = 0
    for found in pattern_of(_NEXT_URL).finditer(urls):
        parts += (_shown_url(urls[at : found.start()]), found[0])
        at = found.end()
    return "".join([*parts, _shown_url(urls[at:])])


def _shown_url(url: str) -> str:
    """What follows a scheme, without user and query.

    A user ends at the last @ before a slash: it may be of a domain.
    """
    place, question, query = url.partition("?")
    parts = []
    for part in place.split("://"):
        authority, slash, path = part.partition("/")
        _, at, host = authority.rpartition("@")
        parts.append(f"{REDACTED}@{host}{slash}{path}" if at else part)
    hidden = query.rstrip(_END_OF_SENTENCE)
    end = REDACTED if hidden else ""
    return f"{'://'.join(parts)}{question}{end}{query[len(hidden) :]}"


def bootstrap_token(text: str) -> re.Match[str] | None:
    is_as_long = len(text) == _TOKEN_LENGTH and text[6] == "."
    return pattern_of(BOOTSTRAP_TOKEN).fullmatch(text) if is_as_long else None


def of_url(url: str) -> Iterator[str]:
    """The secrets in one URL, or in several as in a list."""
    for each in pattern_of(_NEXT_URL).split(url):
        yield from _of_one_url(each)


def _of_one_url(url: str) -> Iterator[str]:
    from urllib.parse import unquote

    place, _, query = url.partition("?")
    for part in place.split("://"):
        user, at, _ = part.partition("/")[0].rpartition("@")
        name, colon, password = user.partition(":")
        if at and (colon or len(name) >= _LONG_USER):
            yield from {user, unquote(user)}
            yield from {password, unquote(password)}
    for parameter in query.split("&"):
        name, _, value = parameter.partition("=")
        if is_secret_name(name):
            yield from {value, unquote(value)}


def _without(text: str, secrets: Iterable[tuple[int, int]]) -> str:
    parts: list[str] = []
    at = 0
    for begin, end in secrets:
        parts += (text[at:begin], REDACTED)
        at = end
    return "".join([*parts, text[at:]])


def private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Keys in PEM form, as lines or as one with \\n in it; of one without an end, or without a beginning, all
    that may be of it.
    """
    begun: tuple[int, int] | None = None
    at = 0
    for marker in pattern_of(_MARKER).finditer(text):
        if marker[1] == "END":
            yield begun[0] if begun else _begin_of_key(text, at, marker.start()), marker.end()
            begun = None
        else:
            if begun:
                yield begun[0], _end_of_key(text, begun[1])
            begun = marker.span()
        at = marker.end()
    if begun:
        yield begun[0], _end_of_key(text, begun[1])


def _end_of_key(text: str, begin: int) -> int:
    found = pattern_of(_OF_A_KEY).match(text, begin)
    return found.end() if found else begin


def _begin_of_key(text: str, least: int, end: int) -> int:
    found = pattern_of(_OF_A_KEY_BACKWARDS).match(text[least:end][::-1])
    return end - found.end() if found else end
