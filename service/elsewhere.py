"""Where contents are fetched: said when the service is installed, kept in its command line.

Every user may read that of a service. So a mirror with a secret in it, as a password or a signature, is kept
in a private file beside the program instead.
"""

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import PureWindowsPath

from agent.host.errors import HostError, NotFound
from agent.host.port import Host
from agent.host.protection import PRIVATE_FILE
from agent.redaction import redacted
from service.program_folder import home

MIRROR, ARTIFACTS = "--mirror", "--artifacts"


def in_arguments(arguments: Sequence[str], name: str) -> tuple[str, ...]:
    """As they were given, with the option's name before each."""
    return tuple(word for option, value in pairwise(arguments) if option == name for word in (name, value))


def has_secret(mirror: str) -> bool:
    return redacted(mirror) != mirror


def private_mirrors(host: Host) -> tuple[str, ...]:
    """Those that no command line has. None where the file cannot be read: it is another machine's, say."""
    try:
        found = json.loads(host.access.unsealed(host.files.read(_private(host))))
    except (HostError, ValueError):
        return ()
    return tuple(map(str, found)) if isinstance(found, list) else ()


def keep_private(host: Host, mirrors: Iterable[str]) -> None:
    """These, and no others from now on."""
    content = json.dumps(list(mirrors))
    if content != "[]":
        host.files.write(_private(host), host.access.sealed(content.encode()), PRIVATE_FILE)
        return
    with suppress(NotFound):
        host.files.remove(_private(host))


def _private(host: Host) -> PureWindowsPath:
    """In the program's own folder, which goes when the service is uninstalled."""
    return home(host) / "mirrors"
