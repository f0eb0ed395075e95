"""Changes of one key of the registry, told by an event that is waited for beside others."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import winreg

from agent.host.windows.api.processes import close, event, is_signalled, reset_event
from agent.host.windows.api.registry import notify
from agent.host.windows.failure import telling


class KeyWatch:
    """Of its values, and of the names of the keys below."""

    def __init__(self, key: str) -> None:
        with telling("watch", f"registry key HKLM\\{key}"):
            access = winreg.KEY_NOTIFY | winreg.KEY_WOW64_64KEY
            self._key = winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, key, 0, access)
            self.event = event()
            try:
                notify(int(self._key), self.event)
            except BaseException:
                self.close()
                raise

    def has_changed(self) -> bool:
        """Since it was asked last. Raises Win32Failure when the key is gone."""
        if not is_signalled(self.event):
            return False
        reset_event(self.event)
        notify(int(self._key), self.event)
        return True

    def close(self) -> None:
        self._key.Close()
        close(self.event)
