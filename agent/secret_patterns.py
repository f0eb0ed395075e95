"""What a secret looks like, for those that were never registered: `agent.redaction` uses it for all texts.

Its name tells it first, by one rule for fields, variables, options, headers and settings.

Each pattern takes time that grows with the text alone: what could fail after a repetition is bounded.
"""

import functools
import re
from collections.abc import Iterable, Iterator
from urllib.parse import unquote

_OF_A_SECRET = (
    *("password", "passwd", "passphrase", "secret", "credential"),
    *("apikey", "accesskey", "accountkey", "privatekey", "certificatekey", "keydata"),
)
"""A name is a secret's wherever it has one of these: PGPASSWORDS is a word, too."""
_SECRET_WORDS = frozenset({"pwd", "pw", "cookie", "sas", "creds"})
_SECRET_AS_LAST = frozenset({"auth", "authorization", "pass", "pat", "sig", "signature"})
"""Before another word these say what that is about: SIGNATURE_ALGORITHM, PASS_THROUGH_NETWORK."""
_SECRET_DESPITE_ITS_END = ("passwordhash", "dockerauthconfig")
_OF_A_SWITCH = frozenset({"allow", "anonymous", "disable", "enable", "no", "require", "skip"})
"""How names begin that say whether there is to be a signature or an authentication."""
_NUMBERS = frozenset({"max", "maximum", "min", "minimum"})
_OF_AN_OPEN_KEY = frozenset({"foreign", "label", "partition", "public", "registry", "sort", "topology"})
_OF_A_KEY_OR_A_FILE = frozenset({"client", "host", "primary", "ssl", "tls"})
"""A field of this name is a file's, as client-key of a kubeconfig; a variable in capitals is the key itself,
unless its value is a path."""
_OF_A_PLACE = frozenset(
    {
        *("age", "algorithm", "attributes", "audience", "audiences", "change", "config", "count", "dir"),
        *("directory", "driver", "duration", "enabled", "endpoint", "expiration", "file", "files", "folder"),
        *("hash", "id", "interval", "kubeconfig", "length", "limit", "max", "min", "mode", "name", "names"),
        *("namespace", "namespaces", "path", "plugin", "policy", "provider", "realm", "ref", "refs"),
        *("seconds", "service", "stdin", "store", "through", "timeout", "ttl", "type", "uri", "url", "use"),
        *("verification", "webhook"),
    }
)
"""How names end that say where a secret is, how long one is valid, or what is done with it."""
LONGEST_NAME = 255
"""Of what is judged as a name, in characters: an image's reference is as long."""
REDACTED = "***"

_LONG_USER = 16
"""A user's name in a URL that is as long is a token in its place, more often than not."""

