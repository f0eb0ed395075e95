"""The security descriptors of everything that the product puts on a machine, each with its reason.

All are owned by Administrators, so that no single account keeps an owner's rights, and protected, so that
nothing a folder above grants (C:\\ lets every user make folders, and ProgramData files) comes in.
"""

from pathlib import PureWindowsPath

from agent.host.errors import NotFound
from agent.host.port import Host, Principal
from agent.host.sddl import (
    ADMINISTRATORS,
    AUTHENTICATED_USERS,
    CREATOR_GROUP,
    CREATOR_OWNER,
    DELETE,
    EVERYONE,
    FILE_ALL,
    FILE_DELETE_CHILD,
    FILE_EXECUTE,
    FILE_READ,
    INTERACTIVE,
    KEY_ALL,
    OWNER_RIGHTS,
    READ_CONTROL,
    SYSTEM,
    USERS,
    WRITE_DAC,
    WRITE_OWNER,
    Ace,
    AceFlags,
    AceKind,
    SecurityDescriptor,
    allow,
    specific,
)

FILE_ADD = 0x6
"""In a folder: files and folders."""
FILE_EXCHANGE = FILE_DELETE_CHILD | WRITE_DAC | WRITE_OWNER
"""In a folder: what is in it. In C:\\ users may make folders, and rename none of another's."""

_HERE = AceFlags(0)
_INHERITED = AceFlags.OBJECT_INHERIT | AceFlags.CONTAINER_INHERIT
_TO_CHANGE = ~(FILE_READ | FILE_EXECUTE)


def _protected(flags: AceFlags, *others: Ace, full: int = FILE_ALL) -> SecurityDescriptor:
    """Return the one that grants `full` access to the system and to administrators, and `others` theirs."""
    aces = (allow(SYSTEM, full, flags), allow(ADMINISTRATORS, full, flags), *others)
    return SecurityDescriptor(owner=ADMINISTRATORS, group=ADMINISTRATORS, aces=aces, protected=True)


# Keys, tokens, kubeconfigs, and whatever tells the kubelet and this program what to do: reading them is
# being the node, writing them is being SYSTEM on it.
PRIVATE_FILE = _protected(_HERE)

# C:\etc\kubernetes, C:\var\lib\kubelet, C:\ProgramData\wmcb. What the kubelet makes inside is covered too.
PRIVATE_DIRECTORY = _protected(_INHERITED)

# Programs that run as SYSTEM. Users may run them (`kubectl`, `wmcb version`), but whoever could write one,
# or put a DLL beside one, would be SYSTEM.
PROGRAM_FILE = _protected(_HERE, allow(USERS, FILE_READ | FILE_EXECUTE))
PROGRAM_DIRECTORY = _protected(_INHERITED, allow(USERS, FILE_READ | FILE_EXECUTE, _INHERITED))

# C:\var\lib\kubelet\pods: volumes are folders in it, and the kubelet gives them no descriptors of their own.
# To the files of its node a program that runs as ContainerUser is one of Users. So this is what C:\ itself
# would hand down there: with less, no such container could read its own token.
PODS_DIRECTORY = _protected(
    _INHERITED,
    allow(USERS, FILE_READ | FILE_EXECUTE, _INHERITED),
    allow(USERS, FILE_ADD, AceFlags.CONTAINER_INHERIT | AceFlags.INHERIT_ONLY),
    allow(CREATOR_OWNER, FILE_ALL, _INHERITED | AceFlags.INHERIT_ONLY),
)

# A service's key in the registry, once it holds environment variables: a proxy's password may be among
# them, and every user can read the key as Windows makes it.
SERVICE_KEY = _protected(AceFlags.CONTAINER_INHERIT, full=KEY_ALL)

_TRUSTED_INSTALLER = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"
_TRUSTED = frozenset({SYSTEM, ADMINISTRATORS, _TRUSTED_INSTALLER})
_STAND_FOR_OTHERS = frozenset({CREATOR_OWNER, CREATOR_GROUP, OWNER_RIGHTS})
"""SIDs that grant nobody anything here: they count for what is made below, or limit the owner."""


def is_trusted(sid: str | None) -> bool:
    """The system, Windows' own installer, or administrators as such: no account of a person."""
    return sid in _TRUSTED


def trusted_owners(caller: str) -> frozenset[str]:
    """Return the SIDs of those whose files this program believes."""
    return _TRUSTED | {caller}


def granted_to_others(descriptor: SecurityDescriptor, caller: str) -> int:
    """What anybody may do who is neither the system, nor an administrator, nor the caller itself.

    Denials do not count: what is denied to some may still be granted to others.
    """
    if descriptor.aces is None:
        return FILE_ALL
    trusted = trusted_owners(caller)
    granted = 0 if descriptor.owner in trusted else READ_CONTROL | WRITE_DAC
    for ace in descriptor.aces:
        known = ace.sid in trusted or ace.sid in _STAND_FOR_OTHERS
        if ace.kind is AceKind.ALLOW and not known and not ace.flags & AceFlags.INHERIT_ONLY:
            granted |= specific(ace.mask)
    return granted


def exchangeable(host: Host, path: PureWindowsPath) -> PureWindowsPath | None:
    """What of a file, or of the folders that it lies in, others may change; None where it will be the same
    when it is read again.
    """
    looked_for = [(path, _TO_CHANGE), (path.parent, FILE_EXCHANGE | DELETE | FILE_ADD)]
    looked_for += [(folder, FILE_EXCHANGE | DELETE) for folder in path.parent.parents]
    for place, rights in looked_for:
        is_root = place == place.parent
        if _granted(host, place) & (FILE_EXCHANGE if is_root else rights):
            return place
    return None


def _granted(host: Host, place: PureWindowsPath) -> int:
    try:
        return granted_to_others(host.files.descriptor(place), host.access.caller())
    except NotFound:
        return 0  # which is told by whoever reads it


# Accounts of no machine: what they may do comes from their groups alone.
_NOBODY = "S-1-5-21-4000000001-4000000002-4000000003"

SIDS = {
    Principal.SYSTEM: (SYSTEM, ADMINISTRATORS, EVERYONE, AUTHENTICATED_USERS),
    Principal.ADMINISTRATOR: (
        f"{_NOBODY}-500", ADMINISTRATORS, USERS, EVERYONE, AUTHENTICATED_USERS, INTERACTIVE,
    ),
    Principal.USER: (f"{_NOBODY}-1001", USERS, EVERYONE, AUTHENTICATED_USERS, INTERACTIVE),
}  # fmt: skip
