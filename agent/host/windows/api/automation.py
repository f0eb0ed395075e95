"""COM classes that are asked by name (IDispatch), as scripts ask them.

By pythoncom alone: it turns Python's values into Windows' in C, for which ctypes would need a library of its
own; win32com.client, which wraps the same, costs the resident service 5 MB more.
"""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import pythoncom
import pywintypes

from agent.host.windows.failure import Win32Failure

if TYPE_CHECKING:
    from collections.abc import Iterator

_NEUTRAL = 0
_EVERY = -4  # DISPID_NEWENUM
_AT_ONCE = 64
_WIN32 = 0x8007_0000
_SOMETHING_RAISED = 0x8002_0009  # DISP_E_EXCEPTION: what it was stands beside it
_SCODE = 5


class Automated:
    """An object of a COM class. Its failures are Win32Failure, by code."""

    def __init__(self, dispatch: Any) -> None:
        self._dispatch = dispatch

    @classmethod
    def create(cls, class_id: str) -> Self:
        # Once more does no harm, and it ends with the thread: what is released after an end crashes.
        pythoncom.CoInitialize()
        with _coded(class_id):
            return cls(
                pythoncom.CoCreateInstance(
                    pywintypes.IID(class_id), None, pythoncom.CLSCTX_INPROC_SERVER, pythoncom.IID_IDispatch
                )
            )

    def get(self, name: str, *arguments: object) -> Any:
        return self._invoke(name, pythoncom.DISPATCH_PROPERTYGET, arguments)

    def put(self, name: str, value: object) -> None:
        self._invoke(name, pythoncom.DISPATCH_PROPERTYPUT, (value,))

    def call(self, name: str, *arguments: object) -> Any:
        # As scripts do, who cannot tell the two apart either.
        return self._invoke(name, pythoncom.DISPATCH_METHOD | pythoncom.DISPATCH_PROPERTYGET, arguments)

    def __iter__(self) -> Iterator[Any]:
        with _coded("enumeration"):
            how = pythoncom.DISPATCH_METHOD | pythoncom.DISPATCH_PROPERTYGET
            unknown = self._dispatch.Invoke(_EVERY, _NEUTRAL, how, True)
            variants = unknown.QueryInterface(pythoncom.IID_IEnumVARIANT)
        while True:
            with _coded("enumeration"):
                found = variants.Next(_AT_ONCE)
            if not found:
                return
            yield from map(_wrapped, found)

    def _invoke(self, name: str, how: int, arguments: tuple[object, ...]) -> Any:
        with _coded(name):
            member = self._dispatch.GetIDsOfNames(name)
            is_asked = how != pythoncom.DISPATCH_PROPERTYPUT
            given = [each._dispatch if isinstance(each, Automated) else each for each in arguments]
            return _wrapped(self._dispatch.Invoke(member, _NEUTRAL, how, is_asked, *given))


def _wrapped(value: Any) -> Any:
    return Automated(value) if hasattr(value, "GetIDsOfNames") else value


@contextmanager
def _coded(what: str) -> Iterator[None]:
    try:
        yield
    except pythoncom.com_error as fault:
        number, _, raised, _ = fault.args
        if number & 0xFFFF_FFFF == _SOMETHING_RAISED and raised:
            number = raised[_SCODE]
        result = number & 0xFFFF_FFFF
        # An HRESULT of Win32's facility holds an error code of Windows'; others are their own.
        code = result & 0xFFFF if result & 0xFFFF_0000 == _WIN32 else result
        raise Win32Failure(code, what) from None
