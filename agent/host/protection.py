"""The security descriptors of everything that the product puts on a machine, each with its reason.

All are owned by Administrators, so that no single account keeps an owner's rights, and protected, so that
nothing a folder above grants (C:\\ lets every user make folders, and ProgramData files) comes in.
"""

from __future__ import annotations

from agent.host.sddl import (
    ADMINISTRATORS,
    FILE_ALL,
    FILE_EXECUTE,
    FILE_READ,
    KEY_ALL,
    SYSTEM,
    USERS,
    Ace,
    AceFlags,
    SecurityDescriptor,
    allow,
)

_INHERITED = AceFlags.OBJECT_INHERIT | AceFlags.CONTAINER_INHERIT


def _protected(*aces: Ace) -> SecurityDescriptor:
    return SecurityDescriptor(owner=ADMINISTRATORS, group=ADMINISTRATORS, aces=aces, protected=True)


# Keys, tokens, kubeconfigs, and whatever tells the kubelet and this program what to do: reading them is
# being the node, writing them is being SYSTEM on it.
PRIVATE_FILE = _protected(allow(SYSTEM, FILE_ALL), allow(ADMINISTRATORS, FILE_ALL))

# C:\etc\kubernetes, C:\var\lib\kubelet, C:\ProgramData\wmcb. What the kubelet makes inside is covered too.
PRIVATE_DIRECTORY = _protected(
    allow(SYSTEM, FILE_ALL, _INHERITED), allow(ADMINISTRATORS, FILE_ALL, _INHERITED)
)

# Programs that run as SYSTEM. Users may run them (`kubectl`, `wmcb version`), but whoever could write one,
# or put a DLL beside one, would be SYSTEM.
PROGRAM_FILE = _protected(
    allow(SYSTEM, FILE_ALL), allow(ADMINISTRATORS, FILE_ALL), allow(USERS, FILE_READ | FILE_EXECUTE)
)
PROGRAM_DIRECTORY = _protected(
    allow(SYSTEM, FILE_ALL, _INHERITED),
    allow(ADMINISTRATORS, FILE_ALL, _INHERITED),
    allow(USERS, FILE_READ | FILE_EXECUTE, _INHERITED),
)

# A service's key in the registry, once it holds environment variables: a proxy's password may be among
# them, and every user can read the key as Windows makes it.
SERVICE_KEY = _protected(
    allow(SYSTEM, KEY_ALL, AceFlags.CONTAINER_INHERIT),
    allow(ADMINISTRATORS, KEY_ALL, AceFlags.CONTAINER_INHERIT),
)
