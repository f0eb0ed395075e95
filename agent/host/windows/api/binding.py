"""How a function of a DLL is declared, so that its failure is raised where it happens."""

import ctypes
from collections.abc import Callable
from typing import Any

from agent.host import winerror
from agent.host.windows.failure import Win32Error, code_of, failed

_SYSTEM32_ONLY = 0x0800
"""LOAD_LIBRARY_SEARCH_SYSTEM32: a DLL planted beside the exe or in the current folder is never taken."""


def dll(name: str) -> ctypes.WinDLL:
    try:
        return ctypes.WinDLL(name, use_last_error=True, winmode=_SYSTEM32_ONLY)
    except OSError as failure:
        # Neither ctypes' error nor PyInstaller's, which in the exe is raised from that, has Windows' code.
        if FileNotFoundError in (type(failure), type(failure.__cause__)):
            raise failed(winerror.ERROR_MOD_NOT_FOUND, f"{name}.dll") from None
        raise


def succeeding(library: ctypes.WinDLL, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """A function whose zero or NULL is failure, explained by GetLastError."""

    def check(value: Any, *_: Any) -> Any:
        if not value:
            raise last_failure(name)
        return value

    return _declared(library, name, result, arguments, check)


def last_failure(call: str) -> Win32Error:
    """By GetLastError, which is signed here: the HRESULTs that crypt32 leaves there would be below zero."""
    return failed(code_of(ctypes.get_last_error()), call)


def coded(library: ctypes.WinDLL, name: str, *arguments: Any) -> Callable[..., None]:
    """A function whose result is an error code."""

    def check(value: Any, *_: Any) -> None:
        if value:
            raise failed(value, name)

    return _declared(library, name, ctypes.c_uint32, arguments, check)


def judged(library: ctypes.WinDLL, name: str, result: Any, *arguments: Any) -> Callable[..., Any]:
    """A function whose result the caller judges."""
    return _declared(library, name, result, arguments, None)


def _declared(
    library: ctypes.WinDLL, name: str, result: Any, arguments: tuple[Any, ...], check: Any
) -> Callable[..., Any]:
    function: Any = getattr(library, name)
    function.argtypes = arguments
    function.restype = result
    if check is not None:
        function.errcheck = check
    return function  # type: ignore[no-any-return]
