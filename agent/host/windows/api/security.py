"""Security descriptors and this process' token, by pywin32."""

from __future__ import annotations

from typing import TYPE_CHECKING

import win32security

from agent.host import winerror
from agent.host.windows.failure import Win32Error

if TYPE_CHECKING:
    from _win32typing import PySECURITY_DESCRIPTOR


OWNER = win32security.OWNER_SECURITY_INFORMATION
GROUP = win32security.GROUP_SECURITY_INFORMATION
DACL = win32security.DACL_SECURITY_INFORMATION
# Signed, since pywin32 takes no others here.
PROTECTED_DACL = win32security.PROTECTED_DACL_SECURITY_INFORMATION
UNPROTECTED_DACL = win32security.UNPROTECTED_DACL_SECURITY_INFORMATION

BACKUP = win32security.SE_BACKUP_NAME
RESTORE = win32security.SE_RESTORE_NAME
TAKE_OWNERSHIP = win32security.SE_TAKE_OWNERSHIP_NAME
SHUTDOWN = win32security.SE_SHUTDOWN_NAME

_THIS_PROCESS = -1
"""What GetCurrentProcess returns; pywin32 has that in win32api, which loads shell32."""


def descriptor(text: str) -> PySECURITY_DESCRIPTOR:
    """Return pywin32's object for an SDDL string."""
    return win32security.ConvertStringSecurityDescriptorToSecurityDescriptor(
        text, win32security.SDDL_REVISION_1
    )


def binary_descriptor(text: str) -> bytes:
    """Return the self-relative descriptor for an SDDL string."""
    return bytes(descriptor(text))  # type: ignore[call-overload,no-any-return]  # it is a buffer


def descriptor_text(handle: int, parts: int) -> str:
    """Return as SDDL what an open file or other kernel object has of these parts."""
    try:
        found = win32security.GetKernelObjectSecurity(handle, parts)
    except Win32Error as failure:
        if failure.winerror != winerror.ERROR_INSUFFICIENT_BUFFER:
            raise
        # It grew after pywin32 had asked for its size.
        found = win32security.GetKernelObjectSecurity(handle, parts)
    text = win32security.ConvertSecurityDescriptorToStringSecurityDescriptor(
        found, win32security.SDDL_REVISION_1, parts
    )
    return str(text)


def set_descriptor(handle: int, parts: int, text: str) -> None:
    """Give an open file or other kernel object these parts of the descriptor, and nothing below it."""
    win32security.SetKernelObjectSecurity(handle, parts, descriptor(text))


def enable_privileges(*names: str) -> None:
    """For this process, as far as its token has them: what then fails for lack of one says so itself."""
    access = win32security.TOKEN_ADJUST_PRIVILEGES | win32security.TOKEN_QUERY
    token = win32security.OpenProcessToken(_THIS_PROCESS, access)
    for name in names:
        enabled = [(win32security.LookupPrivilegeValue("", name), win32security.SE_PRIVILEGE_ENABLED)]
        # What the types say of it is not what it takes.
        win32security.AdjustTokenPrivileges(token, False, enabled)  # type: ignore[arg-type]


def account_of_this_process() -> str:
    """Return its SID."""
    token = win32security.OpenProcessToken(_THIS_PROCESS, win32security.TOKEN_QUERY)
    user, _ = win32security.GetTokenInformation(token, win32security.TokenUser)
    return win32security.ConvertSidToStringSid(user)


def is_administrator() -> bool:
    """Whether Administrators is in this process' token and enabled: under UAC's limited token it isn't."""
    administrators = win32security.CreateWellKnownSid(win32security.WinBuiltinAdministratorsSid)
    this_thread = 0
    return bool(win32security.CheckTokenMembership(this_thread, administrators))
