"""A machine to run the engine on, what can be told of it, and ways to break it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PureWindowsPath
from typing import Any

from agent.host.errors import NoSpace, NotFound
from agent.host.files import FileKind
from agent.host.port import Host
from agent.host.registry_contents import PENDING_MOVES, SESSION_MANAGER
from agent.host.services import ServiceState

C = PureWindowsPath("C:\\")
_EVENT_SOURCES = r"SYSTEM\CurrentControlSet\Services\EventLog\Application"


def picture(host: Host, *, but: tuple[PureWindowsPath, ...] = ()) -> dict[str, object]:
    """All that the engine could change, by name."""
    seen: dict[str, object] = {}
    for path, kind in _everything(host, C):
        if any(path == place or place in path.parents for place in but):
            continue
        if kind is FileKind.LINK:
            seen[f"{kind.value} {path}"] = host.files.link_target(path)
            continue
        content = ""
        if kind is FileKind.FILE:
            content = hashlib.sha256(host.files.read(path)).hexdigest()[:8]
        seen[f"{kind.value} {path}"] = (content, str(host.files.descriptor(path)))
    for name, status in host.services.list().items():
        installed = host.services.read(name)
        assert installed is not None
        seen[f"service {name}"] = (installed, status.state)
    with suppress(NotFound):
        for key in host.registry.keys(_EVENT_SOURCES):
            seen[f"event source {key}"] = host.registry.values(rf"{_EVENT_SOURCES}\{key}")
    for name, value in host.environment.list().items():
        seen[f"variable {name}"] = (value, host.environment.kind(name))
    for key in _keys_below(host, "SOFTWARE"):
        seen[f"registry key {key}"] = host.registry.values(key)
    seen["networks"] = [*host.networks.list(), *host.networks.endpoints(), *host.networks.load_balancers()]
    seen["routes"] = host.routes.list()
    seen["forwarding"] = {each.address: host.routes.forwards(each.address) for each in host.facts.addresses()}
    with suppress(NotFound):
        seen["at the next start"] = host.registry.read(SESSION_MANAGER, PENDING_MOVES)
    return seen


def _everything(host: Host, folder: PureWindowsPath) -> Iterator[tuple[PureWindowsPath, FileKind]]:
    for name in host.files.list(folder):
        state = host.files.observe(folder / name)
        assert state is not None
        yield folder / name, state.kind
        if state.kind is FileKind.DIRECTORY:
            yield from _everything(host, folder / name)


def _keys_below(host: Host, key: str) -> Iterator[str]:
    with suppress(NotFound):
        for name in host.registry.keys(key):
            yield rf"{key}\{name}"
            yield from _keys_below(host, rf"{key}\{name}")


class Killed(BaseException):
    """The process is no more: nothing that it would still do happens."""


MUTATIONS = {
    "files": {
        "make_directory", "write", "put", "append", "move", "remove", "remove_directory", "set_descriptor",
        "remove_at_reboot",
    },
    "services": {"create", "change", "restore", "delete", "start", "stop"},
    "environment": {"set", "remove"},
    "proxies": {"set_default"},
    "registry": {"make_key", "remove", "remove_empty_key", "write"},
    "processes": {"run_logged"},
    "events": {"register", "unregister"},
    "firewall": {"add", "change", "remove"},
    "defender": {"exclude", "include"},
    "roots": {"add", "remove"},
    "features": {"enable", "disable"},
    "power": {"rename"},
    "networks": {
        "create", "delete", "create_endpoint", "attach", "delete_endpoint", "delete_load_balancer",
    },
    "routes": {"add", "remove", "set_forwarding"},
}  # fmt: skip


@dataclass
class Power:
    """Lets so many changes of the machine through, and then kills."""

    left: int
    used: int = 0
    dead: bool = False

    def spend(self, change: Callable[[], Any]) -> Any:
        if self.dead:
            raise Killed
        if self.left == 0:
            self.dead = True
            raise Killed
        self.left -= 1
        self.used += 1
        return change()


class _Powered:
    def __init__(self, port: object, mutations: set[str], power: Power) -> None:
        self._port = port
        self._mutations = mutations
        self._power = power

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._port, name)
        if name not in self._mutations:
            return method
        return lambda *given, **named: self._power.spend(lambda: method(*given, **named))


def powered(host: Host, power: Power) -> Host:
    ports: dict[str, Any] = {
        name: _Powered(getattr(host, name), mutations, power) for name, mutations in MUTATIONS.items()
    }
    return replace(host, **ports)


class Port:
    """A port some of whose methods are others."""

    def __init__(self, port: object, **others: Any) -> None:
        self._port = port
        self._others = others

    def __getattr__(self, name: str) -> Any:
        return self._others.get(name) or getattr(self._port, name)


def changed(host: Host, **ports: dict[str, Any]) -> Host:
    made: dict[str, Any] = {name: Port(getattr(host, name), **others) for name, others in ports.items()}
    return replace(host, **made)


class Disk:
    """Room on C: for so many bytes more."""

    def __init__(self, host: Host, room: int) -> None:
        self._files = host.files
        self.room = room
        methods = {"write": self._write, "append": self._append, "remove": self._remove}
        self.host = changed(host, files=methods)

    def _size(self, path: PureWindowsPath) -> int:
        there = self._files.observe(path)
        return there.size if there else 0

    def _write(self, path: PureWindowsPath, content: bytes | Iterable[bytes], *given: Any) -> Any:
        whole = content if isinstance(content, bytes) else b"".join(content)
        if len(whole) > self.room:
            raise NoSpace("write", str(path), 112)
        former = self._size(path)
        aside = self._files.write(path, whole, *given)
        self.room += former - len(whole)
        return aside

    def _append(
        self, path: PureWindowsPath, content: bytes | Iterable[bytes], *given: Any, **how: Any
    ) -> None:
        """What there is room for is written."""
        for piece in (content,) if isinstance(content, bytes) else content:
            self._append_piece(path, piece, *given, **how)

    def _append_piece(self, path: PureWindowsPath, content: bytes, *given: Any, **how: Any) -> None:
        part = content[: self.room]
        self._files.append(path, part, *given, **how)
        self.room -= len(part)
        if part != content:
            raise NoSpace("append to", str(path), 112)

    def _remove(self, path: PureWindowsPath) -> None:
        size = self._size(path)
        self._files.remove(path)
        self.room += size


def stopped(host: Host, name: str) -> bool:
    return host.services.status(name).state is ServiceState.STOPPED
