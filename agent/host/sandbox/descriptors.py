"""Security descriptors beside the files: recorded where we made them, and inherited by all others.

A record lies in a tree that mirrors C:, so that a copy of a sandbox keeps its descriptors. Whether a record
speaks of the file that has the name now is told by the file's sticky bit, which Linux keeps and ignores: we
set it, and somebody who replaces the file or changes its mode by hand loses it. A file without it has the
descriptor that Windows would have given it, out of its folder's. Other systems have no such mark; there a
record holds for whatever has its name.
"""

import hashlib
import os
import pathlib
import shutil
import stat
import sys
import threading
from collections.abc import Collection
from contextlib import suppress
from functools import lru_cache

from agent.host import winerror
from agent.host.errors import AccessDenied
from agent.host.port import Principal
from agent.host.protection import SIDS
from agent.host.sandbox.facts import SandboxFacts
from agent.host.sandbox.places import Place
from agent.host.sandbox.state import State
from agent.host.sddl import (
    ADMINISTRATORS,
    CREATOR_GROUP,
    CREATOR_OWNER,
    DELETE,
    FILE_ALL,
    FILE_DELETE_CHILD,
    FILE_EXECUTE,
    FILE_READ,
    SYSTEM,
    Ace,
    AceFlags,
    AceKind,
    SecurityDescriptor,
    allow,
    specific,
)

ROOT = SecurityDescriptor.parse(
    "O:S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464D:P(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)"
    "(A;OICI;0x1200a9;;;BU)(A;OICIIO;SDGXGWGR;;;AU)(A;;LC;;;AU)"
)
"""Of C: on a Windows Server: every user may make folders in it, and write to what others made in those."""

_MARK = stat.S_ISVTX if sys.platform == "linux" else 0
_LONGEST_NAME = 120


class Descriptors:
    def __init__(self, state: State, users: Collection[str]) -> None:
        """`users`: the SIDs of whoever stands for the rest of the world when a file's mode is chosen."""
        self._folder = state.folder / "descriptors"
        self._users = users

    def of(self, place: Place) -> SecurityDescriptor:
        """What protects that which is there."""
        if place.folder is None:
            return self._recorded(place) or ROOT
        return self._recorded(place) or inherited(self.of(place.folder), is_folder=place.is_folder)

    def expect(self, place: Place, descriptor: SecurityDescriptor) -> None:
        """Before something is made there with `mode`: it is born with the record."""
        record = self._record(place)
        try:
            record.write_text(f"0 {descriptor}")
        except FileNotFoundError:
            record.parent.mkdir(parents=True, exist_ok=True)
            record.write_text(f"0 {descriptor}")

    def mode(self, descriptor: SecurityDescriptor) -> int:
        """Permissions that keep out on this system, too, whom the descriptor keeps out."""
        everybody = descriptor.granted(self._users) & (FILE_READ | FILE_EXECUTE) == FILE_READ | FILE_EXECUTE
        return _MARK | (0o755 if everybody else 0o700)

    def set(self, place: Place, descriptor: SecurityDescriptor) -> None:
        self._write(self._record(place), [f"0 {descriptor}"])
        assert place.state is not None
        writable = 0o200 if place.state.st_mode & 0o200 else 0
        os.chmod(place.file, self.mode(descriptor) & ~0o200 | writable)  # noqa: PTH101

    def expect_replacement(self, place: Place, new: Place) -> None:
        """Before `new` is renamed over `place`: the record tells both apart until that is done."""
        assert new.state is not None
        lines = [f"{new.state.st_ino} {self._text(new)}"]
        if place.state is not None:
            lines.insert(0, f"{place.state.st_ino} {self._text(place)}")
        self._write(self._record(place), lines)

    def settle_replacement(self, place: Place, new: Place) -> None:
        """After `new`, whose record still stands, was renamed over `place`."""
        self._write(self._record(place), [f"0 {self._text(new)}"])

    def differ(self, place: Place, new: Place) -> bool:
        """Whether a record has to be written at all where `new` replaces what is there."""
        lines = self._lines(place)
        return len(lines) != 1 or lines[0].partition(" ")[2] != self._text(new)

    def forget(self, place: Place) -> None:
        """After what was there is gone."""
        self._record(place).unlink(missing_ok=True)
        if place.is_folder:
            shutil.rmtree(self._children(place), ignore_errors=True)

    def expect_move(self, place: Place, target: Place) -> None:
        """Before `place` is renamed to `target`, where nothing is; afterwards `forget` the old place."""
        with suppress(FileNotFoundError):
            self._write(self._record(target), [self._record(place).read_text()])
        if place.is_folder:
            shutil.rmtree(self._children(target), ignore_errors=True)
            with suppress(FileNotFoundError):
                shutil.copytree(self._children(place), self._children(target))

    def _recorded(self, place: Place) -> SecurityDescriptor | None:
        text = self._text(place)
        return _parse(text) if text else None

    def _text(self, place: Place) -> str:
        if place.state is None or place.state.st_mode & _MARK != _MARK:
            return ""
        lines = self._lines(place)
        # Without a line of its own the file is a copy, or newly made, and the newest line speaks of it.
        own = [line for line in lines if line.startswith(f"{place.state.st_ino} ")]
        return (own or lines or [""])[-1].partition(" ")[2]

    def _lines(self, place: Place) -> list[str]:
        try:
            with open(self._record_name(place)) as record:  # noqa: PTH123 - this is done several times a file
                return record.read().splitlines()
        except FileNotFoundError:
            return []

    def _write(self, record: pathlib.Path, lines: list[str]) -> None:
        temporary = record.with_name(f"{record.name}.{os.getpid()}.{threading.get_ident()}")
        try:
            temporary.write_text("\n".join(lines))
        except FileNotFoundError:
            record.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text("\n".join(lines))
        temporary.replace(record)

    def _record(self, place: Place) -> pathlib.Path:
        return self._folder / self._record_name(place)

    def _record_name(self, place: Place) -> str:
        *above, last = ("C", *map(_short, place.keys))
        return "/".join([os.fspath(self._folder), *(f"{key}.in" for key in above), f"{last}.ace"])

    def _children(self, place: Place) -> pathlib.Path:
        return self._folder.joinpath(*[_short(key) + ".in" for key in ("C", *place.keys)])


