"""A pause of the resident service, while somebody works on the machine by hand. It outlasts a reboot."""

import json
from dataclasses import dataclass

from agent.engine.state_folder import StateFolder
from agent.host.port import Host

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Pause:
    until: float | None = None
    """Seconds since 1970; None until somebody ends it."""


def pause(host: Host, until: float | None) -> None:
    """Raises NotFound where wmcb has put nothing on the machine."""
    folder = StateFolder.of(host)
    folder.secure()
    folder.write(folder.pause, json.dumps({"format": _FORMAT, "until": until}).encode())


def resume(host: Host) -> bool:
    """Whether there was a pause."""
    was_paused = read(host) is not None
    folder = StateFolder.of(host)
    folder.remove(folder.pause)
    return was_paused


def read(host: Host) -> Pause | None:
    """One that is over counts as none. Raises CannotBeSo for a folder that nobody may believe."""
    folder = StateFolder.of(host)
    folder.check()
    content = folder.read(folder.pause)
    if content is None:
        return None
    try:
        until = json.loads(content)["until"]
    except (ValueError, KeyError, TypeError):
        return Pause()  # somebody wanted one
    if not isinstance(until, int | float):
        return Pause()
    return Pause(until) if host.clock.now() < until else None
