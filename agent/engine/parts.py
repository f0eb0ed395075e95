"""Whose is what of all that wmcb put on a machine.

Bootstrap, join and user data make the node's own part; what else says how a machine is to be, as a ConfigMap
does, has a part of its own. A run is about one of them: what that wanted before and does not want now goes,
and all else stays.

Two parts may want the same resource, but not the same otherwise: the one that wanted it first has the say.
When that wants it no more it is left to the next, as it is, so that nothing that runs notices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.engine.target import NODE, Record, Target
from agent.records import frozen, replaced
from agent.resources.kind import CannotBeSo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from agent.engine.inventory import Inventory
    from agent.engine.journal import Journal
    from agent.spec import Key, Specification, Want


class Taken(CannotBeSo):
    """Another part wanted it first, and otherwise."""

    def __init__(self, key: Key, holder: str, fields: tuple[str, ...]) -> None:
        otherwise = f" ({', '.join(fields)})" if fields else ""
        super().__init__(
            f"{key} is wanted otherwise{otherwise} than by {holder}, which made it; only that can change it"
        )
        self.key = key


@frozen
class Share:
    """What a run is about."""

    specification: Specification
    """To be made so: without what is another part's already."""
    remembered: Mapping[Key, Record]
    """Of these, what is not wanted goes."""
    others: Mapping[Key, Record]
    """These stay."""


def remembered(inventory: Inventory, journal: Journal | None) -> Mapping[Key, Record]:
    """Ours, with what an interrupted run may have made: it is wanted, or it goes."""
    records = dict(inventory.records)
    manners = {step.key: step.manner for step in journal.steps} if journal else {}
    for key, before in journal.first_before().items() if journal else ():
        target = Target(key, {}, manners[key], ())
        records.setdefault(key, Record(target, before, {}, (journal.part,) if journal else (NODE,)))
    return records


def share(
    specification: Specification,
    inventory: Inventory,
    records: Mapping[Key, Record],
    part: str | None,
    *,
    beside: bool,
) -> Share:
    """A run's, out of all `records`; None for a run about all parts. Raises Taken.

    `beside`: what is not wanted of the part's own stays, too.
    """
    wanted = specification.by_key()
    mine, others, met = {}, {}, set()
    for key, record in records.items():
        want = wanted.get(key)
        left = tuple(each for each in record.parts if part not in (None, each))
        if want is None and (beside or left):
            others[key] = record if beside else replaced(record, parts=left)
        elif part in (None, record.parts[0]):
            mine[key] = record
        elif want is not None:
            _check(want, record, inventory)
            others[key] = replaced(record, parts=(*left, str(part)))
            met.add(key)
    wants = tuple(want for want in specification.wants if want.key not in met)
    return Share(replaced(specification, wants=wants), mine, others)


def _check(want: Want, record: Record, inventory: Inventory) -> None:
    target, known = Target.of(want), record.target
    if target.kind.is_content(target.manner) or (target.wanted, target.manner) == (
        known.wanted,
        known.manner,
    ):
        return
    fields = {*target.wanted, *known.wanted}
    different = sorted(field for field in fields if target.wanted.get(field) != known.wanted.get(field))
    holder = inventory.title_of(record.parts[0]) or "what made this machine a node"
    raise Taken(want.key, holder, tuple(field.replace("_", " ") for field in different))
