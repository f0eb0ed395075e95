"""Security descriptors and tokens (advapi32)."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
import struct
from contextlib import contextmanager
from ctypes import wintypes
from typing import TYPE_CHECKING

from agent.host.windows.api.binding import coded, dll, judged, succeeding

if TYPE_CHECKING:
    from collections.abc import Iterator

OWNER = 0x1
GROUP = 0x2
DACL = 0x4
PROTECTED_DACL = 0x8000_0000
UNPROTECTED_DACL = 0x2000_0000

BACKUP = "SeBackupPrivilege"
RESTORE = "SeRestorePrivilege"
TAKE_OWNERSHIP = "SeTakeOwnershipPrivilege"
SHUTDOWN = "SeShutdownPrivilege"

_SDDL_REVISION = 1
_ADJUST_PRIVILEGES = 0x20
_QUERY = 0x8
_ENABLED = 0x2
_WELL_KNOWN_ADMINISTRATORS = 26
_LARGEST_SID = 68
_TOKEN_USER = 1

_BOOL = wintypes.BOOL
_DWORD = wintypes.DWORD
_HANDLE = wintypes.HANDLE
_POINTER = ctypes.c_void_p
_TEXT = wintypes.LPCWSTR

_advapi32 = dll("advapi32")
_kernel32 = dll("kernel32")

_free = judged(_kernel32, "LocalFree", _POINTER, _POINTER)
_close = succeeding(_kernel32, "CloseHandle", _BOOL, _HANDLE)
_this_process = judged(_kernel32, "GetCurrentProcess", _HANDLE)
# fmt: off
_from_text = succeeding(
    _advapi32, "ConvertStringSecurityDescriptorToSecurityDescriptorW", _BOOL,
    _TEXT, _DWORD, ctypes.POINTER(_POINTER), ctypes.POINTER(_DWORD),
)
_to_text = succeeding(
    _advapi32, "ConvertSecurityDescriptorToStringSecurityDescriptorW", _BOOL,
    _POINTER, _DWORD, _DWORD, ctypes.POINTER(_POINTER), ctypes.POINTER(_DWORD),
)
_get_object_security = succeeding(
    _advapi32, "GetKernelObjectSecurity", _BOOL, _HANDLE, _DWORD, _POINTER, _DWORD, ctypes.POINTER(_DWORD)
)
_set_object_security = succeeding(_advapi32, "SetKernelObjectSecurity", _BOOL, _HANDLE, _DWORD, _POINTER)
_set_key_security = coded(_advapi32, "RegSetKeySecurity", _HANDLE, _DWORD, _POINTER)
_open_token = succeeding(_advapi32, "OpenProcessToken", _BOOL, _HANDLE, _DWORD, ctypes.POINTER(_HANDLE))
_get_token_information = succeeding(
    _advapi32, "GetTokenInformation", _BOOL, _HANDLE, ctypes.c_int, _POINTER, _DWORD, ctypes.POINTER(_DWORD)
)
_sid_to_text = succeeding(_advapi32, "ConvertSidToStringSidW", _BOOL, _POINTER, ctypes.POINTER(_POINTER))
_look_up_privilege = succeeding(
    _advapi32, "LookupPrivilegeValueW", _BOOL, _TEXT, _TEXT, ctypes.POINTER(ctypes.c_int64)
)
_adjust_privileges = succeeding(
    _advapi32, "AdjustTokenPrivileges", _BOOL, _HANDLE, _BOOL, _POINTER, _DWORD, _POINTER, _POINTER
)
_well_known_sid = succeeding(
    _advapi32, "CreateWellKnownSid", _BOOL, ctypes.c_int, _POINTER, _POINTER, ctypes.POINTER(_DWORD)
)
_check_membership = succeeding(
    _advapi32, "CheckTokenMembership", _BOOL, _HANDLE, _POINTER, ctypes.POINTER(_BOOL)
)
# fmt: on


@contextmanager
def binary_descriptor(text: str) -> Iterator[int]:
    """The address of a self-relative descriptor, valid inside the block."""
    address = _POINTER()
    _from_text(text, _SDDL_REVISION, address, None)
    try:
        yield address.value or 0
    finally:
        _free(address)


def descriptor_text(handle: int, parts: int) -> str:
    needed = _DWORD(1024)
    # A descriptor cannot be larger than 64 KiB, so once is enough.
    buffer = ctypes.create_string_buffer(0x1_0000)
    _get_object_security(handle, parts, buffer, len(buffer), needed)
    address = _POINTER()
    _to_text(buffer, _SDDL_REVISION, parts, address, None)
    try:
        return ctypes.wstring_at(address.value or 0)
    finally:
        _free(address)


def set_descriptor(handle: int, parts: int, text: str) -> None:
    with binary_descriptor(text) as address:
        _set_object_security(handle, parts, address)


def set_key_descriptor(key: int, parts: int, text: str) -> None:
    with binary_descriptor(text) as address:
        _set_key_security(key, parts, address)


def enable_privileges(*names: str) -> None:
    """For this process, as far as its token has them: what then fails for lack of one says so itself."""
    token = _HANDLE()
    _open_token(_this_process(), _ADJUST_PRIVILEGES | _QUERY, token)
    try:
        for name in names:
            found = ctypes.c_int64()
            _look_up_privilege(None, name, found)
            # TOKEN_PRIVILEGES of one, its LUID as one number
            wanted = struct.pack("<IqI", 1, found.value, _ENABLED)
            _adjust_privileges(token, False, wanted, 0, None, None)
    finally:
        _close(token)


def account_of_this_process() -> str:
    """Its SID."""
    token = _HANDLE()
    _open_token(_this_process(), _QUERY, token)
    try:
        # TOKEN_USER: where the SID lies, which is behind it in the same buffer
        buffer = ctypes.create_string_buffer(_LARGEST_SID + 2 * ctypes.sizeof(_POINTER))
        _get_token_information(token, _TOKEN_USER, buffer, len(buffer), _DWORD())
    finally:
        _close(token)
    text = _POINTER()
    _sid_to_text(_POINTER.from_buffer(buffer), text)
    try:
        return ctypes.wstring_at(text.value or 0)
    finally:
        _free(text)


def is_administrator() -> bool:
    """Whether Administrators is in this process' token and enabled: under UAC's limited token it isn't."""
    sid = ctypes.create_string_buffer(_LARGEST_SID)
    _well_known_sid(_WELL_KNOWN_ADMINISTRATORS, None, sid, _DWORD(_LARGEST_SID))
    member = _BOOL()
    _check_membership(None, sid, member)
    return bool(member.value)
