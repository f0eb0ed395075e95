"""C:\\ProgramData\\wmcb: what wmcb remembers of this machine, for administrators only."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PureWindowsPath

from agent.hashing import new_sha256
from agent.host.errors import AlreadyExists, HostError, InUse, NoSpace, NotEmpty, NotFound
from agent.host.files import Examined, FileKind
from agent.host.port import Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE, granted_to_others, trusted_owners
from agent.host.replacing import is_leftover
from agent.resources.kind import CannotBeSo
from agent.resources.own_folder import own_folder
from agent.resources.trees import are_on_one_drive, remove_tree


class _Below:
    """What lies in the folder under a name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, folder: StateFolder, _: type[StateFolder]) -> PureWindowsPath:
        return folder.path / self._name


@dataclass(frozen=True, slots=True)
class StateFolder:
    """Contents that may have to come back are files named by their hash, in `kept`."""

    host: Host
    path: PureWindowsPath
    run: str = ""
    step: int = 0
    """Of that run, that something is put aside for."""

    @classmethod
    def of(cls, host: Host) -> StateFolder:
        return cls(host, own_folder(host))

    inventory = _Below("node.json")
    inventory_copy = _Below("node.json.copy")
    """Without it nobody could tell what on this machine is wmcb's, so it is there twice."""
    journal = _Below("journal")
    made = _Below("made")
    """Small contents as they were made, by their hash: what somebody changes can be made so again."""
    pause = _Below("pause")
    """As long as it is there, the resident service repairs nothing."""
    following = _Below("following.json")
    """What became of the ConfigMap that the resident service follows."""
    continuing = _Below("continue")
    """What is gone on with after a restart."""
    certificates = _Below("certificates")
    """In which start of Windows the operator has changed whom the machine believes."""
    variables = _Below("variables")
    """In which start of Windows the operator was asked for another, which lacked variables."""
    fetched = _Below("fetched")
    """Contents that a run will need, by their hash."""
    given = _Below("given")
    """The same for a document that somebody gives on the machine."""
    mending = _Below("mending")
    """The same for what is to be put right, and was not copied."""
    tls = _Below("tls")
    """Private keys, each for as long as TLS takes to load it."""
    _reserve = _Below("reserve")
    _kept = _Below("kept")

    def ensure(self) -> None:
        """What is in there is believed, and every user may make folders in ProgramData."""
        try:
            self._ensure()
        except NotFound:
            # A process that had made it for a moment (agent.private_keys) has just removed it.
            self._ensure()

    def _ensure(self) -> None:
        self.secure()
        try:
            self.host.files.make_directory(self.path, PRIVATE_DIRECTORY)
        except AlreadyExists:
            self.secure()
            self.host.files.set_descriptor(self.path, PRIVATE_DIRECTORY)
            self.check()
        with suppress(AlreadyExists):
            self.host.files.make_directory(self._kept, PRIVATE_DIRECTORY)

    def take_over(self) -> PureWindowsPath | None:
        """Move aside what a user made in the folder's place, and return where it lies then.

        Nothing in it is looked at. The folder itself is not used again: its maker may hold it open with the
        right to change its descriptor, which no new descriptor ends. Raises CannotBeSo.
        """
        files, aside = self.host.files, None
        owners = trusted_owners(self.host.access.caller())
        for _ in range(_MOST_TAKEN_OVER):
            there = files.examine(self.path)
            # Who owns a link only the attempt tells.
            if there is None or not (there.descriptor is None or self._is_of_a_user(there)):
                return aside
            stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime(self.host.clock.now()))
            target = self.path.with_name(f"{self.path.name}-untrusted-{stamp}-{os.urandom(4).hex()}")
            try:
                if not files.set_aside(self.path, target, owners, PRIVATE_DIRECTORY):
                    return aside
            except InUse as fault:
                raise CannotBeSo(
                    f"{self.path} was made by a user, and a program has it, or something in it, open: "
                    "end that program, or restart Windows, and run this again"
                ) from fault
            aside = target
            with suppress(AlreadyExists):
                files.make_directory(self.path, PRIVATE_DIRECTORY)
        raise CannotBeSo(
            f"{self.path} is made again by a user each time that it is moved aside; find out by whom"
        )

    def _is_of_a_user(self, there: Examined) -> bool:
        owner = there.descriptor.owner if there.descriptor else None
        return owner is not None and owner not in trusted_owners(self.host.access.caller())

    def secure(self) -> None:
        """Before anything in it is believed. Raises CannotBeSo for a folder that others could have filled.

        What a user made in its place is moved aside. One that is open and empty is replaced: a program may
        still hold it open.
        """
        self.take_over()
        self.check()
        if self._is_open(self.path):
            self.host.files.remove_directory(self.path)
            self.host.files.make_directory(self.path, PRIVATE_DIRECTORY)

    def check(self) -> None:
        """The same for those who only look."""
        there = self.host.files.examine(self.path)
        if there is not None and self._is_of_a_user(there):
            raise CannotBeSo(
                f"{self.path} was made by a user, so nothing in it is believed; the next command that "
                "changes this machine, such as join or reset, moves it aside"
            )
        if there is not None and there.state.kind is not FileKind.DIRECTORY:
            kind = there.state.kind.value
            raise CannotBeSo(f"{self.path} is a {kind}, where a folder is to be; move it away")
        if (self._is_open(self.path) and self.host.files.list(self.path)) or self._is_open(self._kept):
            raise CannotBeSo(
                f"{self.path} is open to users, so what it holds cannot be trusted; look at it and remove it"
            )

    def _is_open(self, path: PureWindowsPath) -> bool:
        if self.host.files.observe(path) is None:
            return False
        descriptor = self.host.files.descriptor(path)
        return bool(granted_to_others(descriptor, self.host.access.caller()))

    def read(self, path: PureWindowsPath) -> bytes | None:
        try:
            return self.host.files.read(path)
        except NotFound:
            return None

    def write(self, path: PureWindowsPath, content: bytes) -> None:
        try:
            self.host.files.write(path, content, PRIVATE_FILE)
        except NoSpace:
            if not self._free_reserve():
                raise
            self.host.files.write(path, content, PRIVATE_FILE)

    def append(self, path: PureWindowsPath, content: bytes) -> None:
        self.host.files.append(path, content, PRIVATE_FILE)

    def remove(self, path: PureWindowsPath) -> None:
        with suppress(NotFound):
            self.host.files.remove(path)

    def copy_inventory(self) -> None:
        content = self.read(self.inventory)
        if content is not None and content != self.read(self.inventory_copy):
            try:
                self.write(self.inventory_copy, content)
            except NoSpace:
                self.remove(self.inventory_copy)  # none is better than one of another run

    def keep_reserve(self) -> None:
        """Room for a journal of all that there is to take back, twice, so that it can be on a full disk."""
        inventory = self.host.files.observe(self.inventory)
        size = _LEAST_RESERVE + 3 * (inventory.size if inventory else 0)
        there = self.host.files.observe(self._reserve)
        if there is None or there.size < size:
            with suppress(NoSpace):
                self.host.files.write(self._reserve, _filling(size), PRIVATE_FILE)

    def _free_reserve(self) -> bool:
        """Whether there was one."""
        with suppress(NotFound):
            self.host.files.remove(self._reserve)
            return True
        return False

    # Contents

    def place(self, sha256: str) -> PureWindowsPath:
        return self._kept / sha256

    def keep(self, sha256: str, blocks: Iterable[bytes]) -> None:
        if not self.has(sha256):
            self.host.files.write(self.place(sha256), _judged(sha256, blocks, _CHANGING), PRIVATE_FILE)

    def has(self, sha256: str) -> bool:
        return self.host.files.observe(self.place(sha256)) is not None

    def blocks(self, sha256: str) -> Iterable[bytes]:
        return _judged(sha256, self.host.files.blocks(self.place(sha256)), _DAMAGED)

    def take(self, sha256: str, path: PureWindowsPath) -> bool:
        if not are_on_one_drive(path, self._kept):
            return False
        if self.has(sha256):
            self.host.files.remove(path)
            return True
        place = self.place(sha256)
        self.host.files.move(path, place)
        # Whoever could write to it shall not write to it here, and whoever has it open shows in this look.
        self.host.files.set_descriptor(place, PRIVATE_FILE)
        try:
            self._verify(sha256, _CHANGING)
        except BaseException:
            self.host.files.move(place, path)
            raise
        return True

    def give(self, sha256: str, path: PureWindowsPath) -> bool:
        if not are_on_one_drive(path, self._kept):
            return False
        self._verify(sha256, _DAMAGED)
        self.host.files.move(self.place(sha256), path)
        return True

    def _verify(self, sha256: str, otherwise: str) -> None:
        for _ in _judged(sha256, self.host.files.blocks(self.place(sha256)), otherwise):
            pass

    def at_step(self, run: str, step: int) -> StateFolder:
        return replace(self, run=run, step=step)

    def aside(self, folder: PureWindowsPath) -> PureWindowsPath:
        # With the run: what another one moved may still lie there, since a program runs from it.
        name = new_sha256(f"{self.run} {str(folder).upper()}".encode()).hexdigest()[:16]
        return self._kept / f"{name}-{self.step}.folder"

    def forget_but(self, needed: set[str]) -> None:
        """Removes contents that nothing refers to any more, and what interrupted writes left.

        What cannot go yet, as a program that runs from a folder of the node's, goes the next time.
        """
        with suppress(NotFound):
            unneeded = [self._kept / name for name in self.host.files.list(self._kept) if name not in needed]
            leftovers = [self.path / name for name in self.host.files.list(self.path) if is_leftover(name)]
            for path in (*unneeded, *leftovers):
                with suppress(HostError):
                    self._forget(path)

    def _forget(self, path: PureWindowsPath) -> None:
        state = self.host.files.observe(path)
        if state is not None and state.kind is FileKind.DIRECTORY:
            remove_tree(self.host.files, path)
        else:
            self.remove(path)

    def forget_given(self) -> None:
        """What was fetched for a run that nobody wants any more."""
        with suppress(NotFound):
            remove_tree(self.host.files, self.given)

    def dissolve(self, *, but_given: bool = False) -> None:
        """Takes the folder away, unless something else is in it: the logs, or what somebody has just fetched
        for a run that is to begin.
        """
        if self.host.files.observe(self.path) is None:
            return
        self.forget_but(set())
        for folder in (self.made, self.fetched, self.mending, self.tls):
            with suppress(NotFound):
                remove_tree(self.host.files, folder)
        if not but_given:
            self.forget_given()
        # A journal counts as long as no inventory says that its run is over; so does a copy that is alone.
        own = (self.journal, self.inventory_copy, self.inventory, self._reserve, self.pause, self.following)
        for path in (*own, self.continuing, self.certificates, self.variables):
            self.remove(path)
        for folder in (self._kept, self.path):
            with suppress(NotFound, NotEmpty):
                self.host.files.remove_directory(folder)

    def clear(self) -> None:
        """All but the logs."""
        with suppress(NotFound, NotEmpty):
            for name in self.host.files.list(self.path):
                if name.lower() != "logs":
                    self._forget(self.path / name)
            self.host.files.remove_directory(self.path)


_CHANGING = "a file is being changed by another program while wmcb puts it by; try again"
_DAMAGED = "what wmcb had put by of a file has been damaged since; put that file back from a backup"


_MOST_TAKEN_OVER = 10
"""A user may make the folder again at once."""
_LEAST_RESERVE = 1 << 16
_BLOCK = 1 << 16


def _filling(size: int) -> Iterator[bytes]:
    """Of which no file system can make less."""
    block = os.urandom(_BLOCK)
    for _ in range(0, size, _BLOCK):
        yield block


def _judged(sha256: str, blocks: Iterable[bytes], otherwise: str) -> Iterator[bytes]:
    digest = new_sha256()
    for block in blocks:
        digest.update(block)
        yield block
    if digest.hexdigest() != sha256:
        raise CannotBeSo(otherwise)
