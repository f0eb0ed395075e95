"""Tells the names of secrets from others: one rule for fields, variables, options, headers and settings."""

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
