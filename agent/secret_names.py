"""Tells the names of secrets from others: one rule for fields, variables, options, headers and settings."""

from __future__ import annotations

_OF_A_SECRET = (
    *("password", "passwd", "passphrase", "secret", "token", "credential"),
    *("apikey", "accesskey", "accountkey", "privatekey", "certificatekey", "keydata"),
)
_SECRET_WORDS = frozenset({"pwd", "pw", "pass", "sig", "signature", "cookie", "authorization", "sas"})
_OF_A_PLACE = frozenset(
    {
        *("audience", "audiences", "config", "dir", "directory", "expiration", "file", "files", "folder"),
        *("hash", "id", "mode", "name", "names", "path", "plugin", "provider", "ref", "refs", "seconds"),
        *("ttl", "type", "uri", "url", "verification", "webhook"),
    }
)
"""How names end that say where a secret is, or how long one is valid."""
_LONGEST_NAME = 200


def is_secret_name(name: str) -> bool:
    """Whether what is called so is a secret: clientSecret, DB_PASSWORD, --token, but no --token-file."""
    words = _words_of(name[-_LONGEST_NAME:])
    compact = "".join(words)
    if compact in ("auth", "passwordhash"):
        return True
    if not words or words[-1] in _OF_A_PLACE:
        return False
    return not _SECRET_WORDS.isdisjoint(words) or any(part in compact for part in _OF_A_SECRET)


def _words_of(name: str) -> list[str]:
    """In lower case, a new one at each capital after a small letter."""
    spaced = []
    before = ""
    for letter in name:
        if letter.isupper() and before.islower():
            spaced.append(" ")
        spaced.append(letter if letter.isalnum() else " ")
        before = letter
    return "".join(spaced).lower().split()
