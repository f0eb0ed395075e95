"""COM classes that are asked by name (IDispatch), as scripts ask them (ole32, oleaut32).

pywin32 can do it, and costs the resident service 4 MB more: to turn values over it loads a package. What is
turned over here are texts, numbers, yes and no, objects, and lists of texts.
"""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
from ctypes import wintypes
from typing import TYPE_CHECKING, Any

from agent.host import winerror
from agent.host.windows.api.binding import dll, judged
from agent.host.windows.failure import code_of, failed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_POINTER = ctypes.c_void_p
_RESULT = ctypes.c_int32
_GUID = ctypes.c_byte * 16
_DISPATCH = "{00020400-0000-0000-C000-000000000046}"
_ENUMERATION = "{00020404-0000-0000-C000-000000000046}"
_IN_PROCESS = 1
_OF_THIS_THREAD = 2

_METHOD, _GET, _PUT = 1, 2, 4
_EACH, _VALUE = -4, -3  # DISPID_NEWENUM, DISPID_PROPERTYPUT

_NUMBER, _TEXT, _OBJECT, _TRUTH, _VARIANT, _INTERFACE, _LIST = 3, 8, 9, 11, 12, 13, 0x2000
_NOTHING = (0, 1)
_WHOLE = {2: "short", 3: "number", 16: "byte", 17: "byte", 18: "short", 19: "number", 22: "number"}


class _Value(ctypes.Union):
    _fields_ = (
        ("byte", ctypes.c_uint8),
        ("short", ctypes.c_int16),
        ("number", ctypes.c_int32),
        ("pointer", _POINTER),
        ("record", _POINTER * 2),
    )


class _Variant(ctypes.Structure):
    _fields_ = (("type", ctypes.c_uint16), ("reserved", ctypes.c_uint16 * 3), ("value", _Value))


class _Arguments(ctypes.Structure):
    """DISPPARAMS"""

    _fields_ = (
        ("values", ctypes.POINTER(_Variant)),
        ("names", ctypes.POINTER(ctypes.c_int32)),
        ("count", wintypes.UINT),
        ("named", wintypes.UINT),
    )


class _Raised(ctypes.Structure):
    """EXCEPINFO"""

    _fields_ = (
        ("code", wintypes.WORD),
        ("reserved", wintypes.WORD),
        ("texts", _POINTER * 3),
        ("help", wintypes.DWORD),
        ("more", _POINTER * 2),
        ("result", ctypes.c_int32),
    )


_ole32 = dll("ole32")
_initialize = judged(_ole32, "CoInitializeEx", _RESULT, _POINTER, wintypes.DWORD)
_identify = judged(_ole32, "CLSIDFromString", _RESULT, wintypes.LPCWSTR, _POINTER)
_create = judged(
    _ole32,
    "CoCreateInstance",
    _RESULT,
    _POINTER,
    _POINTER,
    wintypes.DWORD,
    _POINTER,
    ctypes.POINTER(_POINTER),
)
_oleaut32 = dll("oleaut32")
_new_text = judged(_oleaut32, "SysAllocStringLen", _POINTER, wintypes.LPCWSTR, wintypes.UINT)
_length = judged(_oleaut32, "SysStringLen", wintypes.UINT, _POINTER)
_free_text = judged(_oleaut32, "SysFreeString", None, _POINTER)
_clear = judged(_oleaut32, "VariantClear", _RESULT, ctypes.POINTER(_Variant))
_new_list = judged(
    _oleaut32, "SafeArrayCreateVector", _POINTER, wintypes.USHORT, wintypes.LONG, wintypes.ULONG
)
_end = judged(
    _oleaut32, "SafeArrayGetUBound", _RESULT, _POINTER, wintypes.UINT, ctypes.POINTER(wintypes.LONG)
)
_put_item = judged(
    _oleaut32, "SafeArrayPutElement", _RESULT, _POINTER, ctypes.POINTER(wintypes.LONG), _POINTER
)
_get_item = judged(
    _oleaut32, "SafeArrayGetElement", _RESULT, _POINTER, ctypes.POINTER(wintypes.LONG), _POINTER
)

# By their places in the table of functions that every object begins with.
_query = ctypes.WINFUNCTYPE(_RESULT, _POINTER, ctypes.POINTER(_POINTER))(0, "QueryInterface")
_add_reference = ctypes.WINFUNCTYPE(wintypes.ULONG)(1, "AddRef")
_release = ctypes.WINFUNCTYPE(wintypes.ULONG)(2, "Release")
_next = ctypes.WINFUNCTYPE(_RESULT, wintypes.ULONG, _POINTER, ctypes.POINTER(wintypes.ULONG))(3, "Next")
_find_name = ctypes.WINFUNCTYPE(
    _RESULT, _POINTER, ctypes.POINTER(wintypes.LPWSTR), wintypes.UINT, wintypes.DWORD, _POINTER
)(5, "GetIDsOfNames")
_invoke = ctypes.WINFUNCTYPE(
    _RESULT, ctypes.c_int32, _POINTER, wintypes.DWORD, wintypes.WORD, _POINTER, _POINTER, _POINTER, _POINTER
)(6, "Invoke")


