"""What takes effect only when Windows has been restarted, and what has to wait until then.

A run makes what it can without what waits for a restart, and remembers in which start of Windows it has asked
for one. The run after it goes on from there. What waits again by then would wait for ever: that is an error,
and no reason for a further restart.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from agent.engine.parts import Share
from agent.engine.planning import differences
from agent.engine.target import Record, Target
from agent.host.port import Host
from agent.resources import kind_named
from agent.resources.kind import CannotBeSo, field_in_words
from agent.spec import Key, Want


class InVain(CannotBeSo):
    """This machine has been restarted for something, and it has not come of that."""


def awaiting(host: Host, keys: Iterable[Key]) -> Mapping[Key, str]:
    """Those of them that wait for a restart, and why."""
    asked = ((key, kind_named(key.kind).awaits_restart(host, key.name)) for key in keys)
    return {key: why for key, why in asked if why is not None}


def users_of(keys: Collection[Key], wants: Iterable[Want]) -> set[Key]:
    """All that needs one of them, or something that does; `wants` in order, each after what it uses."""
    found: set[Key] = set()
    for want in wants:
        if any(used in keys or used in found for used in want.uses):
            found.add(want.key)
    return found


def without(share: Share, keys: Collection[Key]) -> Share:
    """What a run is about while these have to wait: they stay as they are, if they are there."""
    if not keys:
        return share
    wants = tuple(want for want in share.specification.wants if want.key not in keys)
    waiting = {key: record for key, record in share.remembered.items() if key in keys}
    return replace(
        share,
        specification=replace(share.specification, wants=wants),
        remembered={key: record for key, record in share.remembered.items() if key not in keys},
        others={**share.others, **waiting},
    )


def awaited(host: Host, share: Share, *, goes_on: bool) -> Mapping[Key, str]:
    """What of a run's waits for a restart from before it. Raises InVain, unless it `goes_on` with another."""
    wants = share.specification.wants
    if not goes_on:
        for want in wants:
            _check(host, want, share.remembered.get(want.key))
    return awaiting(host, (want.key for want in wants))


def _check(host: Host, want: Want, record: Record | None) -> None:
    if record is None or record.asked_in in (None, host.clock.boot()):
        return
    target = Target.of(want)
    if record.target.wanted == target.wanted and (why := _still(host, target, record)):
        raise InVain(
            f"this machine was restarted for {want.key}, and {why}: another program changes it, too, or"
            " Windows does not take it"
        )


def _still(host: Host, target: Target, record: Record) -> str | None:
    """What is not as it was to be then."""
    kind = target.kind
    for one in differences(target, target.observe(host), record):
        found, wanted = (kind.shown(one.field, value, target.manner) for value in (one.found, one.wanted))
        return f"{field_in_words(one.field)} is {found}, not {wanted}"
    why = kind.awaits_restart(host, target.key.name)
    return None if why is None else f"it waits again ({why})"


def asked(host: Host, records: Mapping[Key, Record], waiting: Collection[Key]) -> dict[Key, Record]:
    """`records`, and that a restart has been asked for by now."""
    boot = host.clock.boot() if waiting else None
    return {
        key: replace(record, asked_in=boot) if key in waiting else record for key, record in records.items()
    }
