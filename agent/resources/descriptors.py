"""Descriptors in states: as SDDL, compared by what they mean."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from agent.host.protection import (
    PODS_DIRECTORY,
    PRIVATE_DIRECTORY,
    PRIVATE_FILE,
    PROGRAM_DIRECTORY,
    PROGRAM_FILE,
)
from agent.host.sddl import BadSddl, SecurityDescriptor
from agent.spec import Protection

if TYPE_CHECKING:
    from agent.resources.kind import Value

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


def same(wanted: Value, found: Value) -> bool:
    return _same(str(wanted), str(found))


@lru_cache(maxsize=64)  # hundreds of files have the same few
def _same(wanted: str, found: str) -> bool:
    try:
        return parsed(wanted).equivalent(parsed(found))
    except BadSddl:
        return False
