"""Where wmcb keeps what is its own, and that nothing remembered there names a password.

Those in URLs are sealed before a line is written: a proxy's password stands in variables, services and their
states, a server's in where an artifact is from. All of these go through here on their way to the journal, the
inventory and an artifact's note, and back.
"""

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from contextlib import suppress
from pathlib import PureWindowsPath

from agent.hashing import new_sha256
from agent.host.errors import AlreadyExists, NotEmpty, NotFound
from agent.host.port import Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE

_USER_IN_URL = re.compile(r'://((?:[^"\\/\s]|\\.)+)@')
"""In JSON, where a quote and a backslash are escaped. Up to the last @, as programs take it: a user may be of
a domain."""
_MARK = "sealed."
_SEALED = re.compile(rf"://{re.escape(_MARK)}([A-Za-z0-9_=-]+)@")


def own_folder(host: Host) -> PureWindowsPath:
    return host.facts.program_data() / "wmcb"


class OwnFile:
    """What is remembered of one resource: a file in a folder of ours, called by the hash of its name."""

    def __init__(self, host: Host, folder: str, name: str) -> None:
        self._files = host.files
        self.folder = own_folder(host) / folder
        self.id = new_sha256(name.upper().encode()).hexdigest()[:16]
        self.path = self.folder / f"{self.id}.json"

    def write(self, text: str) -> None:
        with suppress(AlreadyExists):
            self._files.make_directory(self.folder, PRIVATE_DIRECTORY)
        self._files.write(self.path, text.encode(), PRIVATE_FILE)

    def remove(self) -> None:
        """With the folder, where it was the last."""
        with suppress(NotFound):
            self._files.remove(self.path)
        with suppress(NotFound, NotEmpty):
            self._files.remove_directory(self.folder)


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
