"""What Windows moves or removes when it starts next: pairs of a path and its new one, empty for a removal."""

from collections.abc import Sequence
from pathlib import PureWindowsPath

from agent.host.port import Registry, RegistryKind, RegistryValue
from agent.host.reboot_reasons import PENDING_MOVES, SESSION_MANAGER

PREFIX = "\\??\\"


def pending_moves(registry: Registry) -> Sequence[tuple[str, str]]:
    value = registry.read(SESSION_MANAGER, PENDING_MOVES)
    words = value.data if value is not None and isinstance(value.data, tuple) else ()
    return list(zip(words[::2], words[1::2], strict=False))


def forget_removal(registry: Registry, path: PureWindowsPath) -> None:
    """Whatever else is to be moved or removed stays so."""
    pairs = pending_moves(registry)
    others = [pair for pair in pairs if pair[1] or PureWindowsPath(pair[0].removeprefix(PREFIX)) != path]
    if len(others) == len(pairs):
        return
    if others:
        words = tuple(word for pair in others for word in pair)
        registry.write(SESSION_MANAGER, PENDING_MOVES, RegistryValue(RegistryKind.STRINGS, words))
    else:
        registry.remove(SESSION_MANAGER, PENDING_MOVES)
