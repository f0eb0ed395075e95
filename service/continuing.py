"""A Windows service of one use, which goes on with a command after a restart of Windows.

It starts with Windows, runs the command that was put by, and is gone when that has come to an end, however it
ended: only who asks for a further restart leaves it for the next start.
"""

import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PureWindowsPath

from agent.engine.state_folder import StateFolder
from agent.host.errors import AlreadyExists, MarkedForDeletion, NotFound
from agent.host.port import Host
from agent.host.protection import PRIVATE_FILE
from agent.host.services import ServiceDefinition
from service import installation
from service.program import RESUME_SERVICE
from service.program_folder import PROGRAM

COMMAND = "continue"


@dataclass(frozen=True, slots=True)
class Put:
    arguments: Sequence[str]
    folder: str
    """In which it was called: a file may have been given by a part of its path."""


def put_by(host: Host, put: Put, program: PureWindowsPath) -> None:
    """`program` is laid out under Program Files, where users cannot put another in its place."""
    folder = StateFolder.of(host)
    folder.ensure()
    text = json.dumps({"arguments": list(put.arguments), "folder": put.folder})
    # Sealed: a token may be in it.
    host.files.write(folder.continuing, host.access.sealed(text.encode()), PRIVATE_FILE)
    place, _ = installation.lay_out(host, program)
    definition = ServiceDefinition(
        name=RESUME_SERVICE,
        command=(str(place / PROGRAM), COMMAND),
        display_name="wmcb, once after a restart",
        description="Goes on with what has asked for a restart of this machine, and removes itself.",
    )
    try:
        host.services.create(definition)
    except AlreadyExists:
        host.services.change(definition)


def read(host: Host) -> Put | None:
    folder = StateFolder.of(host)
    folder.secure()
    content = folder.read(folder.continuing)
    if content is None:
        return None
    what = json.loads(host.access.unsealed(content))
    return Put(what["arguments"], what["folder"])


def forget(host: Host) -> None:
    """Nothing is gone on with any more."""
    folder = StateFolder.of(host)
    folder.remove(folder.continuing)
    # Where it is this very service that runs, it goes when it has stopped.
    with suppress(NotFound, MarkedForDeletion):
        host.services.delete(RESUME_SERVICE)
