"""Reboots: whether Windows wants one, and asking for one."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from typing import TYPE_CHECKING

from agent.host.errors import NotFound
from agent.host.windows.failure import Win32Failure, telling

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent.host.port import Registry, RegistryValue

_SOFTWARE = "SOFTWARE\\Microsoft\\Windows\\CurrentVersion"
_SESSION_MANAGER = "SYSTEM\\CurrentControlSet\\Control\\Session Manager"
_COMPUTER_NAME = "SYSTEM\\CurrentControlSet\\Control\\ComputerName"
_TCPIP = "SYSTEM\\CurrentControlSet\\Services\\Tcpip\\Parameters"

_KEYS = {
    f"{_SOFTWARE}\\Component Based Servicing\\RebootPending": "features or updates wait to be completed",
    f"{_SOFTWARE}\\WindowsUpdate\\Auto Update\\RebootRequired": "Windows Update has put something in place",
}
_PENDING_MOVES = ("PendingFileRenameOperations", "PendingFileRenameOperations2")
_NAMES = (
    (
        (f"{_COMPUTER_NAME}\\ActiveComputerName", "ComputerName"),
        (f"{_COMPUTER_NAME}\\ComputerName", "ComputerName"),
    ),
    ((_TCPIP, "Hostname"), (_TCPIP, "NV Hostname")),
)

_NOTHING_TO_CANCEL = 1116


class WindowsPower:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def reboot_pending(self) -> Sequence[str]:
        return list(self._reasons())

    def reboot(self, reason: str, seconds: int) -> None:
        from agent.host.windows.api import shutdown

        with telling("reboot", "this machine"):
            shutdown.announce_reboot(reason, seconds)

    def cancel_reboot(self) -> None:
        from agent.host.windows.api import shutdown

        with telling("cancel the reboot of", "this machine"):
            try:
                shutdown.abort()
            except Win32Failure as failure:
                if failure.code != _NOTHING_TO_CANCEL:
                    raise

    def _reasons(self) -> Iterator[str]:
        for key, reason in _KEYS.items():
            if self._exists(key):
                yield reason
        if any(_replaces(self._registry.read(_SESSION_MANAGER, name)) for name in _PENDING_MOVES):
            yield "files wait to be replaced by others at the next start"
        if any(self._differ(now, later) for now, later in _NAMES):
            yield "the machine has been given another name"

    def _exists(self, key: str) -> bool:
        try:
            self._registry.keys(key)
        except NotFound:
            return False
        return True

    def _differ(self, now: tuple[str, str], later: tuple[str, str]) -> bool:
        present, wanted = self._registry.read(*now), self._registry.read(*later)
        # No case: one of the two is in capitals where the name was never changed.
        return bool(present and wanted and str(present.data).upper() != str(wanted.data).upper())


def _replaces(value: RegistryValue | None) -> bool:
    """Pairs of names, the second empty where a file is only to be removed: for that nothing needs to wait."""
    return bool(value and isinstance(value.data, tuple) and any(value.data[1::2]))
