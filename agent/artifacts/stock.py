"""A folder of ours in which artifacts lie until a run has what they hold: by hash, and all of it proven.

A note for each says what it was found to be. What is in the folder nobody else may write, so that it is not
hashed again; it goes when the run that wanted it has ended well.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import PureWindowsPath

from agent.artifacts.failure import Unusable
from agent.artifacts.means import Means
from agent.artifacts.receiving import Progress, Unseen
from agent.artifacts.room import Room
from agent.artifacts.supplying import Supplying, identity, of_one_file
from agent.engine.planning import Plan
from agent.hashing import new_sha256
from agent.host.errors import AlreadyExists, HostError, NoSpace, NotFound
from agent.host.port import Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE
from agent.resources.artifact import known
from agent.resources.trees import remove_tree
from agent.spec import Artifact, File, Lying, Unpacking

_AT_ONCE = 4


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
        with self._settling:
            if self.has(sha256):
                self._host.files.remove(lying)
            else:
                self._host.files.move(lying, self.folder / sha256)

    def note(self, artifact: Artifact, found: Artifact) -> None:
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


def _told(fault: Exception) -> str:
    if isinstance(fault, Unusable | HostError):
        return str(fault)
    return f"unexpected {type(fault).__name__} (please report it)"


def contents_of(planned: Plan) -> Collection[str]:
    """What has to come from elsewhere, for files that do not hold it."""
    written = [change.target.want for change in planned.changes]
    contents = [want.content for want in written if isinstance(want, File)]
    return {content.sha256 for content in contents if isinstance(content, Lying)}
