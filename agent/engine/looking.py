"""How resources are found: many at once, where one look shows them all; and some not at all."""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from agent.engine.target import Record
from agent.host.errors import HostError
from agent.host.port import Host
from agent.resources import kind_named
from agent.resources.kind import CannotBeSo, State
from agent.spec import Key

_FEW = 3


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
