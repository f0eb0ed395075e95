"""Changes of one key of the registry, told by an event that is waited for beside others."""

import winreg

import win32api
import win32event
import win32file

from agent.host.windows.api.processes import is_signalled
from agent.host.windows.failure import telling

_NAMES_AND_VALUES = 0x1 | 0x4
"""REG_NOTIFY_CHANGE_NAME, REG_NOTIFY_CHANGE_LAST_SET"""
_WHOEVER_ASKED = 0x1000_0000
"""REG_NOTIFY_THREAD_AGNOSTIC: the thread that asks may end, or not be the one that waits."""


class KeyWatch:
    """Of its values, and of the names of the keys below."""

    def __init__(self, key: str) -> None:
        with telling("watch", f"registry key HKLM\\{key}"):
            access = winreg.KEY_NOTIFY | winreg.KEY_WOW64_64KEY
            self._key = winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key, 0, access)
            self.event = win32event.CreateEvent(None, True, False, None)
            try:
                self._ask()
            except BaseException:
                self.close()
                raise

    def has_changed(self) -> bool:
        """Since it was asked last. Raises Win32Error when the key is gone."""
        if not is_signalled(self.event):
            return False
        win32event.ResetEvent(self.event)
        self._ask()
        return True

    def close(self) -> None:
        self._key.Close()
        win32file.CloseHandle(self.event)

    def _ask(self) -> None:
        # It takes a handle of winreg's as a number.
        key = int(self._key)
        win32api.RegNotifyChangeKeyValue(key, False, _NAMES_AND_VALUES | _WHOEVER_ASKED, self.event, True)  # type: ignore[arg-type]
