"""A file: its content by hash, and who may do what with it."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import PureWindowsPath

from agent.host.errors import NoSpace, NotFound
from agent.host.files import FileKind, Files
from agent.host.port import Host
from agent.host.replacing import patiently
from agent.host.sddl import SecurityDescriptor
from agent.resources import descriptors
from agent.resources.kind import Kept, Kind, NotWell, State, Value, without_none
from agent.resources.trees import are_on_one_drive, is_file, remove_leftovers
from agent.spec import File, Lying


class FileResource(Kind[File]):
    firm = frozenset({"type", "sha256"})

    def wanted(self, want: File) -> State:
        sha256 = want.content.sha256 if want.content else None
        descriptor = descriptors.text(_descriptor(want))
        return without_none({"type": FileKind.FILE.value, "descriptor": descriptor, "sha256": sha256})

    def manner(self, want: File) -> State:
        until = str(want.until) if want.until else None
        return without_none({"until": until, "sha256": want.content.sha256 if want.content else None})

    def is_over(self, host: Host, manner: State) -> bool:
        until = manner.get("until")
        return until is not None and is_file(host.files, PureWindowsPath(str(until)))

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - all are cheap
        path = PureWindowsPath(name)
        # A virus scanner looks into each new file, and nobody else may read it meanwhile.
        there = patiently(host.clock, lambda: host.files.examine(path, content=True))
        if there is None:
            return None
        kind = there.state.kind.value
        if there.sha256 is None:
            return {"type": kind}
        return {"type": kind, "descriptor": descriptors.text(there.descriptor), "sha256": there.sha256}

    def same(self, field: str, wanted: Value, found: Value) -> bool:
        return descriptors.same(wanted, found) if field == "descriptor" else wanted == found

    def shown(self, field: str, value: Value, manner: State) -> str:
        return f"{value}"[:12] if field == "sha256" else super().shown(field, value, manner)

    def obstacle(self, want: File, found: State | None) -> str | None:
        if found is None:
            missing = want.content is None
            return f"{want.path} has to be there already, and is not; put it there first" if missing else None
        if found["type"] != FileKind.FILE.value:
            return f"{want.path} is a {found['type']}, where a file is to be; move it away"
        return None

    def keep(self, host: Host, name: str, found: State, becomes: State | None, kept: Kept) -> None:
        content = found.get("sha256")
        stays = becomes is not None and becomes.get("sha256", content) == content
        if content is None or stays:
            return
        path = PureWindowsPath(name)
        try:
            kept.keep(str(content), host.files.blocks(path))
        except NoSpace:
            # It is about to be replaced or removed, so it can as well be moved, which needs no room.
            if not kept.take(str(content), path):
                raise

    def apply(self, host: Host, want: File, found: State | None, kept: Kept) -> None:
        descriptor = _descriptor(want)
        content = want.content
        if content is None or (found is not None and found["sha256"] == content.sha256):
            host.files.set_descriptor(want.path, descriptor)
            return
        if isinstance(content, Lying) and content.is_to_go and are_on_one_drive(content.place, want.path):
            _move(host.files, want.path, content.place, descriptor)
            return
        # Where it comes from may have gone with what is no longer wanted: an install directory, say.
        blocks = kept.blocks(content.sha256) if kept.has(content.sha256) else content.blocks()
        _write(host.files, want.path, blocks, descriptor)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:
        path = PureWindowsPath(name)
        there = host.files.observe(path)
        if there is not None and there.kind is not FileKind.FILE:
            return f"{path} is a {there.kind.value} now, and stays"
        if before is None:
            with suppress(NotFound):
                host.files.remove(path)
            return None
        if before["type"] != FileKind.FILE.value:
            return None  # nothing was done to it
        content, descriptor = str(before["sha256"]), descriptors.parsed(before["descriptor"])
        now = self._sha256(host, path)
        if now != content and kept.has(content):
            _give_back(host, path, content, now, descriptor, kept)
            return None
        if there is not None:
            host.files.set_descriptor(path, descriptor)
        if now == content:
            return None
        if manner.get("sha256") in (None, content):  # then wmcb has never replaced it
            return f"{path} has been changed by somebody else, and stays as it is"
        return f"{path} stays as it is: what was there before is missing from {kept.place(content)}"

    def _sha256(self, host: Host, path: PureWindowsPath) -> str | None:
        found = self.observe(host, str(path), {})
        return str(found["sha256"]) if found else None

    def tidy(self, host: Host, names: Iterable[str]) -> None:
        for folder in {PureWindowsPath(name).parent for name in names}:
            remove_leftovers(host.files, folder)


def _descriptor(want: File) -> SecurityDescriptor:
    return descriptors.strictest(descriptors.OF_FILE[want.protection], want.below)


def _write(
    files: Files, path: PureWindowsPath, content: Iterable[bytes], descriptor: SecurityDescriptor
) -> None:
    aside = files.write(path, content, descriptor)
    if aside is not None:
        files.remove_at_reboot(aside)


def _move(
    files: Files, path: PureWindowsPath, lying: PureWindowsPath, descriptor: SecurityDescriptor
) -> None:
    if files.observe(lying) is None:
        raise NotWell(f"{path} does not stay as it was made; another program changes or removes it")
    aside = files.put(path, lying, descriptor)
    if aside is not None:
        files.remove_at_reboot(aside)


def _give_back(
    host: Host,
    path: PureWindowsPath,
    content: str,
    now: str | None,
    descriptor: SecurityDescriptor,
    kept: Kept,
) -> None:
    try:
        _write(host.files, path, kept.blocks(content), descriptor)
    except NoSpace:
        if (now is not None and not kept.take(now, path)) or not kept.give(content, path):
            raise
        host.files.set_descriptor(path, descriptor)