URL = r"://(?:[^\s\"'<>(]|\((?!hidden, ))*"
_NEXT_URL = r"([,;)\]])(?=[A-Za-z][A-Za-z0-9+.-]{0,20}://)"
_END_OF_SENTENCE = ",;:.)]"
"""Punctuation behind a URL belongs to the sentence around it, and is shown."""
BOOTSTRAP_TOKEN = r"(?<![A-Za-z0-9])([a-z0-9]{6})\.([a-z0-9]{16})(?![A-Za-z0-9])"  # noqa: S105 - how one looks
_TOKEN_LENGTH = 23
_SCHEME = r"\b([Bb]earer|[Bb]asic|BEARER|BASIC)([ \t]{1,4})[A-Za-z0-9+/=._~-]{20,}"
_WEB_TOKEN = r"\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,2}"  # noqa: S105 - how one looks
_ACCESS_KEY = r"\bAKIA[A-Z0-9]{16}\b"
_NAMING = r"[:=]|(?<![\w/.-])--?[A-Za-z][\w-]{0,79}[ \t]{1,4}(?![-\s])"
"""What ends a name: a sign, or behind an option a blank."""
_NAMED = (
    r"(?:(?:bearer|basic)[ \t]{1,4})?+"
    r"(?!(?:true|false|null|none)\b|\\{0,15}[\"']?(?:\(hidden, |[a-z0-9]{6}\.\*\*\*(?!\w))"
    r"|\*\*\*(?:[\s\"';,)}\]]|$))"
    r"(?:(\\{1,15}[\"'])(?:(?!(?<!\\)\1)[\s\S])*(?:\1)?"
    r"|([\"'])(?:\\[\s\S]|\2\2|(?!\2)[^\\])+\2?[^\s\"';,)}\]]*|[^\s\"';]+)"
)
"""Without a blank behind the colon: `token: ...` is how a message about one begins, too."""
_IN_BRACKETS = r"[()\n]|([\"'])(?:(?!\1)[^\n])*\1?"
PASSWORD_OPTIONS = ("/p", "-p")
_SIGNS = ("pass", "pw", "secret", "token", "key", "cred", "auth", "cookie", "sig", "sas", "pat", "/p:", "-p:")
"""One of these is in each name that is a secret's."""
_OF_A_SENTENCE = frozenset({"auth", "pass", "pat", "sig", "signature"})
"""Alone in a text these are words like others, unless JSON has them as a field's name."""
_IN_JSON = ('":"', "':'", '":\\')
_OF_A_PASSWORD = ("pass", "passwd", "password", "passwords", "passphrase", "pwd", "pw")
NO_SETTINGS = ("feature-gates", "node-labels", "register-with-taints")
"""Options of the kubelet whose values are lists of NAME=VALUE with names that are no setting's."""
_LIST = r"[ \t]?[\"']?[^\s\"';]*"
_PORT = r"[0-9]{1,5}(?::[0-9]{1,5})?(?:[/,\"'\s]|[.:;)\]]{1,9}(?:\s|$)|$)"
_OF_A_NAME = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-@/:"
_PROSE = frozenset(
    {
        *("a", "alone", "also", "an", "and", "are", "as", "at", "be", "because", "before", "behind", "but"),
        *("by", "can", "cannot", "does", "expects", "for", "from", "given", "goes", "had", "has", "have"),
        *("here", "if", "in", "instead", "into", "is", "it", "its", "may", "means", "must", "needs", "nor"),
        *("not", "of", "on", "only", "option", "or", "over", "requires", "says", "set", "should", "so"),
        *("stands", "takes", "than", "that", "the", "then", "there", "this", "to", "too", "twice", "unless"),
        *("until", "was", "were", "when", "where", "which", "will", "with", "without"),
    }
)
"""How a sentence goes on behind an option's name. None of these is a password."""
SETTING = r"""(^|;)([^;=:]{1,80})([=:])("[^"]*"?|'[^']*'?|\{[^}]*\}?|[^;]*)"""
_MARKER = r"-----(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY-----"
PRIVATE_KEY = "PRIVATE KEY-----"
_OF_A_HEADER = r"(?:[ A-Z0-9,]|-(?!-)){0,80}"
_OF_A_KEY = rf"{_OF_A_HEADER}(?:\\[nr]|(?:Proc-Type|DEK-Info):{_OF_A_HEADER}|[\sA-Za-z0-9+/=])*"
_OF_A_KEY_BACKWARDS = (
    r"(?:(?:(?:\s|[nr]\\){1,80}(?:[A-Za-z0-9+/=]{16,4096}(?!\\)|={1,2}[A-Za-z0-9+/]{1,15}(?!\\)"
    r"|[A-Za-z0-9+/]{1,15}(?=[ \t]{0,80}(?:[\n\"']|[nr]\\|$))))+"
    r"(?:(?:\s|[nr]\\){1,80}(?<=[\n\\])[A-Za-z0-9+/]{1,15}(?!\\))?\s{0,80})?"
)
"""Lines of base64, before which one may be cut off; without such a line a word is none."""
VEIL = "(hidden, "
"""How a plan shows a secret, so that two can be told apart (agent.resources.kind)."""
NO_SECRETS = ("true", "false", "null", "none", "")


