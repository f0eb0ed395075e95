"""What wmcb remembers names no password: those in URLs are sealed before a line of it is written.

A proxy's password stands in variables, services and their states, a server's in where an artifact is from.
All of these go through here on their way to the journal, the inventory and an artifact's note, and back.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode

from agent.host.port import Host

_USER_IN_URL = re.compile(r'://((?:[^"\\/\s]|\\.)+)@')
"""In JSON, where a quote and a backslash are escaped. Up to the last @, as programs take it: a user may be of
a domain."""
_MARK = "sealed."
_SEALED = re.compile(rf"://{re.escape(_MARK)}([A-Za-z0-9_=-]+)@")


def is_secret(document: str) -> bool:
    return "@" in document and _USER_IN_URL.search(document) is not None


def sealed(host: Host, document: str) -> str:
    if not is_secret(document):
        return document

    def seal(found: re.Match[str]) -> str:
        return f"://{_MARK}{urlsafe_b64encode(host.access.sealed(found[1].encode())).decode()}@"

    return _USER_IN_URL.sub(seal, document)


def unsealed(host: Host, document: str) -> str:
    if f"://{_MARK}" not in document:
        return document
    return _SEALED.sub(
        lambda found: f"://{host.access.unsealed(urlsafe_b64decode(found[1])).decode()}@", document
    )
