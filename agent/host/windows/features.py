"""The Containers feature, by WMI: there is no other documented way without DISM.

pywin32, since COM by ctypes would be a library of its own; only preflight asks, so only it pays.
"""

from __future__ import annotations

import sys

assert sys.platform == "win32"

_ENABLED = 1
_DISABLED_OR_ABSENT = {2, 3}


_QUESTION = "SELECT InstallState FROM Win32_OptionalFeature WHERE Name = 'Containers'"


def containers() -> bool | None:
    """Whether it is installed; None where this Windows doesn't know the feature, or WMI cannot tell."""
    import pythoncom
    import win32com.client

    pythoncom.CoInitialize()
    try:
        management = win32com.client.GetObject("winmgmts:root\\cimv2")
        states = [feature.InstallState for feature in management.ExecQuery(_QUESTION)]
    except pythoncom.com_error:
        return None
    finally:
        pythoncom.CoUninitialize()
    if states == [_ENABLED]:
        return True
    return False if states and states[0] in _DISABLED_OR_ABSENT else None
