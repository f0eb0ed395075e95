"""The operator's rules for services: which may need which, and in which order they start."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from agent.sources.report import Place, quoted
from agent.sources.services_configmap.model import WindowsService

Fault = tuple[Place, str]


def in_order(services: Iterable[WindowsService]) -> tuple[WindowsService, ...]:
    """By priority, of equals as they were given; but each behind those that it depends on.

    The operator's daemon goes by priority alone and would register a service before one that it needs.
    """
    by_priority = sorted(services, key=lambda service: service.priority)
    known = _by_name(by_priority)
    done: dict[str, WindowsService] = {}
    for first in by_priority:
        # Without recursion: a chain can be as long as the list.
        under_way = [first]
        while under_way:
            service = under_way[-1]
            waits_for = next(_needed(service, known, done, under_way), None)
            if waits_for is not None:
                under_way.append(waits_for)
            else:
                done[_folded(under_way.pop().name)] = service
    return tuple(done.values())


def _needed(
    service: WindowsService,
    known: Mapping[str, WindowsService],
    done: Mapping[str, WindowsService],
    under_way: Sequence[WindowsService],
) -> Iterator[WindowsService]:
    """A circle is left open; there is an entry about it."""
    for name in map(_folded, service.dependencies):
        if name in known and name not in done and known[name] not in under_way:
            yield known[name]


def faults(services: Sequence[WindowsService]) -> Iterator[Fault]:
    yield from _twice(services)
    yield from _bootstrap(services)
    yield from _cycles(services)
    yield from _priorities(services)


def oddities(services: Sequence[WindowsService]) -> Iterator[Fault]:
    """What the operator's daemon takes, and what was hardly meant."""
    known = _by_name(services)
    for service in services:
        for name in service.dependencies:
            other = known.get(_folded(name))
            if other is not None and other.priority > service.priority:
                message = f"service {quoted(other.name)} has a later priority; it starts first nevertheless"
                yield (*service.place, "dependencies"), message
        for place, name in _variables(service):
            if name not in service.command:
                yield place, f"{quoted(name)} is nowhere in the service's path"


def _variables(service: WindowsService) -> Iterator[tuple[Place, str]]:
    for variable in service.node_variables:
        yield variable.place, variable.name
    for script in service.pre_scripts:
        if script.variable:
            yield (*script.place, "variableName"), script.variable


def _twice(services: Iterable[WindowsService]) -> Iterator[Fault]:
    known: set[str] = set()
    for service in services:
        if _folded(service.name) in known:
            yield (*service.place, "name"), f"service {quoted(service.name)} is there twice"
        known.add(_folded(service.name))


def _bootstrap(services: Iterable[WindowsService]) -> Iterator[Fault]:
    known = _by_name(services)
    for service in known.values():
        if not service.bootstrap:
            continue
        if service.node_variables:
            message = "a bootstrap service starts before there is a Node, and can take nothing from it"
            yield (*service.place, "nodeVariablesInCommand"), message
        for name in service.dependencies:
            other = known.get(_folded(name))
            if other is not None and not other.bootstrap:
                message = f"a bootstrap service cannot depend on {quoted(other.name)}, which is none"
                yield (*service.place, "dependencies"), message


def _cycles(services: Iterable[WindowsService]) -> Iterator[Fault]:
    """Those that are left when all have gone that need nobody who is left."""
    left = _by_name(services)
    while free := [name for name, service in left.items() if not _needs(service, left)]:
        for name in free:
            del left[name]
    # Whoever needs one of a circle is left, too; nobody needs him.
    while ends := left.keys() - {name for service in left.values() for name in _needs(service, left)}:
        for name in ends:
            del left[name]
    if left:
        names = ", ".join(quoted(service.name) for service in left.values())
        first = next(iter(left.values()))
        yield (*first.place, "dependencies"), f"these services need each other in a circle: {names}"


def _needs(service: WindowsService, among: Mapping[str, WindowsService]) -> list[str]:
    return [name for name in map(_folded, service.dependencies) if name in among]


def _priorities(services: Iterable[WindowsService]) -> Iterator[Fault]:
    by_priority = sorted(services, key=lambda service: (service.priority, service.bootstrap))
    for before, service in pairwise(by_priority):
        if service.bootstrap and not before.bootstrap:
            message = (
                f"a bootstrap service needs a lower number than each of the others; {quoted(before.name)} has"
                f" {before.priority}"
            )
            yield (*service.place, "priority"), message


def _by_name(services: Iterable[WindowsService]) -> dict[str, WindowsService]:
    return {_folded(service.name): service for service in services}


def _folded(name: str) -> str:
    """Names of services have no case."""
    return name.upper()
