"""The Host Compute Network API (computenetwork.dll), and what is left of the one before (vmcompute.dll)."""

import ctypes
import json
import uuid
from collections.abc import Callable, Sequence
from ctypes import wintypes
from functools import cache
from typing import Any

from agent.host import winerror
from agent.host.windows.api.binding import dll, judged
from agent.host.windows.failure import code_of, failed

NETWORK, ENDPOINT, LOAD_BALANCER = "Network", "Endpoint", "LoadBalancer"

_RESULT = ctypes.c_uint32
_TEXT = wintypes.LPCWSTR
_GIVEN = ctypes.POINTER(ctypes.c_void_p)
"""A text that has to be freed."""
_HANDLE = ctypes.c_void_p
_NEW_HANDLE = ctypes.POINTER(_HANDLE)
_GUID = ctypes.c_char_p

_PARAMETERS: dict[str, tuple[Any, ...]] = {
    "Enumerate": (_TEXT, _GIVEN, _GIVEN),
    "Open": (_GUID, _NEW_HANDLE, _GIVEN),
    "Query": (_HANDLE, _TEXT, _GIVEN, _GIVEN),
    "Create": (_GUID, _TEXT, _NEW_HANDLE, _GIVEN),
    "CreateIn": (_HANDLE, _GUID, _TEXT, _NEW_HANDLE, _GIVEN),
    "Delete": (_GUID, _GIVEN),
    "Close": (_HANDLE,),
}

_free = judged(dll("ole32"), "CoTaskMemFree", None, ctypes.c_void_p)


def identifiers(kind: str, query: str) -> Sequence[str]:
    found = ctypes.c_void_p()
    _ask(f"HcnEnumerate{kind}s", "Enumerate", query, ctypes.byref(found))
    listed: list[str] = json.loads(_taken(found) or "[]")
    return listed


def properties(kind: str, identifier: str, query: str) -> str:
    opened = _opened(kind, identifier)
    found = ctypes.c_void_p()
    try:
        _ask(f"HcnQuery{kind}Properties", "Query", opened, query, ctypes.byref(found))
        return _taken(found)
    finally:
        _close(kind, opened)


def create(kind: str, identifier: str, settings: str) -> None:
    made = _HANDLE()
    _ask(f"HcnCreate{kind}", "Create", _guid(identifier), settings, ctypes.byref(made))
    _close(kind, made)


def create_endpoint(network: str, identifier: str, settings: str) -> None:
    opened = _opened(NETWORK, network)
    made = _HANDLE()
    try:
        _ask("HcnCreateEndpoint", "CreateIn", opened, _guid(identifier), settings, ctypes.byref(made))
        _close(ENDPOINT, made)
    finally:
        _close(NETWORK, opened)


def delete(kind: str, identifier: str) -> None:
    _ask(f"HcnDelete{kind}", "Delete", _guid(identifier))


def attach_to_host(endpoint: str, settings: str) -> None:
    """By the API before: only its answer says whether it was done."""
    given = ctypes.c_void_p()
    call = judged(dll("vmcompute"), "HNSCall", _RESULT, _TEXT, _TEXT, _TEXT, _GIVEN)
    _check(call("POST", f"/endpoints/{endpoint}/attach", settings, ctypes.byref(given)), "HNSCall")
    answer = json.loads(_taken(given) or "{}")
    if not answer.get("Success"):
        raise failed(code_of(int(answer.get("ErrorCode") or winerror.ERROR_GEN_FAILURE)), "HNSCall attach")


def _opened(kind: str, identifier: str) -> ctypes.c_void_p:
    opened = _HANDLE()
    _ask(f"HcnOpen{kind}", "Open", _guid(identifier), ctypes.byref(opened))
    return opened


def _close(kind: str, handle: ctypes.c_void_p) -> None:
    _function(f"HcnClose{kind}", "Close")(handle)


def _ask(name: str, form: str, *arguments: Any) -> None:
    """Raises what the result says. The record of an error says no more than that, but has to be freed."""
    record = ctypes.c_void_p()
    result = _function(name, form)(*arguments, ctypes.byref(record))
    _taken(record)
    _check(result, name)


def _check(result: int, name: str) -> None:
    if result & 0x8000_0000:
        raise failed(code_of(result), name)


@cache
def _function(name: str, form: str) -> Callable[..., int]:
    return judged(dll("computenetwork"), name, _RESULT, *_PARAMETERS[form])


def _guid(identifier: str) -> bytes:
    return uuid.UUID(identifier).bytes_le


def _taken(text: ctypes.c_void_p) -> str:
    if not text.value:
        return ""
    try:
        return ctypes.wstring_at(text.value)
    finally:
        _free(text)
