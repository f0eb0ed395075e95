r"""A client's private key as a file of an elevated process: where it lies, or in C:\ProgramData\wmcb\tls.

No path of these leads through a folder in which users may exchange anything, and each is removed by a handle
that followed no link.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PureWindowsPath

from agent.engine.state_folder import StateFolder
from agent.host.errors import AlreadyExists, HostError, NotFound
from agent.host.files import FileKind
from agent.host.port import Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE, exchangeable
from agent.kube.key_files import TEMPORARY, KeyFiles
from agent.resources.kind import CannotBeSo

_LOADING_SECONDS = 60.0
"""For which a key file may still be in use by the process that wrote it."""
_MOST_ATTEMPTS = 3
"""At writing: another process that is done with its own key removes the folder."""
_ACCESS_DENIED = 5

_lending = threading.Lock()


def key_files(host: Host, config: PureWindowsPath | None = None) -> KeyFiles:
    """Return the means to load keys on this machine; paths of the kubeconfig `config` start at its folder."""
    return PrivateKeyFiles(host, config) if host.access.is_administrator() else TEMPORARY


class PrivateKeyFiles:
    def __init__(self, host: Host, config: PureWindowsPath | None) -> None:
        self._host = host
        self._config = config
        self._state = StateFolder.of(host)

    def private_path(self, path: str) -> Path | None:
        if self._config is None:
            return None
        try:
            place = resolved(self._host, self._config.parent / PureWindowsPath(path))
            return None if exchangeable(self._host, place) else self._host.files.native_path(place)
        except HostError as fault:
            raise OSError(fault.code, fault.meaning, path) from fault

    @contextmanager
    def lent(self, content: bytes) -> Iterator[Path]:
        place = self._state.tls / f"{os.urandom(8).hex()}.pem"
        with _lending:
            was_there = self._host.files.observe(self._state.path) is not None
            try:
                self._write(place, content)
                yield self._host.files.native_path(place)
            except CannotBeSo as fault:
                raise OSError(_ACCESS_DENIED, str(fault), str(place)) from fault
            except HostError as fault:
                raise OSError(fault.code, fault.meaning, str(place)) from fault
            finally:
                self._remove(place, with_state_folder=not was_there)

    def _write(self, place: PureWindowsPath, content: bytes) -> None:
        for attempt in range(1, _MOST_ATTEMPTS + 1):
            self._state.secure()
            for folder in (self._state.path, self._state.tls):
                with suppress(AlreadyExists):
                    self._host.files.make_directory(folder, PRIVATE_DIRECTORY)
            try:
                self._host.files.write(place, content, PRIVATE_FILE)
                return
            except NotFound:
                if attempt == _MOST_ATTEMPTS:
                    raise

    def _remove(self, place: PureWindowsPath, *, with_state_folder: bool) -> None:
        """What a virus scanner holds for too long fails no request: `sweep` removes it."""
        with suppress(HostError):
            self._host.files.remove(place)
        with suppress(HostError):
            self._host.files.remove_directory(self._state.tls)
            if with_state_folder:
                self._host.files.remove_directory(self._state.path)


def resolved(host: Host, path: PureWindowsPath) -> PureWindowsPath:
    """Return the dated file beside it that the kubelet's current certificate is a link to.

    No other link is followed. Raises HostError.
    """
    there = host.files.observe(path)
    if there is None or there.kind is not FileKind.LINK:
        return path
    target = path.parent / host.files.link_target(path)
    return target if target.parent == path.parent else path


def sweep(host: Host) -> None:
    """Remove the key files that processes left which were ended while they loaded them."""
    folder = StateFolder.of(host).tls
    with suppress(HostError):
        for name in host.files.list(folder):
            with suppress(HostError):
                there = host.files.observe(folder / name)
                if there is not None and host.clock.now() - there.modified > _LOADING_SECONDS:
                    host.files.remove(folder / name)
        host.files.remove_directory(folder)