def is_secret_name(name: str, value: str = "") -> bool:
    """Return whether what has this name is a secret: clientSecret, DB_PASSWORD, --token, but no --token-file.

    The last words decide. A key alone is none: taints and settings have fields of that name. The value, where
    it is known, tells a key from its file.
    """
    words = _words_of(name[-LONGEST_NAME:])
    compact = "".join(words)
    if compact.endswith(_SECRET_DESPITE_ITS_END):
        return True
    if not words or words[-1] in _OF_A_PLACE or words[-2:] == ["pass", "credentials"]:
        return False
    if words[-1] == "key" and words[-2:-1] and words[-2] not in _OF_AN_OPEN_KEY:
        return words[-2] not in _OF_A_KEY_OR_A_FILE or (name.isupper() and not is_path(value))
    if words[-1] in _SECRET_AS_LAST and words[0] not in _OF_A_SWITCH:
        return True
    if not _SECRET_WORDS.isdisjoint(words) or any(part in compact for part in _OF_A_SECRET):
        return True
    # Whole, or as the end of a word: a tokenizer is none, and a largest number of tokens is a number.
    is_number = not _NUMBERS.isdisjoint(words)
    return any(word.endswith(("token", "pwd") if is_number else ("token", "tokens", "pwd")) for word in words)


def is_path(value: str) -> bool:
    r"""Return whether the value is a file's place on a drive, or on a server: \\SERVER\SHARE."""
    value = value.strip("\"'")
    server, _, share = value[2:].partition("\\")
    return value[1:3] in (":\\", ":/") or (value.startswith("\\\\") and bool(server and share))


def _words_of(name: str) -> list[str]:
    """In lower case, a new one at each capital after a small letter, without the number at a word's end."""
    spaced = []
    before = ""
    for letter in name:
        if letter.isupper() and before.islower():
            spaced.append(" ")
        spaced.append(letter if letter.isalnum() else " ")
        before = letter
    words = (word.rstrip("0123456789") for word in "".join(spaced).lower().split())
    return [word for word in words if word]


@functools.cache
def pattern_of(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE if pattern is _NAMED else 0)


def without_patterns(text: str) -> str:
    """What no text of ours has is looked for by its sign first: most have none of them."""
    if PRIVATE_KEY in text:
        text = without(text, private_keys(text))
    if "://" in text:
        text = pattern_of(URL).sub(lambda found: _shown_urls(found[0]), text)
    if may_have_token(text):
        text = pattern_of(BOOTSTRAP_TOKEN).sub(rf"\1.{REDACTED}", text)
    lower = text.lower()
    if "earer" in lower or "asic" in lower:
        text = pattern_of(_SCHEME).sub(rf"\1\2{REDACTED}", text)
    if "eyJ" in text:
        text = pattern_of(_WEB_TOKEN).sub(REDACTED, text)
    if "AKIA" in text:
        text = pattern_of(_ACCESS_KEY).sub(REDACTED, text)
    # A path is in most lines, and is no PAT.
    return without(text, named_values(text)) if _has(lower.replace("path", ""), _SIGNS) else text


def is_place(name: str, value: str) -> bool:
    """Return whether a name, a colon and a value are a host and its port, or an image and its tag."""
    host = name.rpartition(":")[2]
    if name.startswith("-") or host.rfind("/") == 0:
        return False
    is_password = host.lower().rstrip("0123456789").endswith(_OF_A_PASSWORD)
    if pattern_of(_PORT).match(value):
        return host.rfind("/") == 1 or not is_password
    tag = "".join(value.split(None, 1)[:1]).partition("@")[0].rstrip(_END_OF_SENTENCE)
    plain = tag.replace(".", "")
    is_version = "." in tag and plain.isdigit()
    is_image = "/" in host and not is_password
    return is_version or (is_image and plain.replace("-", "").replace("_", "").isalnum())


def _has(name: str, parts: Iterable[str]) -> bool:
    return any(map(name.lower().__contains__, parts))


