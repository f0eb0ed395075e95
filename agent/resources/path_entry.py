"""One entry of the machine's Path, among those of others."""

from collections.abc import Iterator, Sequence

from agent.host.port import Host, RegistryKind
from agent.host.variables import KEY
from agent.resources.kind import Kept, Kind, State, Value
from agent.spec.machine import PathEntry

PATH = "Path"
_TEXTS = (None, RegistryKind.STRING, RegistryKind.EXPANDABLE)


class PathEntryResource(Kind[PathEntry]):
    firm = frozenset({"is_there"})
    common_keys = (KEY,)

    def wanted(self, want: PathEntry) -> State:  # noqa: ARG002 - which one its key tells
        return {"is_there": True}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - all of it is cheap
        if host.environment.kind(PATH) not in _TEXTS:
            return {"is_there": None}
        entries, mine = _entries(host), _folded(name)
        at = next((at for at, folder in enumerate(_meant(host, entries)) if folder == mine), None)
        if at is None:
            return None
        # As it is written, and after what: should it have to come back.
        return {"is_there": True, "entry": entries[at], "after": entries[at - 1] if at else ""}

    def obstacle(self, want: PathEntry, found: State | None) -> str | None:  # noqa: ARG002 - of all alike
        if found is not None and found["is_there"] is None:
            return f"the machine's {PATH} is no text in the registry; put that right first"
        return None

    def apply(self, host: Host, want: PathEntry, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - it has no content
        if found is None:
            _put(host, str(want.folder), None)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        now = self.observe(host, name, {})
        if before is not None and before["is_there"]:
            if now is None:
                _put(host, str(before.get("entry", name)), before.get("after"))
            return None
        entries = _entries(host)
        if name in entries:
            entries.remove(name)  # one that is written otherwise is somebody else's
            _set(host, entries)
        return None


def _entries(host: Host) -> list[str]:
    found = host.environment.get(PATH)
    return found.split(";") if found else []


def _put(host: Host, entry: str, after: Value) -> None:
    """After what it was after; else behind all, but before a semicolon that ends it."""
    entries = _entries(host)
    place = len(entries) - (entries[-1:] == [""])
    if after == "":
        place = 0
    elif after in entries:
        place = entries.index(str(after)) + 1
    _set(host, [*entries[:place], entry, *entries[place:]])


def _set(host: Host, entries: Sequence[str]) -> None:
    kind = host.environment.kind(PATH) or RegistryKind.EXPANDABLE
    host.environment.set(PATH, ";".join(entries), kind)


def _meant(host: Host, entries: Sequence[str]) -> Iterator[str]:
    expands = host.environment.kind(PATH) is RegistryKind.EXPANDABLE
    for entry in entries:
        yield _folded(host.environment.expand(entry) if expands and "%" in entry else entry)


def _folded(folder: str) -> str:
    """What Windows takes for the same folder."""
    return folder.strip().strip('"').replace("/", "\\").rstrip("\\").upper()


KIND = PathEntryResource()
