"""What the registry tells, alike for every host: variables, event sources and why Windows wants a reboot."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PureWindowsPath

from agent.host import winerror
from agent.host.errors import BadName, NotFound
from agent.host.port import Registry, RegistryKind, RegistryValue
from agent.redaction import in_quotes

VARIABLES_KEY = r"SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
REFERENCE = re.compile("%([^%=]+)%")
"""In a text that Windows expands it becomes the value of the variable of that name, if there is one."""

_SOURCES = r"SYSTEM\CurrentControlSet\Services\EventLog\Application"
_ERROR_WARNING_INFORMATION = 7

MESSAGE_FILE = "EventMessageFile"
LONGEST_TEXT = 31_000
"""ReportEvent refuses what is longer than 31,839 characters."""
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
PREFIX = "\\??\\"
"""Of a path, as the kernel has it, in what is to be moved or removed at the next start."""


def resolved(text: str, known: Mapping[str, str]) -> str:
    """`known` by names in capitals; what is not among them stays as it is."""
    return REFERENCE.sub(lambda reference: known.get(reference[1].upper(), reference[0]), text)


def kind_of(value: str) -> RegistryKind:
    """As what a value is stored of which nobody says more."""
    return RegistryKind.EXPANDABLE if REFERENCE.search(value) else RegistryKind.STRING


def check_name(name: str) -> str:
    """The name. Raises BadName for what no variable can be called."""
    if not name or "=" in name or "\0" in name:
        raise BadName("use", f"environment variable {in_quotes(name)}", winerror.ERROR_INVALID_NAME)
    return name


class RegistryVariables:
    """What every host answers alike of its Environment: by the registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def list(self) -> Mapping[str, str]:
        values = self._registry.values(VARIABLES_KEY).items()
        return {name: value.data for name, value in values if isinstance(value.data, str)}

    def get(self, name: str) -> str | None:
        value = self._registry.read(VARIABLES_KEY, check_name(name))
        return value.data if value and isinstance(value.data, str) else None

    def kind(self, name: str) -> RegistryKind | None:
        value = self._registry.read(VARIABLES_KEY, check_name(name))
        return value.kind if value else None

    def set(self, name: str, value: str, kind: RegistryKind | None = None) -> None:
        self._registry.write(VARIABLES_KEY, check_name(name), RegistryValue(kind or kind_of(value), value))

    def remove(self, name: str) -> None:
        self._registry.remove(VARIABLES_KEY, check_name(name))


def source_key(source: str) -> str:
    """The source's key in the registry."""
    if not source or "\\" in source:
        raise BadName("use", f"event source {in_quotes(source)}", winerror.ERROR_INVALID_NAME)
    return f"{_SOURCES}\\{source}"


class EventSources:
    """What every host answers alike of its EventLog: by the registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def register(self, source: str, message_file: PureWindowsPath) -> None:
        key = source_key(source)
        self._registry.write(key, MESSAGE_FILE, RegistryValue(RegistryKind.EXPANDABLE, str(message_file)))
        types = RegistryValue(RegistryKind.NUMBER, _ERROR_WARNING_INFORMATION)
        self._registry.write(key, "TypesSupported", types)

    def unregister(self, source: str) -> None:
        self._registry.remove_key(source_key(source))


def kept_text(text: str) -> str:
    """What of a text the event log can have: not more than so much, and no NUL, which would end it."""
    return text[:LONGEST_TEXT].replace("\0", "\N{REPLACEMENT CHARACTER}")


def reboot_reasons(registry: Registry) -> Iterator[str]:
    """Why Windows wants a reboot, as its registry tells."""
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


def pending_moves(registry: Registry) -> Sequence[tuple[str, str]]:
    """What Windows moves when it starts next: pairs of a path and its new one, empty for a removal."""
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