def named_values(text: str) -> Iterator[tuple[int, int]]:
    """Yield where values stand that are secrets by their names: token=..., /p:..., --token ..."""
    naming, named = pattern_of(_NAMING), pattern_of(_NAMED)
    at = end_of_list = 0
    while found := naming.search(text, at):
        at = found.end()
        sign = text[at - 1]
        before = found[0] if sign in " \t" else text[max(0, at - LONGEST_NAME) : at - 1]
        before = before.rstrip(" \t\"'\\")
        name = before[len(before.rstrip(_OF_A_NAME)) :]
        last = name.rpartition("/")[2].rpartition(":")[2].rpartition("@")[2]
        is_list = at > end_of_list and name.lstrip("-") in NO_SETTINGS
        if is_list and (values := pattern_of(_LIST).match(text, at)):
            end_of_list = values.end()
        elif (
            (_may_name_secret(last, text[at - 2 : at + 1]) or (sign == ":" and name in PASSWORD_OPTIONS))
            and (at > end_of_list or "/" not in name or _has(last, (*_OF_A_PASSWORD, "credential")))
            and not _is_known(text, name if sign == ":" else last, at)
            and (value := named.match(text, at))
        ):
            at = _end_of_brackets(text, at) if value[0].startswith(("(", "$(")) else value.end()
            yield value.start(), at


def _may_name_secret(name: str, between: str) -> bool:
    """Return whether a name in a text, without the host or the folder before it, can be a secret's."""
    is_word = name.lstrip("-").lower() in _OF_A_SENTENCE and between not in _IN_JSON
    return not is_word and _has(name, _SIGNS) and is_secret_name(name)


def _is_known(text: str, name: str, at: int) -> bool:
    """Return whether a port or a tag follows, a key's file, more of a sentence, or what an option needs."""
    # Bounded: behind each of many names the whole text would be looked through.
    value, following = (*text[at : at + LONGEST_NAME].split(None, 2), "", "")[:2]
    word = value.strip(f"(`{_END_OF_SENTENCE}")
    if text[at - 1] == ":":
        return text[at - 2] in _OF_A_NAME and is_place(name, text[at : at + LONGEST_NAME])
    if text[at - 1] == "=":
        return not is_secret_name(name, value.partition(",")[0].rstrip(_END_OF_SENTENCE))
    return (
        word.lower() in _PROSE
        or len(word) <= 1
        or (value.isupper() and word.lower() in name.lower())
        or (following in ("a", "an", "the") and word.islower() and word.replace("/", "").isalpha())
    )


def _end_of_brackets(text: str, begin: int) -> int:
    """Return where the brackets end that open there, or else the line."""
    depth = 0
    for found in pattern_of(_IN_BRACKETS).finditer(text, begin):
        depth += (found[0] == "(") - (found[0] == ")")
        if not depth or found[0] == "\n":
            return found.end() - (found[0] == "\n")
    return len(text)


def may_have_token(text: str) -> bool:
    at = text.find(".")
    while at >= 0:
        if text[at + 1 : at + 17].isalnum() and text[max(0, at - 6) : at].isalnum():
            return True
        at = text.find(".", at + 1)
    return False


def _shown_urls(urls: str) -> str:
    """Return what is shown of one URL, or of several as in a list."""
    return "".join(map(_shown_url, pattern_of(_NEXT_URL).split(urls)))


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


def without(text: str, secrets: Iterable[tuple[int, int]]) -> str:
    """Return the text without what stands at these places, which are in order and may overlap."""
    parts: list[str] = []
    at = 0
    for begin, end in secrets:
        if begin >= at:
            parts += (text[at:begin], REDACTED)
        at = max(at, end)
    return "".join([*parts, text[at:]])


def private_keys(text: str) -> Iterator[tuple[int, int]]:
    """Yield where keys in PEM form stand, as lines or as one with \\n in it. Of one without an end or a
    beginning it is all that may be of it.
    """
    begun: tuple[int, int] | None = None
    at = 0
    for marker in pattern_of(_MARKER).finditer(text):
        if marker[1] == "END":
            before = text[at : marker.start()][::-1]
            length = marker.start() - begun[0] if begun else _length_of_key(_OF_A_KEY_BACKWARDS, before)
            if length:
                yield marker.start() - length, marker.end()
            begun = None
        else:
            if begun:
                yield begun[0], begun[1] + _length_of_key(_OF_A_KEY, text[begun[1] : marker.start()])
            begun = marker.span()
        at = marker.end()
    if begun:
        yield begun[0], begun[1] + _length_of_key(_OF_A_KEY, text[begun[1] :])


def _length_of_key(pattern: str, text: str) -> int:
    """Return how many characters may be of a key from where the text begins."""
    found = pattern_of(pattern).match(text)
    return found.end() if found else 0
