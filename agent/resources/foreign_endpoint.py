"""A network endpoint of somebody else's, which is removed where it is of no use any more."""

from collections.abc import Sequence
from contextlib import suppress

from agent.host.errors import Unsupported
from agent.host.networks import HNS
from agent.host.port import Host
from agent.resources.container_processes import is_running
from agent.resources.hns_objects import delete_endpoint
from agent.resources.kind import Kept, Kind, State
from agent.spec import Want

_OF = " of "


class ForeignEndpointResource(Kind[Want]):
    firm = frozenset({"stale"})
    kept_by = HNS

    def wanted(self, want: Want) -> State:  # noqa: ARG002 - all alike
        return {"stale": False}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - there is but one
        return {"stale": bool(_stale(host, name))}

    def apply(self, host: Host, want: Want, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - no content
        _remove(host, want.key.name)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        if before is not None and not before["stale"]:
            _remove(host, name)
        return None


def _remove(host: Host, name: str) -> None:
    for each in _stale(host, name):
        delete_endpoint(host, each)


def _stale(host: Host, name: str) -> Sequence[str]:
    """Whose network is gone; or which a start of Windows has left attached to nothing, as it also is for a
    moment while that program makes it.
    """
    endpoint, _, program = name.rpartition(_OF)
    with suppress(Unsupported):
        its = [each for each in host.networks.endpoints() if each.name == endpoint and not each.is_remote]
        if not its:
            return ()
        networks = {each.id for each in host.networks.list()}
        return [
            each.id
            for each in its
            if each.network not in networks or (not each.is_attached and not is_running(host, program))
        ]
    return ()


KIND = ForeignEndpointResource()
