"""Why Windows wants a reboot, as its registry tells; alike for every host."""

from collections.abc import Iterator, Sequence
from pathlib import PureWindowsPath

from agent.host.errors import NotFound
from agent.host.port import Registry, RegistryKind, RegistryValue

SESSION_MANAGER = r"SYSTEM\CurrentControlSet\Control\Session Manager"
PENDING_MOVES = "PendingFileRenameOperations"

_CURRENT_VERSION = r"SOFTWARE\Microsoft\Windows\CurrentVersion"
_TCPIP = r"SYSTEM\CurrentControlSet\Services\Tcpip\Parameters"
COMPUTER_NAMES = (
    r"SYSTEM\CurrentControlSet\Control\ComputerName\ActiveComputerName",
    r"SYSTEM\CurrentControlSet\Control\ComputerName\ComputerName",
)
"""Where it stands what the machine is called now, and from its next start on."""

_KEYS = {
    rf"{_CURRENT_VERSION}\Component Based Servicing\RebootPending": "features or updates wait for it",
    rf"{_CURRENT_VERSION}\WindowsUpdate\Auto Update\RebootRequired": "Windows Update asks for it",
}
DNS_NAMES = ((_TCPIP, "Hostname"), (_TCPIP, "NV Hostname"))
"""The same of its DNS host name."""
NAMES = (tuple((key, "ComputerName") for key in COMPUTER_NAMES), DNS_NAMES)


def reboot_reasons(registry: Registry) -> Iterator[str]:
    for key, reason in _KEYS.items():
        if _exists(registry, key):
            yield reason
    moves = (registry.read(SESSION_MANAGER, name) for name in (PENDING_MOVES, f"{PENDING_MOVES}2"))
    if any(map(_replaces, moves)):
        yield "files wait to be replaced by others at the next start"
    if is_renamed(registry):
        yield "the machine has been given another name"


def is_renamed(registry: Registry) -> bool:
    """Whether the machine will have another name after its next start."""
    return any(_differ(registry.read(*now), registry.read(*later)) for now, later in NAMES)


def next_host_name(registry: Registry) -> str | None:
    """Where it was ever said."""
    found = registry.read(*DNS_NAMES[1])
    return str(found.data) if found else None


def _exists(registry: Registry, key: str) -> bool:
    try:
        registry.keys(key)
    except NotFound:
        return False
    return True


def _replaces(value: RegistryValue | None) -> bool:
    """Pairs of names, the second empty where a file is only to be removed: for that nothing needs to wait."""
    return bool(value and isinstance(value.data, tuple) and any(value.data[1::2]))


def _differ(now: RegistryValue | None, later: RegistryValue | None) -> bool:
    # No case: one of the two is in capitals where the name was never changed.
    return bool(now and later and str(now.data).upper() != str(later.data).upper())


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
