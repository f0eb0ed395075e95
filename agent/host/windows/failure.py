"""The one place where a Win32 failure becomes an error of the port."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent.host.errors import host_error

if TYPE_CHECKING:
    from collections.abc import Iterator

_GENERAL_FAILURE = 31
"""ERROR_GEN_FAILURE, for the few calls that fail without saying why."""


_WIN32 = 0x8007_0000


def code_of(result: int) -> int:
    """Of an HRESULT: the code of Win32 that is in it; those of other facilities are codes of their own."""
    result &= 0xFFFF_FFFF
    return result & 0xFFFF if result & 0xFFFF_0000 == _WIN32 else result


class Win32Failure(Exception):
    """A Win32 call failed with `code`. Never leaves this package: `telling` makes a HostError of it."""

    def __init__(self, code: int, call: str) -> None:
        super().__init__(f"{call} failed with Windows error {code}")
        self.code = code or _GENERAL_FAILURE


@contextmanager
def telling(action: str, subject: str, advice: str = "") -> Iterator[None]:
    """What fails inside is told as: cannot `action` `subject`; `advice`."""
    try:
        yield
    except Win32Failure as failure:
        raise host_error(action, subject, failure.code, advice) from failure
    except OSError as failure:
        # The standard library's own Windows modules (winreg, _winapi, socket).
        code = getattr(failure, "winerror", None) or _GENERAL_FAILURE
        raise host_error(action, subject, code, advice) from failure
