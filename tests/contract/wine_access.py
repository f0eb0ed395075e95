"""Access judged for tokens in place of Authz, which Wine does not have: by Wine's own AccessCheck.

A token for anybody takes a privilege on Windows that only its logon has; under Wine everybody may make one.
"""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
from collections.abc import Sequence
from contextlib import ExitStack
from ctypes import wintypes

from agent.host.port import Principal
from agent.host.protection import SIDS
from agent.host.sddl import FILE_ALL, FILE_EXECUTE, FILE_READ, FILE_WRITE, SecurityDescriptor
from agent.host.windows.api.binding import dll, judged, succeeding
from agent.host.windows.api.security import account_of_this_process, binary_descriptor
from contract.windows_access_checks import binary_sid, judgeable

_ENABLED = 0x7
_ALL_ACCESS = 0xF01FF
_IMPERSONATION = 2

_DWORD = wintypes.DWORD
_POINTER = ctypes.c_void_p


class _SidAndAttributes(ctypes.Structure):
    _fields_ = (("sid", _POINTER), ("attributes", _DWORD))


class _Groups(ctypes.Structure):
    _fields_ = (("count", _DWORD), ("groups", _SidAndAttributes * 8))


class _Quality(ctypes.Structure):
    _fields_ = (("size", _DWORD), ("level", _DWORD), ("dynamic", ctypes.c_byte), ("effective", ctypes.c_byte))


class _ObjectAttributes(ctypes.Structure):
    _fields_ = (
        ("size", wintypes.ULONG),
        ("root", wintypes.HANDLE),
        ("name", _POINTER),
        ("attributes", wintypes.ULONG),
        ("descriptor", _POINTER),
        ("quality", ctypes.POINTER(_Quality)),
    )


_ntdll = dll("ntdll")
_advapi32 = dll("advapi32")
# fmt: off
_create_token = judged(
    _ntdll, "NtCreateToken", ctypes.c_uint32,
    ctypes.POINTER(wintypes.HANDLE), _DWORD, ctypes.POINTER(_ObjectAttributes), ctypes.c_int, _POINTER,
    _POINTER, ctypes.POINTER(_SidAndAttributes), ctypes.POINTER(_Groups), _POINTER, _POINTER, _POINTER,
    _POINTER, _POINTER,
)
_close = judged(_ntdll, "NtClose", ctypes.c_uint32, wintypes.HANDLE)
_access_check = succeeding(
    _advapi32, "AccessCheck", wintypes.BOOL,
    _POINTER, wintypes.HANDLE, _DWORD, _POINTER, _POINTER, ctypes.POINTER(_DWORD), ctypes.POINTER(_DWORD),
    ctypes.POINTER(wintypes.BOOL),
)
# fmt: on


def granted(descriptor: SecurityDescriptor, principal: Principal) -> int:
    """Return the access mask that Wine grants at most."""
    if descriptor.aces is None:
        return FILE_ALL
    user, *groups = SIDS[principal]
    if principal is Principal.ADMINISTRATOR:
        # Wine runs as this account, and writes the files' owner where Windows has Administrators.
        user = account_of_this_process()
    with ExitStack() as made:
        token = _token(made, user, groups)
        binary = binary_descriptor(str(judgeable(descriptor)))
        rights = (1 << bit for bit in range(32) if FILE_ALL & 1 << bit)
        return sum(right for right in rights if _allows(binary, token, right))


def _allows(descriptor: bytes, token: wintypes.HANDLE, right: int) -> bool:
    """Right by right: asked for the most that is allowed, Wine takes any denial for a denial of all."""
    mapping = (_DWORD * 4)(FILE_READ, FILE_WRITE, FILE_EXECUTE, FILE_ALL)
    privileges, size = ctypes.create_string_buffer(256), _DWORD(256)
    mask, allowed = _DWORD(), wintypes.BOOL()
    _access_check(descriptor, token, right, mapping, privileges, size, mask, allowed)
    return bool(allowed)


def _token(made: ExitStack, user: str, groups: Sequence[str]) -> wintypes.HANDLE:
    quality = _Quality(ctypes.sizeof(_Quality), _IMPERSONATION)
    attributes = _ObjectAttributes(ctypes.sizeof(_ObjectAttributes), quality=ctypes.pointer(quality))
    members = _Groups(len(groups))
    for place, group in enumerate(groups):
        members.groups[place] = _SidAndAttributes(made.enter_context(binary_sid(group)), _ENABLED)
    sid = made.enter_context(binary_sid(user))
    owner, primary_group = (_POINTER * 1)(sid), (_POINTER * 1)(members.groups[0].sid)
    token = wintypes.HANDLE()
    nothing = (ctypes.c_uint64 * 2)()
    never = ctypes.byref(ctypes.c_int64(0x7FFF_FFFF_FFFF_FFFF))
    # fmt: off
    status = _create_token(
        token, _ALL_ACCESS, attributes, _IMPERSONATION, nothing, never, _SidAndAttributes(sid, 0), members,
        nothing, owner, primary_group, nothing, nothing,
    )
    # fmt: on
    assert status == 0, f"NtCreateToken: {status:#x}"
    made.callback(_close, token)
    return token