def inherited(parent: SecurityDescriptor, *, is_folder: bool) -> SecurityDescriptor:
    """What Windows gives a file that an administrator's program makes without a word about its descriptor."""
    aces = [part for ace in parent.aces or () for part in _inherited(ace, is_folder)]
    if not aces:
        # The default of an administrator's token.
        aces = [allow(SYSTEM, FILE_ALL), allow(ADMINISTRATORS, FILE_ALL)]
    return SecurityDescriptor(ADMINISTRATORS, ADMINISTRATORS, tuple(aces))


_BELOW = AceFlags.OBJECT_INHERIT | AceFlags.CONTAINER_INHERIT


def _inherited(ace: Ace, is_folder: bool) -> list[Ace]:
    if ace.kind is AceKind.OTHER:
        return []
    here = bool(ace.flags & (AceFlags.CONTAINER_INHERIT if is_folder else AceFlags.OBJECT_INHERIT))
    sid = ADMINISTRATORS if ace.sid in (CREATOR_OWNER, CREATOR_GROUP) else ace.sid
    aces = [Ace(ace.kind, AceFlags.INHERITED, specific(ace.mask), sid)] if here else []
    if is_folder and ace.flags & _BELOW and not ace.flags & AceFlags.NO_PROPAGATE:
        flags = ace.flags & _BELOW | AceFlags.INHERIT_ONLY | AceFlags.INHERITED
        aces.append(Ace(ace.kind, flags, ace.mask, ace.sid))
    return aces


_parse = lru_cache(maxsize=256)(SecurityDescriptor.parse)


@lru_cache(maxsize=4096)
def _short(key: str) -> str:
    name = key.encode()
    if len(name) <= _LONGEST_NAME:
        return key
    return hashlib.sha256(name).hexdigest()


READ_DATA = 0x0001
ADD_FILE = 0x0002
ADD_FOLDER = APPEND_DATA = 0x0004
_HIDING = 0xA5


class SandboxAccess:
    """Who may do what, computed from the descriptors by Windows' rules.

    The caller is an administrator, unless the sandbox's facts say otherwise.
    """

    def __init__(self, facts: SandboxFacts, descriptors: Descriptors) -> None:
        self._facts = facts
        self._descriptors = descriptors

    def is_administrator(self) -> bool:
        return self._facts.is_administrator()

    def caller(self) -> str:
        return SIDS[Principal.ADMINISTRATOR if self.is_administrator() else Principal.USER][0]

    def sealed(self, secret: bytes) -> bytes:
        """Hidden from a look, and no more: a sandbox has no key that others do not have."""
        return bytes(byte ^ _HIDING for byte in secret)

    def unsealed(self, sealed: bytes) -> bytes:
        return self.sealed(sealed)

    def require(self, action: str, place: Place, mask: int) -> None:
        """Raises AccessDenied where the caller lacks a right to what is there."""
        if not self._has(place, mask):
            raise AccessDenied(action, str(place.path), winerror.ERROR_ACCESS_DENIED)

    def require_of(self, action: str, place: Place, descriptor: SecurityDescriptor, mask: int) -> None:
        """The same where the descriptor is known."""
        if not self._grants(descriptor, mask):
            raise AccessDenied(action, str(place.path), winerror.ERROR_ACCESS_DENIED)

    def require_removal(self, action: str, place: Place) -> None:
        """A file may be removed or renamed by whoever may delete it, or delete in its folder."""
        if not (self._has(place, DELETE) or (place.folder and self._has(place.folder, FILE_DELETE_CHILD))):
            raise AccessDenied(action, str(place.path), winerror.ERROR_ACCESS_DENIED)

    def _has(self, place: Place, mask: int) -> bool:
        return self._grants(self._descriptors.of(place), mask)

    def _grants(self, descriptor: SecurityDescriptor, mask: int) -> bool:
        caller = Principal.ADMINISTRATOR if self.is_administrator() else Principal.USER
        return descriptor.granted(SIDS[caller]) & mask == mask
