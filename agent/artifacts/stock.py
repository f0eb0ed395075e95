"""A folder of ours in which artifacts lie until a run has what they hold: by hash, and all of it proven.

A note for each says what it was found to be. What is in the folder nobody else may write, so that it is not
hashed again; it goes when the run that wanted it has ended well.
"""

import json
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import PureWindowsPath

from agent.artifacts.archives import wanted
from agent.artifacts.means import Means, Unusable
from agent.artifacts.receiving import Part, Progress, Receiving, Room, Unseen
from agent.engine.planning import Plan
from agent.hashing import new_sha256
from agent.host.errors import AlreadyExists, HostError, NoSpace, NotFound
from agent.host.port import Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE
from agent.resources.artifact import known
from agent.resources.trees import remove_tree
from agent.spec import Artifact, File, Lying, Unpacking

_AT_ONCE = 4
_PROGRAM = b"MZ"
_IN_SANDBOX = "its signer is not looked at: only Windows can judge a signature"


class Stock:
    def __init__(self, host: Host, folder: PureWindowsPath, means: Means | None = None) -> None:
        self._host = host
        self.folder = folder
        self._means = means or Means()
        self._room = Room(host, folder)
        self._settling = threading.Lock()

    # What is known

    def resolved(self, artifact: Artifact) -> Artifact | None:
        """With its digest and its files; None while nobody knows these, since it was never fetched."""
        if artifact.files is not None:
            return artifact
        algorithm, _, digest = artifact.digest.partition(":")
        says_all = algorithm == "sha256" and artifact.signer is None
        if says_all and not isinstance(artifact.place, Unpacking):
            return of_one_file(artifact, artifact.digest, digest)
        return known(self._host, artifact) or self._noted(artifact)

    def content(self, sha256: str) -> Lying:
        """What will be there when it is needed."""
        place = self.folder / sha256
        there = self._host.files.observe(place)
        return Lying(sha256, place, self._host.files.blocks, there.size if there else 0)

    def lacks(self, artifact: Artifact, needed: Collection[str]) -> bool:
        """Whether it has to be fetched, or unpacked: for these contents, or to know what is in it."""
        found = self.resolved(artifact)
        return found is None or any(
            sha256 in needed and not self.has(sha256) for sha256 in (found.files or {}).values()
        )

    # What is done

    def supply(
        self, artifacts: Sequence[Artifact], needed: Collection[str], progress: Progress | None = None
    ) -> Mapping[str, str]:
        """Sees to it that none lacks these contents any more, and that of each it is known what is in it.

        By an artifact's name why it cannot be had, for each that cannot.
        """
        self._tidy(artifacts)
        waiting: dict[str, list[Artifact]] = {}
        for artifact in artifacts:
            if self.lacks(artifact, needed):
                # One archive may go to two places.
                waiting.setdefault(identity(artifact), []).append(artifact)
        failures = self._done_at_once(list(waiting.values()), needed, progress or Unseen())
        filling = {name for name, fault in failures.items() if isinstance(fault, NoSpace)}
        if filling:
            # An archive and half of what was in it are in the way of all else.
            self._tidy([artifact for artifact in artifacts if artifact.name not in filling])
        return {name: _told(fault) for name, fault in failures.items()}

    def _done_at_once(
        self, groups: list[list[Artifact]], needed: Collection[str], progress: Progress
    ) -> Mapping[str, Exception]:
        """Each group one after the other, several groups at a time."""
        failures: dict[str, Exception] = {}
        turn = threading.Lock()

        def work() -> None:
            while True:
                with turn:
                    if not groups:
                        return
                    group = groups.pop(0)
                for artifact in group:
                    if fault := self._in_vain(artifact, needed, progress):
                        failures[artifact.name] = fault

        threads = [threading.Thread(target=work, daemon=True) for _ in range(min(_AT_ONCE, len(groups)))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return failures

    def clear(self) -> None:
        """Nothing of it is needed any more."""
        with suppress(NotFound):
            remove_tree(self._host.files, self.folder)

    # One of them

    def _in_vain(self, artifact: Artifact, needed: Collection[str], progress: Progress) -> Exception | None:
        """A thread that ended by it would take its reason with it."""
        try:
            Supplying(self._host, self, self._means, progress, artifact, self._room).supply(needed)
        except Exception as fault:  # noqa: BLE001 - whatever it is, it is told
            return fault
        return None

    # What lies here

    def has(self, sha256: str) -> bool:
        return self._host.files.observe(self.folder / sha256) is not None

    def settle(self, lying: PureWindowsPath, sha256: str) -> None:
        """Gives what lies in the folder the name that says what it is."""
        with self._settling:
            if self.has(sha256):
                self._host.files.remove(lying)
            else:
                self._host.files.move(lying, self.folder / sha256)

    def note(self, artifact: Artifact, found: Artifact) -> None:
        """What it was found to be is known from now on."""
        document = {"digest": found.digest, "files": dict(found.files or {})}
        self._host.files.write(self._note_of(artifact), json.dumps(document).encode(), PRIVATE_FILE)

    def _noted(self, artifact: Artifact) -> Artifact | None:
        with suppress(NotFound, ValueError, KeyError, TypeError):
            found = json.loads(self._host.files.read(self._note_of(artifact)))
            files = {str(path): str(sha256) for path, sha256 in found["files"].items()}
            return replace(artifact, digest=str(found["digest"]), files=files)
        return None

    def _note_of(self, artifact: Artifact) -> PureWindowsPath:
        place = repr(artifact.place)
        return self.folder / f"{identity(artifact)}-{new_sha256(place.encode()).hexdigest()[:16]}.files"

    def _tidy(self, artifacts: Sequence[Artifact]) -> None:
        """Makes the folder, and takes away what is of none of these: somebody has thought better of it."""
        with suppress(AlreadyExists):
            self._host.files.make_directory(self.folder, PRIVATE_DIRECTORY)
        mine = {identity(artifact) for artifact in artifacts}
        contents = set(self._contents(artifacts))
        for name in self._host.files.list(self.folder):
            if name.partition(".")[0].partition("-")[0] not in mine and name not in contents:
                self._host.files.remove(self.folder / name)

    def _contents(self, artifacts: Sequence[Artifact]) -> Iterator[str]:
        for artifact in artifacts:
            with suppress(NotFound, ValueError, KeyError, TypeError):
                note = self.folder / f"{identity(artifact)}.body"
                yield str(json.loads(self._host.files.read(note))["sha256"])
            found = self.resolved(artifact)
            yield from (found.files or {}).values() if found else ()


class Supplying:
    """One artifact brought into the stock: fetched, judged, and unpacked where it is an archive."""

    def __init__(
        self, host: Host, stock: Stock, means: Means, progress: Progress, artifact: Artifact, room: Room
    ) -> None:
        self._room = room
        self._host = host
        self._stock = stock
        self._means = means
        self._progress = progress
        self._artifact = artifact
        self._place = stock.folder / identity(artifact)

    def supply(self, needed: Collection[str]) -> None:
        """Of what is not known yet all, else these contents. Raises Unusable, HostError."""
        artifact = self._artifact
        before = self._stock.resolved(artifact)
        digest, sha256 = self._body()
        body = self._stock.folder / sha256
        if not isinstance(artifact.place, Unpacking):
            if artifact.signer is not None:
                self._judge(body, artifact.place.name)
            self._stock.note(artifact, of_one_file(artifact, digest, sha256))
        elif before is None or before.files is None:
            files = self._unpacked(artifact.place, body, None)
            self._stock.note(artifact, replace(artifact, digest=digest, files=files))
        else:
            missing = {path for path, sha256 in before.files.items() if sha256 in needed}
            self._unpacked(artifact.place, body, missing)

    def _body(self) -> tuple[str, str]:
        """Its digest and its sha256, by which it lies there then."""
        note = self._place.with_suffix(".body")
        with suppress(NotFound, ValueError, KeyError, TypeError):
            found = json.loads(self._host.files.read(note))
            digest, sha256 = str(found["digest"]), str(found["sha256"])
            if self._stock.has(sha256):
                return digest, sha256
        part = Part(self._place.with_suffix(".part"), self._place.with_suffix(".tag"))
        receiving = Receiving(self._host, self._means, self._progress, self._artifact, part, self._room)
        digest = receiving.digest()
        sha256 = receiving.receive(digest)
        told = json.dumps({"digest": digest, "sha256": sha256})
        self._host.files.write(note, told.encode(), PRIVATE_FILE)
        self._stock.settle(part.content, sha256)
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
                self._stock.settle(lying, files[path])
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


def _told(fault: Exception) -> str:
    if isinstance(fault, Unusable | HostError):
        return str(fault)
    return f"unexpected {type(fault).__name__} (please report it)"


def contents_of(planned: Plan) -> Collection[str]:
    """What has to come from elsewhere, for files that do not hold it."""
    written = [change.target.want for change in planned.changes]
    contents = [want.content for want in written if isinstance(want, File)]
    return {content.sha256 for content in contents if isinstance(content, Lying)}
