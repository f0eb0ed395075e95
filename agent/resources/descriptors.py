"""Descriptors in states: as SDDL, compared by what they mean."""

from collections.abc import Iterable
from functools import lru_cache, reduce

from agent.host.protection import (
    PODS_DIRECTORY,
    PRIVATE_DIRECTORY,
    PRIVATE_FILE,
    PROGRAM_DIRECTORY,
    PROGRAM_FILE,
)
from agent.host.sddl import EVERYONE, BadSddl, SecurityDescriptor
from agent.resources.kind import Value
from agent.spec import Protection

OF_FILE = {Protection.PRIVATE: PRIVATE_FILE, Protection.PROGRAM: PROGRAM_FILE}
OF_DIRECTORY = {
    Protection.PRIVATE: PRIVATE_DIRECTORY,
    Protection.PROGRAM: PROGRAM_DIRECTORY,
    Protection.PODS: PODS_DIRECTORY,
}


@lru_cache(maxsize=64)
def text(descriptor: SecurityDescriptor | None) -> str:
    return str(descriptor)


def parsed(value: Value) -> SecurityDescriptor:
    return SecurityDescriptor.parse(str(value))


def strictest(own: SecurityDescriptor, above: Iterable[Protection]) -> SecurityDescriptor:
    """Return the file's own rights, or what the folders above it leave of them."""
    return reduce(_stricter, (OF_FILE[each] for each in above), own)


def _stricter(one: SecurityDescriptor, other: SecurityDescriptor) -> SecurityDescriptor:
    """Return the one that grants no account more than the other does; the private one where neither is."""
    sids = {EVERYONE, *(ace.sid for each in (one, other) for ace in each.aces or ())}
    rights = [(one.granted({sid}), other.granted({sid})) for sid in sids]
    if not any(first & ~second for first, second in rights):
        return one
    return PRIVATE_FILE if any(second & ~first for first, second in rights) else other


def same(wanted: Value, found: Value) -> bool:
    return _same(str(wanted), str(found))


@lru_cache(maxsize=64)  # hundreds of files have the same few
def _same(wanted: str, found: str) -> bool:
    try:
        return parsed(wanted).equivalent(parsed(found))
    except BadSddl:
        return False