class Automated:
    """An object of a COM class, for the thread that made it. Its failures are Win32Error, by code."""

    def __init__(self, pointer: ctypes.c_void_p) -> None:
        """Takes a reference over."""
        self._pointer = pointer

    def __del__(self) -> None:
        _release(self._pointer)

    @classmethod
    def create(cls, class_id: str) -> Automated:
        # Once more does no harm, and it ends with the thread: what is released after an end crashes.
        _initialize(None, _OF_THIS_THREAD)
        made = _POINTER()
        _check(_create(_guid(class_id), None, _IN_PROCESS, _guid(_DISPATCH), made), class_id)
        return cls(made)

    def get(self, name: str) -> Any:
        return self._ask(name, _GET, ())

    def put(self, name: str, value: object) -> None:
        self._ask(name, _PUT, (value,))

    def call(self, name: str, *arguments: object) -> Any:
        # As scripts do, who cannot tell a method and a property with arguments apart.
        return self._ask(name, _METHOD | _GET, arguments)

    def __iter__(self) -> Iterator[Any]:
        each = self._invoked("enumeration", _EACH, _METHOD | _GET, ())
        assert isinstance(each, Automated)
        found = _POINTER()
        _check(_query(each._pointer, _guid(_ENUMERATION), found), "enumeration")
        enumeration = Automated(found)
        while True:
            item, count = _Variant(), wintypes.ULONG()
            _check(_next(enumeration._pointer, 1, ctypes.byref(item), count), "enumeration")
            if not count:
                return
            yield _taken(item)

    def _ask(self, name: str, how: int, arguments: Sequence[object]) -> Any:
        number = ctypes.c_int32()
        asked = wintypes.LPWSTR(name)
        _check(_find_name(self._pointer, _nobody(), asked, 1, 0, ctypes.byref(number)), name)
        return self._invoked(name, number.value, how, arguments)

    def _invoked(self, name: str, number: int, how: int, arguments: Sequence[object]) -> Any:
        values = (_Variant * max(1, len(arguments)))(*map(_given, reversed(arguments)))
        of_put = ctypes.c_int32(_VALUE)
        named = how == _PUT
        given = _Arguments(values, ctypes.pointer(of_put) if named else None, len(arguments), int(named))
        answer, raised = _Variant(), _Raised()
        answered = None if named else ctypes.byref(answer)
        try:
            result = _invoke(
                self._pointer,
                number,
                _nobody(),
                0,
                how,
                ctypes.byref(given),
                answered,
                ctypes.byref(raised),
                None,
            )
        finally:
            for value in values:
                _clear(value)
        for text in raised.texts:
            _free_text(text)
        _check(raised.result if result & 0xFFFF_FFFF == winerror.DISP_E_EXCEPTION else result, name)
        return _taken(answer)


def _guid(text: str) -> Any:
    found = _GUID()
    _check(_identify(text, found), text)
    return found


def _nobody() -> Any:
    """IID_NULL, where something is reserved."""
    return _GUID()


def _check(result: int, what: str) -> None:
    if result < 0:
        raise failed(code_of(result), what)


def _given(value: object) -> _Variant:
    made = _Variant()
    if isinstance(value, bool):
        made.type, made.value.short = _TRUTH, -1 if value else 0
    elif isinstance(value, int):
        made.type, made.value.number = _NUMBER, value
    elif isinstance(value, str):
        made.type, made.value.pointer = _TEXT, _new_text(value, len(value.encode("utf-16-le")) // 2)
    elif isinstance(value, Automated):
        _add_reference(value._pointer)
        made.type, made.value.pointer = _OBJECT, value._pointer.value
    elif isinstance(value, tuple):
        made.type, made.value.pointer = _LIST | _VARIANT, _list(value)
    else:
        raise failed(0x8002_0005, type(value).__name__)
    return made


def _list(values: tuple[object, ...]) -> int:
    made: int = _new_list(_VARIANT, 0, len(values))
    for at, value in enumerate(values):
        item = _given(value)
        _put_item(made, wintypes.LONG(at), ctypes.byref(item))  # a copy
        _clear(item)
    return made


def _taken(found: _Variant) -> Any:
    """Its value, and nothing that would have to be freed is left."""
    if found.type in (_OBJECT, _INTERFACE):
        return Automated(_POINTER(found.value.pointer)) if found.value.pointer else None
    try:
        return _read(found)
    finally:
        _clear(found)


def _read(found: _Variant) -> Any:
    if found.type in _NOTHING:
        return None
    if found.type == _TEXT:
        text = found.value.pointer
        return ctypes.wstring_at(text, _length(text)) if text else ""
    if found.type == _TRUTH:
        return bool(found.value.short)
    if found.type in _WHOLE:
        return getattr(found.value, _WHOLE[found.type])
    if found.type in (_LIST | _VARIANT, _LIST | _TEXT):
        return tuple(_items(found.value.pointer, found.type & ~_LIST))
    raise failed(0x8002_0005, f"VARIANT of type {found.type}")


def _items(values: int, kind: int) -> Iterator[Any]:
    last = wintypes.LONG()
    _end(values, 1, last)
    for at in range(last.value + 1):
        item = _Variant()
        if kind == _TEXT:
            item.type = _TEXT
            place = ctypes.byref(item, _Variant.value.offset)
        else:
            place = ctypes.byref(item)
        _check(_get_item(values, wintypes.LONG(at), place), "list")
        yield _taken(item)
