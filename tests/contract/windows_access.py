"""Access judged by Windows for accounts of which there is no token (authz)."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

import ctypes
from collections.abc import Sequence
from contextlib import ExitStack
from ctypes import wintypes

from agent.host.port import Principal
from agent.host.protection import SIDS
from agent.host.sddl import FILE_ALL, SecurityDescriptor
from agent.host.windows.api.binding import dll, judged, succeeding
from agent.host.windows.api.security import binary_descriptor
from contract.windows_access_checks import binary_sid, judgeable

_NO_AUDIT = 0x1
_SKIP_TOKEN_GROUPS = 0x2
"""The context has just the SIDs that it is given; nothing is asked of a domain."""
_ENABLED = 0x4
_MAXIMUM_ALLOWED = 0x0200_0000

_BOOL = wintypes.BOOL
_DWORD = wintypes.DWORD
_POINTER = ctypes.c_void_p


class _Luid(ctypes.Structure):
    """LUID"""

    _fields_ = (("low", _DWORD), ("high", wintypes.LONG))


class _SidAndAttributes(ctypes.Structure):
    """SID_AND_ATTRIBUTES"""

    _fields_ = (("sid", _POINTER), ("attributes", _DWORD))


class _Request(ctypes.Structure):
    """AUTHZ_ACCESS_REQUEST"""

    _fields_ = (
        ("desired", _DWORD),
        ("self", _POINTER),
        ("types", _POINTER),
        ("type_count", _DWORD),
        ("argument", _POINTER),
    )


class _Reply(ctypes.Structure):
    """AUTHZ_ACCESS_REPLY"""

    _fields_ = (
        ("count", _DWORD),
        ("granted", ctypes.POINTER(_DWORD)),
        ("audit", ctypes.POINTER(_DWORD)),
        ("error", ctypes.POINTER(_DWORD)),
    )


_authz = dll("authz")
# fmt: off
_make_manager = succeeding(
    _authz, "AuthzInitializeResourceManager", _BOOL,
    _DWORD, _POINTER, _POINTER, _POINTER, wintypes.LPCWSTR, ctypes.POINTER(_POINTER),
)
_free_manager = judged(_authz, "AuthzFreeResourceManager", _BOOL, _POINTER)
_make_context = succeeding(
    _authz, "AuthzInitializeContextFromSid", _BOOL,
    _DWORD, _POINTER, _POINTER, _POINTER, _Luid, _POINTER, ctypes.POINTER(_POINTER),
)
_add_sids = succeeding(
    _authz, "AuthzAddSidsToContext", _BOOL,
    _POINTER, ctypes.POINTER(_SidAndAttributes), _DWORD, _POINTER, _DWORD, ctypes.POINTER(_POINTER),
)
_free_context = judged(_authz, "AuthzFreeContext", _BOOL, _POINTER)
_check = succeeding(
    _authz, "AuthzAccessCheck", _BOOL,
    _DWORD, _POINTER, ctypes.POINTER(_Request), _POINTER, _POINTER, _POINTER, _DWORD,
    ctypes.POINTER(_Reply), _POINTER,
)
# fmt: on


def granted(descriptor: SecurityDescriptor, principal: Principal) -> int:
    """Return the access mask that Windows grants at most."""
    if descriptor.aces is None:
        return FILE_ALL
    user, *groups = SIDS[principal]
    with ExitStack() as made:
        manager = _POINTER()
        _make_manager(_NO_AUDIT, None, None, None, None, manager)
        made.callback(_free_manager, manager)
        context = _context(made, manager, user, groups)
        mask, audit, error = _DWORD(), _DWORD(), _DWORD()
        request = _Request(desired=_MAXIMUM_ALLOWED)
        reply = _Reply(1, ctypes.pointer(mask), ctypes.pointer(audit), ctypes.pointer(error))
        binary = binary_descriptor(str(judgeable(descriptor)))
        _check(0, context, request, None, binary, None, 0, reply, None)
        return mask.value


def _context(made: ExitStack, manager: ctypes.c_void_p, user: str, groups: Sequence[str]) -> ctypes.c_void_p:
    alone = _POINTER()
    sid = made.enter_context(binary_sid(user))
    _make_context(_SKIP_TOKEN_GROUPS, sid, manager, None, _Luid(), None, alone)
    made.callback(_free_context, alone)
    members = (_SidAndAttributes * len(groups))()
    for member, group in zip(members, groups, strict=True):
        member.sid, member.attributes = made.enter_context(binary_sid(group)), _ENABLED
    context = _POINTER()
    _add_sids(alone, members, len(groups), None, 0, context)
    made.callback(_free_context, context)
    return context
