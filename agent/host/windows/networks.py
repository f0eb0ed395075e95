"""Container networks, by the Host Compute Network API (computenetwork.dll), and in part by the one before."""

import ctypes
import json
import uuid
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from ctypes import wintypes
from functools import cache
from typing import Any, TypeVar

from agent.host import hcn_documents, winerror
from agent.host.networks import ContainerNetwork, LoadBalancer, NetworkEndpoint
from agent.host.windows.api.binding import dll, judged
from agent.host.windows.failure import Advices, Win32Error, code_of, failed, telling

T = TypeVar("T")

_NETWORK, _ENDPOINT, _LOAD_BALANCER = "Network", "Endpoint", "LoadBalancer"
_PLURALS = {
    _NETWORK: "container networks",
    _ENDPOINT: "network endpoints",
    _LOAD_BALANCER: "load balancers",
}
_ADVICES: Advices = {
    winerror.ERROR_MOD_NOT_FOUND: "install the Windows feature Containers",
    # Asking starts it, if that can be.
    **dict.fromkeys(
        (winerror.RPC_S_SERVER_UNAVAILABLE, winerror.EPT_S_NOT_REGISTERED, winerror.HCN_E_MANAGER_STOPPED),
        "see why the service hns does not run",
    ),
}
_GONE = {winerror.HCN_E_NETWORK_NOT_FOUND, winerror.HCN_E_ENDPOINT_NOT_FOUND, winerror.ERROR_NOT_FOUND}

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


class WindowsNetworks:
    """What it needs is loaded when it is asked: most machines' documents name no network."""

    def list(self) -> Sequence[ContainerNetwork]:
        return self._all(_NETWORK, hcn_documents.network)

    def endpoints(self) -> Sequence[NetworkEndpoint]:
        return self._all(_ENDPOINT, hcn_documents.endpoint)

    def load_balancers(self) -> Sequence[LoadBalancer]:
        return self._all(_LOAD_BALANCER, hcn_documents.load_balancer)

    def create(self, network: ContainerNetwork) -> None:
        advice = "" if network.adapter is None else f"is there an adapter {network.adapter}?"
        settings, made = json.dumps(hcn_documents.of_network(network)), _HANDLE()
        with _telling("create", f"network {network.name}", advice):
            _ask("HcnCreateNetwork", "Create", _guid(network.id), settings, ctypes.byref(made))
            _close(_NETWORK, made)

    def delete(self, network: str) -> None:
        _delete(_NETWORK, network, f"network {network}")

    def create_endpoint(self, endpoint: NetworkEndpoint) -> None:
        settings, made = json.dumps(hcn_documents.of_endpoint(endpoint)), _HANDLE()
        with _telling("create", f"network endpoint {endpoint.name}"):
            network, identifier = _opened(_NETWORK, endpoint.network), _guid(endpoint.id)
            try:
                _ask("HcnCreateEndpoint", "CreateIn", network, identifier, settings, ctypes.byref(made))
                _close(_ENDPOINT, made)
            finally:
                _close(_NETWORK, network)

    def attach(self, endpoint: str) -> None:
        """By the API before (vmcompute.dll): only its answer says whether it was done."""
        given = ctypes.c_void_p()
        path = f"/endpoints/{endpoint}/attach"
        with _telling("attach to this machine", f"network endpoint {endpoint}"):
            call = judged(dll("vmcompute"), "HNSCall", _RESULT, _TEXT, _TEXT, _TEXT, _GIVEN)
            _check(call("POST", path, hcn_documents.ATTACH_TO_HOST, ctypes.byref(given)), "HNSCall")
            answer = json.loads(_taken(given) or "{}")
            if not answer.get("Success"):
                code = int(answer.get("ErrorCode") or winerror.ERROR_GEN_FAILURE)
                raise failed(code_of(code), "HNSCall attach")

    def delete_endpoint(self, endpoint: str) -> None:
        _delete(_ENDPOINT, endpoint, f"network endpoint {endpoint}")

    def delete_load_balancer(self, load_balancer: str) -> None:
        _delete(_LOAD_BALANCER, load_balancer, f"load balancer {load_balancer}")

    def _all(self, kind: str, read: Callable[[str, dict[str, Any]], T]) -> Sequence[T]:
        found, listed = [], ctypes.c_void_p()
        with _telling("list", _PLURALS[kind]):
            _ask(f"HcnEnumerate{kind}s", "Enumerate", hcn_documents.QUERY, ctypes.byref(listed))
            for each in json.loads(_taken(listed) or "[]"):
                try:
                    document = _properties(kind, each)
                except Win32Error as failure:
                    if failure.winerror not in _GONE:  # it was there a moment ago
                        raise
                else:
                    found.append(read(each, json.loads(document)))
        return found


def _telling(action: str, subject: str, advice: str = "") -> AbstractContextManager[None]:
    return telling(action, subject, advice, advices=_ADVICES)


def _properties(kind: str, identifier: str) -> str:
    opened = _opened(kind, identifier)
    found = ctypes.c_void_p()
    try:
        _ask(f"HcnQuery{kind}Properties", "Query", opened, hcn_documents.QUERY, ctypes.byref(found))
        return _taken(found)
    finally:
        _close(kind, opened)


def _delete(kind: str, identifier: str, subject: str) -> None:
    with _telling("delete", subject):
        _ask(f"HcnDelete{kind}", "Delete", _guid(identifier))


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
