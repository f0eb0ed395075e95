"""Who may do what, as Windows judges it."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from typing import TYPE_CHECKING

from agent.host.principals import SIDS
from agent.host.sddl import FILE_ALL, SYSTEM, SecurityDescriptor, specific
from agent.host.windows.api import security
from agent.host.windows.failure import telling
from agent.records import replaced

if TYPE_CHECKING:
    from agent.host.port import Principal


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

    def caller(self) -> str:
        with telling("look into", "the token of this process"):
            return security.account_of_this_process()

    def sealed(self, secret: bytes) -> bytes:
        from agent.host.windows.api.data_protection import protected

        with telling("seal", "a secret"):
            return protected(secret)

    def unsealed(self, sealed: bytes) -> bytes:
        from agent.host.windows.api.data_protection import unprotected

        with telling("open", "a sealed secret", "only the machine that sealed it can"):
            return unprotected(sealed)


def judgeable(descriptor: SecurityDescriptor) -> SecurityDescriptor:
    """The same with what an access check insists on: a group, and no generic rights, for Authz maps none."""
    aces = descriptor.aces and tuple(replaced(ace, mask=specific(ace.mask)) for ace in descriptor.aces)
    return replaced(descriptor, group=descriptor.group or SYSTEM, aces=aces)
