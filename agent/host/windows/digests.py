"""What large files contain, by hash, as long as nobody has written to them: kubelet.exe alone is 100 MB."""

from collections.abc import Iterable
from pathlib import PureWindowsPath
from threading import Lock

from agent.hashing import new_sha256
from agent.host.port import Clock, FileState
from agent.host.windows.api import files as api

_LARGE = 1 << 20
_BLOCK = 1 << 18
"""What a processor's cache holds: each is read, and read again to be hashed."""
_SMALL_BLOCK = 1 << 14
"""Most files have no more, and a buffer is filled with zeros before anything is read into it."""
_TICK_SECONDS = 0.1
"""More than file systems' clocks take from one time to the next. Of what was written less long ago, the same
time and size say nothing."""


class Digests:
    """Kept in this process alone."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[PureWindowsPath, tuple[object, str]] = {}
        self._lock = Lock()

    def of(self, path: PureWindowsPath, handle: int, state: FileState) -> str:
        """It is read only if need be. Nobody may be writing: the handle shares no writing."""
        if state.size < _LARGE:
            return sha256(api.views(handle, _SMALL_BLOCK))
        identity = api.index_of(handle), state.size, state.modified
        with self._lock:  # who asks while somebody else reads it need not read it, too
            seen, known = self._known.get(path, (None, ""))
            if seen == identity:
                return known
            settled = self._clock.now() - state.modified > _TICK_SECONDS
            found = sha256(api.views(handle, _BLOCK))
            if settled:
                self._known[path] = identity, found
            return found


def sha256(content: Iterable[bytes | memoryview]) -> str:
    digest = new_sha256()
    for block in content:
        digest.update(block)
    return digest.hexdigest()
