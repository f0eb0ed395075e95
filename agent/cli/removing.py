"""Services that go although others may need them."""

from collections.abc import Collection, Iterator

from agent.host.port import Host
from agent.resources import kind_named
from agent.resources.kind import pausable
from agent.resources.service import ask_shared_to_stop, running_by_need
from agent.spec import Service

_STOP_SECONDS = 60.0


def remove_services(host: Host, names: Collection[str]) -> None:
    """What runs and needs one of them is stopped first, and stays where it is not among them."""
    running = pausable(kind_named(Service.kind))
    assert running is not None
    going = {name.upper() for name in names}
    for name in _dependents_first(host, names):
        if name.upper() in going:
            running.pause(host, name, {})
        else:
            # It is only asked: its process may be others' as well.
            ask_shared_to_stop(host, name, _STOP_SECONDS)
    for name in names:
        host.services.delete(name)


def _dependents_first(host: Host, names: Collection[str]) -> Iterator[str]:
    """Windows stops no service while another one that needs it runs."""
    dependents = running_by_need(host)
    met: set[str] = set()

    def before(name: str) -> Iterator[str]:
        if name.upper() not in met:
            met.add(name.upper())
            for other in dependents.get(name.upper(), ()):
                yield from before(other)
            yield name

    for name in names:
        yield from before(name)
