"""Reboots: asked for, pending, and what one does."""

import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import PureWindowsPath

from agent.host import winerror
from agent.host.errors import HostError, WrongKind, host_error
from agent.host.files import Files
from agent.host.port import RegistryKind, RegistryValue
from agent.host.registry_contents import (
    NAMES,
    PENDING_MOVES,
    PREFIX,
    SESSION_MANAGER,
    next_host_name,
    pending_moves,
    reboot_reasons,
)
from agent.host.sandbox.facts import SandboxFacts
from agent.host.sandbox.registry import SandboxRegistry
from agent.host.sandbox.state import State

POWER = "power.json"


class SandboxPower:
    def __init__(self, state: State, registry: SandboxRegistry, facts: SandboxFacts) -> None:
        self._state = state
        self._registry = registry
        self._facts = facts

    def reboot_pending(self) -> Sequence[str]:
        return list(reboot_reasons(self._registry))

    def reboot(self, reason: str, seconds: int) -> None:
        with self._state.changing(POWER) as document:
            if "asked" in document:
                raise host_error("reboot", "the machine", winerror.ERROR_SHUTDOWN_IN_PROGRESS)
            document["asked"] = {"reason": reason, "seconds": seconds, "at": time.time()}

    def rename(self, name: str) -> None:
        for names, keys in ((_names(self._facts.host_name()), 0), (_names(name), 1)):
            for (key, value), said in zip((pair[keys] for pair in NAMES), names, strict=True):
                self._registry.write(key, value, RegistryValue(RegistryKind.STRING, said))


def _names(name: str) -> tuple[str, str]:
    """NetBIOS', and DNS'."""
    return name[:15].upper(), name


def take_name(registry: SandboxRegistry, facts: SandboxFacts) -> None:
    """What a start does with the name that the machine was given before."""
    for now, later in NAMES:
        if found := registry.read(*later):
            registry.write(*now, found)
    if name := next_host_name(registry):
        facts.is_called(name)


class SandboxClock:
    def __init__(self, state: State) -> None:
        self._state = state

    def now(self) -> float:
        return time.time()

    def monotonic(self) -> float:
        return time.monotonic()

    def boot(self) -> int:
        return int(self._state.read(POWER)["booted"])

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


def remove_at_reboot(registry: SandboxRegistry, path: PureWindowsPath) -> None:
    """Windows keeps pairs of a path and its new one, which is empty where it is to be removed."""
    words = [word for pair in pending_moves(registry) for word in pair]
    words += [f"{PREFIX}{path}", ""]
    registry.write(SESSION_MANAGER, PENDING_MOVES, RegistryValue(RegistryKind.STRINGS, tuple(words)))


def remove_pending_files(registry: SandboxRegistry, files: Files) -> None:
    pairs = pending_moves(registry)
    if not pairs:
        return
    for path, target in pairs:
        if not target:
            # What is gone already, or a folder that isn't empty, Windows passes over.
            with suppress(HostError):
                _remove(files, PureWindowsPath(path.removeprefix(PREFIX)))
    registry.remove(SESSION_MANAGER, PENDING_MOVES)


def _remove(files: Files, path: PureWindowsPath) -> None:
    try:
        files.remove(path)
    except WrongKind:
        files.remove_directory(path)
