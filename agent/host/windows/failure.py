"""The one place where a Win32 failure becomes an error of the port.

A failed call raises pywin32's own exception, `pywintypes.error`, here called Win32Error: those of pywin32 and
those that are bound by ctypes alike.
"""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from agent.host import winerror
from agent.host.errors import HostError, host_error

if sys.platform == "win32":
    import pywintypes

    Win32Error = pywintypes.error
else:

    class Win32Error(Exception):
        """Stands for pywin32's exception where tests replace the calls that raise it."""

        def __init__(self, winerror: int, funcname: str, strerror: str) -> None:
            super().__init__(winerror, funcname, strerror)
            self.winerror = winerror


_FACILITY_WIN32 = 0x8007_0000

Advices = Mapping[int | type[HostError], str]
_NO_ADVICES: Advices = {}


def failed(code: int, call: str) -> Win32Error:
    """Return the exception for a call that failed with `code`. Windows' own text for it is left out."""
    return Win32Error(code, call, "")


def code_of(result: int) -> int:
    """Return the Win32 code in an HRESULT; one of another facility is a code of its own.

    pywin32 and ctypes read both as signed numbers.
    """
    result &= 0xFFFF_FFFF
    return result & 0xFFFF if result & 0xFFFF_0000 == _FACILITY_WIN32 else result


@contextmanager
def telling(action: str, subject: str, advice: str = "", *, advices: Advices = _NO_ADVICES) -> Iterator[None]:
    """What fails inside is told as: cannot `action` `subject`; `advice`, or what `advices` have for its code,
    or for its class.
    """
    try:
        yield
    except (Win32Error, OSError) as failure:
        # The standard library's own Windows modules (winreg, _winapi, socket) raise OSError. A few calls fail
        # without saying why.
        code = code_of(getattr(failure, "winerror", None) or winerror.ERROR_GEN_FAILURE)
        kind = type(host_error(action, subject, code))
        raise kind(action, subject, code, advices.get(code, advices.get(kind, advice))) from failure
