"""Who may do what, as Windows judges it."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from dataclasses import replace

from agent.host.port import Principal
from agent.host.sddl import (
    ADMINISTRATORS,
    AUTHENTICATED_USERS,
    EVERYONE,
    FILE_ALL,
    INTERACTIVE,
    SYSTEM,
    USERS,
    SecurityDescriptor,
    specific,
)
from agent.host.windows.api import security
from agent.host.windows.failure import telling

# Accounts of no machine: what they may do comes from their groups alone.
_NOBODY = "S-1-5-21-4000000001-4000000002-4000000003"
SIDS = {
    Principal.SYSTEM: (SYSTEM, ADMINISTRATORS, EVERYONE, AUTHENTICATED_USERS),
    Principal.ADMINISTRATOR: (
        f"{_NOBODY}-500", ADMINISTRATORS, USERS, EVERYONE, AUTHENTICATED_USERS, INTERACTIVE,
    ),
    Principal.USER: (f"{_NOBODY}-1001", USERS, EVERYONE, AUTHENTICATED_USERS, INTERACTIVE),
}  # fmt: skip


class WindowsAccess:
    def granted(self, descriptor: SecurityDescriptor, principal: Principal) -> int:
        from agent.host.windows.api.authorization import granted

        if descriptor.aces is None:
            return FILE_ALL
        user, *groups = SIDS[principal]
        with telling("judge the access of", principal.value):
            return granted(str(judgeable(descriptor)), user, groups)

    def is_administrator(self) -> bool:
        with telling("look into", "the token of this process"):
            return security.is_administrator()


def judgeable(descriptor: SecurityDescriptor) -> SecurityDescriptor:
    """The same with what an access check insists on: a group, and no generic rights, for Authz maps none."""
    aces = descriptor.aces and tuple(replace(ace, mask=specific(ace.mask)) for ace in descriptor.aces)
    return replace(descriptor, group=descriptor.group or SYSTEM, aces=aces)
