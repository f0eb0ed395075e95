"""What a kubelet writes for itself, to be known by the cluster and on the network."""

import re
from contextlib import suppress
from pathlib import PureWindowsPath
from typing import ClassVar

from agent.host.errors import AlreadyExists, NotFound
from agent.host.files import FileKind
from agent.host.port import Host
from agent.resources.kind import Kept, Kind, State, Value
from agent.resources.trees import are_on_one_drive, is_file
from agent.spec import Want


class CredentialsResource(Kind[Want]):
    """A file that a node's program writes for itself: whether it is there, and since when."""

    firm = frozenset()
    comes_later = True
    wanted_of_all: ClassVar[State] = {}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - it is cheap
        return {"there": True} if is_file(host.files, PureWindowsPath(name)) else None

    def apply(self, host: Host, want: Want, found: State | None, kept: Kept) -> None:
        """The journal has it by now: that is all."""

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        path = PureWindowsPath(name)
        if before is None and is_file(host.files, path):
            with suppress(NotFound):
                host.files.remove(path)
        return None


_OF_A_KUBELET = re.compile(r"kubelet[^\\/]*\.(pem|crt|key)", re.IGNORECASE)
"""kubelet-client-current.pem is a link to a dated one; kubelet-server-*.pem alike. Of kubelet.crt and
kubelet.key, which it makes for itself, the next kubelet would go on with the old machine's names."""


class CertificatesResource(Kind[Want]):
    """What a kubelet writes into the folder of its certificates: which of it was there before."""

    firm = frozenset()
    comes_later = True
    wanted_of_all: ClassVar[State] = {"new_files": "go with the node"}
    """Never observed, so that the first run has a step, whose state tells what was there before."""

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - it is cheap
        folder = PureWindowsPath(name)
        there = host.files.observe(folder)
        if there is None or there.kind is not FileKind.DIRECTORY:
            return None
        return {"files": [each for each in host.files.list(folder) if _OF_A_KUBELET.fullmatch(each)]}

    def apply(self, host: Host, want: Want, found: State | None, kept: Kept) -> None:
        """The journal has what was there before by now: that is all."""

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        folder, former, now = PureWindowsPath(name), _files(before), _files(self.observe(host, name, {}))
        for each in now:
            if each not in former:
                _take_away(host, folder / each, kept)
        missing = [each for each in former if each not in now and not _bring_back(host, folder / each, kept)]
        return f"{', '.join(missing)} of {folder} cannot be brought back" if missing else None


def _files(state: State | None) -> list[str]:
    found: Value = state["files"] if state else []
    return [str(name) for name in found] if isinstance(found, list) else []


def _take_away(host: Host, path: PureWindowsPath, kept: Kept) -> None:
    """In one move, so that it can come back if the run fails after all; a link cannot be moved."""
    aside = kept.aside(path)
    there = host.files.observe(path)
    with suppress(NotFound):
        if there is not None and there.kind is FileKind.FILE and are_on_one_drive(aside, path):
            with suppress(AlreadyExists):  # an attempt before this one was cut off
                host.files.move(path, aside)
                return
        host.files.remove(path)


def _bring_back(host: Host, path: PureWindowsPath, kept: Kept) -> bool:
    try:
        host.files.move(kept.aside(path), path)
    except NotFound:
        return False
    return True
