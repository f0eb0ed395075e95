"""The SIDs of those for whom access is judged, once for both hosts: the account's own, then its groups'."""

from agent.host.port import Principal
from agent.host.sddl import ADMINISTRATORS, AUTHENTICATED_USERS, EVERYONE, INTERACTIVE, SYSTEM, USERS

# Accounts of no machine: what they may do comes from their groups alone.
_NOBODY = "S-1-5-21-4000000001-4000000002-4000000003"

SIDS = {
    Principal.SYSTEM: (SYSTEM, ADMINISTRATORS, EVERYONE, AUTHENTICATED_USERS),
    Principal.ADMINISTRATOR: (
        f"{_NOBODY}-500", ADMINISTRATORS, USERS, EVERYONE, AUTHENTICATED_USERS, INTERACTIVE,
    ),
    Principal.USER: (f"{_NOBODY}-1001", USERS, EVERYONE, AUTHENTICATED_USERS, INTERACTIVE),
}  # fmt: skip
