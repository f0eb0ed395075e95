"""Whether a file will be the same when it is read again: nobody but administrators can exchange it."""

from pathlib import PureWindowsPath

from agent.host.errors import NotFound
from agent.host.port import Host
from agent.host.protection import FILE_ADD, FILE_EXCHANGE, granted_to_others
from agent.host.sddl import DELETE, FILE_EXECUTE, FILE_READ

_TO_CHANGE = ~(FILE_READ | FILE_EXECUTE)


def exchangeable(host: Host, path: PureWindowsPath) -> PureWindowsPath | None:
    """What of it, or of the folders that it lies in, others may change; None for nothing."""
    looked_for = [(path, _TO_CHANGE), (path.parent, FILE_EXCHANGE | DELETE | FILE_ADD)]
    looked_for += [(folder, FILE_EXCHANGE | DELETE) for folder in path.parent.parents]
    for place, rights in looked_for:
        is_root = place == place.parent
        if _granted(host, place) & (FILE_EXCHANGE if is_root else rights):
            return place
    return None


def _granted(host: Host, place: PureWindowsPath) -> int:
    try:
        return granted_to_others(host.files.descriptor(place), host.access.caller())
    except NotFound:
        return 0  # which is told by whoever reads it
