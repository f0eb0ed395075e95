"""A resource as the engine handles it, by key; its states are plain documents; and how many are observed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from agent.host.errors import HostError
from agent.host.port import Host
from agent.redaction import register, register_document, register_name, register_words
from agent.resources import kind_named
from agent.resources.kind import CannotBeSo, Kind, State, Value
from agent.spec import Key, Want

NODE = ""
"""The part of what makes the machine a node: bootstrap, join, user data."""
_FEW = 3


@dataclass(frozen=True, slots=True)
class Target:
    key: Key
    wanted: State
    manner: State
    uses: tuple[Key, ...]
    want: Want | None = field(default=None, compare=False)
    """None for what is only remembered: it can be judged and taken back, not made so."""

    @classmethod
    def of(cls, want: Want) -> Target:
        kind = kind_named(want.key.kind)
        target = cls(want.key, kind.wanted(want), kind.manner(want), want.uses, want)
        _register_secrets(target.key, target.wanted, target.manner)
        return target

    @property
    def kind(self) -> Kind[Any]:
        return kind_named(self.key.kind)

    def observe(self, host: Host) -> State | None:
        return self.kind.observe(host, self.key.name, self.wanted)

    def document(self) -> dict[str, Value]:
        return {
            "key": [self.key.kind, self.key.name],
            "wanted": self.wanted,
            "manner": self.manner,
            "uses": [[key.kind, key.name] for key in self.uses],
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Target:
        uses = tuple(Key(*each) for each in document["uses"])
        target = cls(Key(*document["key"]), document["wanted"], document["manner"], uses)
        _register_secrets(target.key, target.wanted, target.manner)
        return target


@dataclass(frozen=True, slots=True)
class Record:
    """A resource that wmcb put on this machine, or took over."""

    target: Target
    before: State | None
    """How it was before wmcb first touched it."""
    settled: State | None
    """How it was found after it had been made as wanted; None for what had done its duty by then."""
    parts: tuple[str, ...] = (NODE,)
    """Which want it; how it is to be is said by the first (agent.engine.parts)."""
    asked_in: int | None = None
    """Where it waits for a restart: the start of Windows in which that was asked for."""
    is_leaving: bool = False
    """A reset could not take it back. Nobody keeps it, and the next reset tries again."""

    def is_to_come(self, found: State | None) -> bool:
        """Whether the program that writes it, and no run, has not written it up to now."""
        return found is None and self.settled is None and self.target.kind.comes_later

    def document(self) -> dict[str, Value]:
        document = self.target.document() | {"before": self.before, "settled": self.settled}
        if self.parts != (NODE,):
            document["parts"] = list(self.parts)
        if self.asked_in is not None:
            document["asked_in"] = self.asked_in
        if self.is_leaving:
            document["is_leaving"] = True
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Record:
        target, before = Target.from_document(document), document["before"]
        _register_secrets(target.key, before or {}, target.manner)
        parts, is_leaving = tuple(document.get("parts", (NODE,))), bool(document.get("is_leaving"))
        return cls(target, before, document["settled"], parts, document.get("asked_in"), is_leaving)


def seen_or_not(
    host: Host, records: Mapping[Key, Record]
) -> tuple[Mapping[Key, State | None], Mapping[Key, str]]:
    """How they are, and of those that nobody can look at just now, why."""
    seen, unseen = dict(seen_at_once(host, records)), {}
    for key, record in records.items():
        if key not in seen:
            try:
                seen[key] = record.target.observe(host)
            except (HostError, CannotBeSo) as fault:
                unseen[key] = str(fault)
    return seen, unseen


def seen_at_once(host: Host, keys: Iterable[Key]) -> Mapping[Key, State | None]:
    """Of those of which there are many, and which need not be looked at one by one.

    What cannot be looked at is left out: whoever looks at it alone learns why.
    """
    by_kind: dict[str, list[Key]] = {}
    for key in keys:
        by_kind.setdefault(key.kind, []).append(key)
    seen: dict[Key, State | None] = {}
    for kind, alike in by_kind.items():
        if len(alike) > _FEW:
            with suppress(HostError):
                found = kind_named(kind).observe_all(host)
                if found is not None:
                    seen |= {key: found.get(key.name) for key in alike}
    return seen


def _register_secrets(key: Key, state: State, manner: State) -> None:
    """Of a state that is remembered, or about to be made so: nothing that is shown of it tells them."""
    register_name(key.name)
    for field_name, value in state.items():
        if field_name == "command" and isinstance(value, list | tuple):
            register_words(map(str, value))
        elif field_name in ("value", "data"):
            # Named by what holds it: a variable, or a value of the registry.
            register_document(value, key.name.rpartition("\\")[2])
            if manner.get("secret"):
                register(*map(str, value if isinstance(value, list | tuple) else [value]))
        else:
            register_document(value, field_name)
