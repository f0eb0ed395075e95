"""What a run did, step by step, written before each is done: how it is finished or taken back after a crash.

A line a step, each a JSON document that is flushed to the disk before the step begins. A last line that a
crash cut short, or left as something else, was of a step that had not begun.
"""

from __future__ import annotations

import enum
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.engine.inventory import Inventory, check_format, check_kinds, written_format
from agent.engine.state_folder import StateFolder
from agent.engine.target import NODE
from agent.host.errors import NoSpace
from agent.release import RELEASE
from agent.resources.kind import CannotBeSo, State, Value
from agent.resources.own_folder import sealed, unsealed
from agent.spec import Key


class Deed(enum.Enum):
    PAUSE = "pause"
    CHANGE = "change"
    RESUME = "resume"


@dataclass(frozen=True, slots=True)
class Step:
    deed: Deed
    key: Key
    before: State | None
    """How the resource was just before."""
    manner: State

    def document(self) -> dict[str, Value]:
        return {
            "deed": self.deed.value,
            "key": [self.key.kind, self.key.name],
            "before": self.before,
            "manner": self.manner,
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Step:
        deed, key = Deed(document["deed"]), Key(*document["key"])
        return cls(deed, key, document["before"], document["manner"])


@dataclass(slots=True, eq=False, repr=False)
class Journal:
    """Of one run, which may have been interrupted any number of times."""

    _folder: StateFolder
    run: str
    repairs: bool
    """All of it makes things as the inventory says they are."""
    part: str
    """What the run is about."""
    _lines: list[bytes]
    _steps: list[Step] = field(default_factory=list)
    _torn: bool = False
    """There is something after its lines, and nothing can be added to that."""

    @classmethod
    def begin(cls, folder: StateFolder, *, repairs: bool = False, part: str = NODE) -> Journal:
        run = os.urandom(8).hex()  # to import secrets draws in far more
        head: dict[str, Value] = {
            "format": written_format(has_parts=part != NODE),
            "run": run,
            "wmcb": RELEASE,
            "repairs": repairs,
            "part": part,
        }
        line = _line(head)
        folder.write(folder.journal, line)
        return cls(folder, run, repairs, part, [line])

    @classmethod
    def unfinished(cls, folder: StateFolder) -> Journal | None:
        """What an interrupted run left, if one did."""
        content = folder.read(folder.journal)
        if content is None:
            return None
        lines = content.splitlines(keepends=True)
        while lines and not _is_whole(lines[-1]):
            lines.pop()
        if not lines:
            return None  # not even its first line was written: nothing had been done
        try:
            head, *steps = [json.loads(unsealed(folder.host, line.decode())) for line in lines]
            check_format(str(folder.journal), head["format"])
            done = [Step.from_document(step) for step in steps]
            check_kinds(str(folder.journal), (step.key for step in done))
            repairs, part = bool(head.get("repairs")), str(head.get("part", NODE))
            return cls(folder, head["run"], repairs, part, lines, done, b"".join(lines) != content)
        except (ValueError, KeyError, TypeError) as fault:
            raise CannotBeSo(
                f"{folder.journal} is damaged; it says what an interrupted run had changed: look at it, "
                "then move it away"
            ) from fault

    @property
    def steps(self) -> Sequence[Step]:
        return tuple(self._steps)

    def add(self, step: Step) -> None:
        line = sealed(self._folder.host, _line(step.document()).decode()).encode()
        try:
            self._add(line)
        except NoSpace:
            # Part of the line may be there. As a whole it has the room that is kept for it.
            self._torn = True
            self._add(line)
        self._lines.append(line)
        self._steps.append(step)

    def _add(self, line: bytes) -> None:
        if self._torn:
            self._folder.write(self._folder.journal, b"".join([*self._lines, line]))
            self._torn = False
        else:
            self._folder.append(self._folder.journal, line)

    def first_before(self) -> Mapping[Key, State | None]:
        """How each resource was before the run touched it."""
        first: dict[Key, State | None] = {}
        for step in self._steps:
            first.setdefault(step.key, step.before)
        return first

    def is_over(self, inventory: Inventory) -> bool:
        """Return whether nothing of it is left to finish: the inventory is its own, or it was a repair."""
        return self.repairs or self.run == inventory.run

    def end(self) -> None:
        self._folder.remove(self._folder.journal)


def _is_whole(line: bytes) -> bool:
    """Not cut short by a crash, which may leave zeros as well, and a line's end after them."""
    try:
        json.loads(line)
    except ValueError:
        return False
    return line.endswith(b"\n")


def _line(document: Mapping[str, Value]) -> bytes:
    return json.dumps(document).encode() + b"\n"


def unfinished(folder: StateFolder, inventory: Inventory) -> Journal | None:
    """A journal whose run wrote the inventory had come to its end: only its removal was missed.

    That of a repair needs no finishing either: what is still to be repaired shows.
    """
    journal = Journal.unfinished(folder)
    return None if journal is None or journal.is_over(inventory) else journal
