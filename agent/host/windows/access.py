"""Who may do what, as Windows judges it."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from typing import TYPE_CHECKING

from agent.host.port import Principal
from agent.host.sddl import (
    ADMINISTRATORS,
    AUTHENTICATED_USERS,
    EVERYONE,
    INTERACTIVE,
    SYSTEM,
    USERS,
)
from agent.host.windows.api import security
from agent.host.windows.failure import telling

if TYPE_CHECKING:
    from agent.host.sddl import SecurityDescriptor

# Accounts of no machine: what they may do comes from their groups alone.
_NOBODY = "S-1-5-21-4000000001-4000000002-4000000003"
_SIDS = {
    Principal.SYSTEM: (SYSTEM, ADMINISTRATORS, EVERYONE, AUTHENTICATED_USERS),
    Principal.ADMINISTRATOR: (
        f"{_NOBODY}-500", ADMINISTRATORS, USERS, EVERYONE, AUTHENTICATED_USERS, INTERACTIVE,
    ),
    Principal.USER: (f"{_NOBODY}-1001", USERS, EVERYONE, AUTHENTICATED_USERS, INTERACTIVE),
}  # fmt: skip


class WindowsAccess:
    def granted(self, descriptor: SecurityDescriptor, principal: Principal) -> int:
        from agent.host.windows.api.authorization import granted

        user, *groups = _SIDS[principal]
        with telling("judge the access of", principal.value):
            return granted(str(descriptor), user, groups)

    def is_administrator(self) -> bool:
        with telling("look into", "the token of this process"):
            return security.is_administrator()
