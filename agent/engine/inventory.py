"""What wmcb put on this machine, as of the last run that ended well."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field

from agent.engine.state_folder import StateFolder
from agent.engine.target import NODE, Record
from agent.host.port import Host
from agent.resources import UnknownKind, kind_named
from agent.resources.kind import CannotBeSo
from agent.resources.own_folder import is_secret, sealed, unsealed
from agent.spec import Key

FORMAT = 3
"""Of the file. One that is older is read; one that is newer was written by a newer wmcb and is refused."""
_WITHOUT_SEALS = 2
"""Written where no password is in it: a wmcb that knows no seals would give them back as they stand."""
_WITHOUT_PARTS = 1
"""Written where it says all: a wmcb that knows no parts would take another's for the node's own."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Of a part."""

    title: str = ""
    """Where the specification came from."""
    recipe: str = ""
    """A hash of all that the specification was made of; empty where nobody can say that."""
    command: str = ""
    """How somebody asked for it, for a person; empty where that is not known. Without secrets."""


@dataclass(frozen=True, slots=True)
class Inventory:
    records: Mapping[Key, Record] = field(default_factory=dict)
    """In the order in which they were made."""
    run: str = ""
    """Which run wrote it, or was taken back to it: that run's journal, should it still be there, is no longer
    of use."""
    origins: Mapping[str, Origin] = field(default_factory=dict)
    """Of each part that there is something of."""

    def origin_of(self, part: str) -> Origin:
        """An empty one for a part that nothing is there of."""
        return self.origins.get(part, Origin())

    def recipe_of(self, part: str) -> str:
        return self.origin_of(part).recipe

    @classmethod
    def load(cls, folder: StateFolder) -> Inventory:
        """What the one says, or where it is lost or damaged its copy. Raises CannotBeSo."""
        is_damaged = False
        for place in (folder.inventory, folder.inventory_copy):
            content = folder.read(place)
            if content is None:
                continue
            try:
                return cls._of(str(place), unsealed(folder.host, content.decode()))
            except (ValueError, KeyError, TypeError):
                is_damaged = True
        if is_damaged:
            raise CannotBeSo(
                f"{folder.inventory} is damaged, and so is its copy; put one back from a backup, or let wmcb"
                f" forget what it did here: {folder.host.called} reset --forget"
            )
        return cls()

    @classmethod
    def _of(cls, place: str, content: str) -> Inventory:
        document = json.loads(content)
        check_format(place, document["format"])
        records = [Record.from_document(each) for each in document["resources"]]
        check_kinds(place, (record.target.key for record in records))
        by_key = {record.target.key: record for record in records}
        origins = {NODE: Origin(document["title"], document.get("recipe", ""), document.get("command", ""))}
        for name, part in document.get("parts", {}).items():
            origins[name] = Origin(part["title"], part["recipe"], part.get("command", ""))
        return cls(by_key, document["run"], origins)

    def save(self, folder: StateFolder) -> None:
        others = {name: origin for name, origin in self.origins.items() if name != NODE}
        has_parts = others or any(record.parts != (NODE,) for record in self.records.values())
        document = {
            "format": written_format(has_parts=bool(has_parts)),
            "run": self.run,
            **asdict(self.origin_of(NODE)),
            "resources": [record.document() for record in self.records.values()],
        }
        if others:
            document["parts"] = {name: asdict(origin) for name, origin in others.items()}
        text = json.dumps(document, indent=1)
        if is_secret(text):
            text = sealed(folder.host, json.dumps({**document, "format": FORMAT}, indent=1))
        folder.write(folder.inventory, text.encode())


def needed_contents(records: Mapping[Key, Record]) -> set[str]:
    """Hashes of what may have to come back."""
    befores = (record.before for record in records.values())
    return {str(before["sha256"]) for before in befores if before and "sha256" in before}


def check_kinds(file: str, keys: Iterable[Key]) -> None:
    for name in {key.kind for key in keys}:
        try:
            kind_named(name)
        except UnknownKind as fault:
            raise CannotBeSo(
                f"{file} was written by a newer wmcb (it names a {name}, unknown here); use that one"
            ) from fault


def written_format(*, has_parts: bool) -> int:
    return _WITHOUT_SEALS if has_parts else _WITHOUT_PARTS


def check_format(file: str, found: object) -> None:
    if not isinstance(found, int):
        raise TypeError("format is not a number")
    if found > FORMAT:
        raise CannotBeSo(
            f"{file} was written by a newer wmcb (format {found}, known: {FORMAT}); use that one"
        )


def read_state(host: Host) -> tuple[StateFolder, Inventory]:
    """Return what is remembered, for those who only look. Raises CannotBeSo."""
    folder = StateFolder.of(host)
    folder.check()
    return folder, Inventory.load(folder)
