"""One artifact brought into the stock: fetched, judged, and unpacked where it is an archive."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import PureWindowsPath
from typing import Protocol

from agent.artifacts.archives import wanted
from agent.artifacts.failure import Unusable
from agent.artifacts.means import Means
from agent.artifacts.receiving import Part, Progress, Receiving
from agent.artifacts.room import Room
from agent.hashing import new_sha256
from agent.host.errors import HostError, NotFound
from agent.host.port import Host
from agent.host.protection import PRIVATE_FILE
from agent.spec import Artifact, Unpacking

_PROGRAM = b"MZ"
_IN_SANDBOX = "its signer is not looked at: only Windows can judge a signature"


class Shelf(Protocol):
    """Where it is to lie."""

    @property
    def folder(self) -> PureWindowsPath: ...
    def has(self, sha256: str) -> bool: ...
    def settle(self, lying: PureWindowsPath, sha256: str) -> None:
        """Gives what lies in the folder the name that says what it is."""

    def resolved(self, artifact: Artifact) -> Artifact | None: ...
    def note(self, artifact: Artifact, found: Artifact) -> None:
        """What it was found to be is known from now on."""


class Supplying:
    def __init__(
        self, host: Host, shelf: Shelf, means: Means, progress: Progress, artifact: Artifact, room: Room
    ) -> None:
        self._room = room
        self._host = host
        self._shelf = shelf
        self._means = means
        self._progress = progress
        self._artifact = artifact
        self._place = shelf.folder / identity(artifact)

    def supply(self, needed: Collection[str]) -> None:
        """Of what is not known yet all, else these contents. Raises Unusable, HostError."""
        artifact = self._artifact
        before = self._shelf.resolved(artifact)
        digest, sha256 = self._body()
        body = self._shelf.folder / sha256
        if not isinstance(artifact.place, Unpacking):
            if artifact.signer is not None:
                self._judge(body, artifact.place.name)
            self._shelf.note(artifact, of_one_file(artifact, digest, sha256))
        elif before is None or before.files is None:
            files = self._unpacked(artifact.place, body, None)
            self._shelf.note(artifact, replace(artifact, digest=digest, files=files))
        else:
            missing = {path for path, sha256 in before.files.items() if sha256 in needed}
            self._unpacked(artifact.place, body, missing)

    def _body(self) -> tuple[str, str]:
        """Its digest and its sha256, by which it lies there then."""
        note = self._place.with_suffix(".body")
        with suppress(NotFound, ValueError, KeyError, TypeError):
            found = json.loads(self._host.files.read(note))
            digest, sha256 = str(found["digest"]), str(found["sha256"])
            if self._shelf.has(sha256):
                return digest, sha256
        part = Part(self._place.with_suffix(".part"), self._place.with_suffix(".tag"))
        receiving = Receiving(self._host, self._means, self._progress, self._artifact, part, self._room)
        digest = receiving.digest()
        sha256 = receiving.receive(digest)
        told = json.dumps({"digest": digest, "sha256": sha256})
        self._host.files.write(note, told.encode(), PRIVATE_FILE)
        self._shelf.settle(part.content, sha256)
        return digest, sha256

    def _unpacked(
        self, place: Unpacking, body: PureWindowsPath, chosen: Collection[str] | None
    ) -> Mapping[str, str]:
        """The files by their paths: of those that are chosen, or all."""
        files: dict[str, str] = {}
        is_signed, signer = False, self._artifact.signer
        lying = self._place.with_suffix(".member")
        with self._host.files.reading(body) as packed:
            for name, content in wanted(packed, place):
                path = str(place.into / name)
                if chosen is not None and path not in chosen:
                    continue
                hashing = new_sha256()
                self._host.files.write(lying, self._written(content, hashing.update), PRIVATE_FILE)
                if signer is not None and self._host.files.read(lying, len(_PROGRAM)) == _PROGRAM:
                    self._judge(lying, name)
                    is_signed = True
                files[path] = hashing.hexdigest()
                self._shelf.settle(lying, files[path])
        if signer is not None and chosen is None and not is_signed:
            raise Unusable("there is no program in it that anybody could have signed")
        return files

    def _written(self, content: Iterator[bytes], update: Callable[[bytes], None]) -> Iterator[bytes]:
        """Raises NoSpace, before a member takes what has to stay free."""
        try:
            for block in content:
                self._room.require(self._artifact.name, len(block))
                update(block)
                yield block
        finally:
            self._room.release(self._artifact.name)

    def _judge(self, program: PureWindowsPath, name: str) -> None:
        """Raises Unusable for a program that somebody else has signed, or nobody."""
        wanted = self._artifact.signer
        assert wanted is not None
        try:
            found = self._host.signatures.signer(program)
        except HostError as fault:
            raise Unusable(f"{name}: {fault.meaning} (Windows error {fault.code:#010x})") from fault
        if found is None:
            self._progress.tried_again(self._artifact.name, _IN_SANDBOX)
            return
        if wanted.common_name and wanted.common_name != found.common_name:
            raise Unusable(f"{name} is signed by {found.common_name}, not by {wanted.common_name}")
        if wanted.thumbprint and wanted.thumbprint.lower() not in (found.sha1, found.sha256):
            alike = found.sha256 if len(wanted.thumbprint) == len(found.sha256) else found.sha1
            raise Unusable(f"{name} is signed with certificate {alike}, not with {wanted.thumbprint}")


def of_one_file(artifact: Artifact, digest: str, sha256: str) -> Artifact:
    assert isinstance(artifact.place, PureWindowsPath)
    return replace(artifact, digest=digest, files={str(artifact.place): sha256})


def identity(artifact: Artifact) -> str:
    """Of what it is, wherever it goes."""
    signer = artifact.signer
    said = [artifact.digest or [artifact.source, artifact.checksums]]
    said += [[signer.common_name, signer.thumbprint]] if signer else []
    return new_sha256(json.dumps(said).encode()).hexdigest()[:32]
