"""What wmcb put on this machine, as of the last run that ended well."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agent.engine.target import Record
from agent.records import field, frozen
from agent.resources import UnknownKind, kind_named
from agent.resources.kind import CannotBeSo

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from agent.engine.state_folder import StateFolder
    from agent.spec import Key

FORMAT = 1
"""Of the file. One that is older is read; one that is newer was written by a newer wmcb and is refused."""


@frozen
class Inventory:
    records: Mapping[Key, Record] = field(default_factory=dict)
    """In the order in which they were made."""
    run: str = ""
    """Which run wrote it: that run's journal, should it still be there, is no longer of use."""
    title: str = ""
    """Where the specification came from."""
    recipe: str = ""
    """A hash of all that the specification was made of; empty where nobody can say that."""

    @classmethod
    def load(cls, folder: StateFolder) -> Inventory:
        """What the one says, or where it is lost or damaged its copy. Raises CannotBeSo."""
        is_damaged = False
        for place in (folder.inventory, folder.inventory_copy):
            content = folder.read(place)
            if content is None:
                continue
            try:
                return cls._of(str(place), content)
            except (ValueError, KeyError, TypeError):
                is_damaged = True
        if is_damaged:
            raise CannotBeSo(
                f"{folder.inventory} is damaged, and so is its copy; put one back from a backup, or let wmcb"
                " forget what it did here: reset --forget"
            )
        return cls()

    @classmethod
    def _of(cls, place: str, content: bytes) -> Inventory:
        document = json.loads(content)
        check_format(place, document["format"])
        records = [Record.from_document(each) for each in document["resources"]]
        check_kinds(place, (record.target.key for record in records))
        by_key = {record.target.key: record for record in records}
        return cls(by_key, document["run"], document["title"], document.get("recipe", ""))

    def save(self, folder: StateFolder) -> None:
        document = {
            "format": FORMAT,
            "run": self.run,
            "title": self.title,
            "recipe": self.recipe,
            "resources": [record.document() for record in self.records.values()],
        }
        folder.write(folder.inventory, json.dumps(document, indent=1).encode())


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


def check_format(file: str, found: object) -> None:
    if not isinstance(found, int):
        raise TypeError("format is not a number")
    if found > FORMAT:
        raise CannotBeSo(
            f"{file} was written by a newer wmcb (format {found}, known: {FORMAT}); use that one"
        )
