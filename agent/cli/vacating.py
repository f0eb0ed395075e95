"""A node cordoned or drained while its kubelet is changed, as far as its own credentials may do that.

The Node itself says that it was us: whichever upgrade comes next gives back what one that was killed left.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent.cli import join_options, values
from agent.cli.failure import BadUsage, Failure
from agent.cli.join_cluster import as_node
from agent.cli.streams import tell
from agent.kube.draining import Draining, cordon, pods_to_evict, uncordon
from agent.kube.failure import Failed, Forbidden

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from agent.cli.arguments import Request
    from agent.host.port import Host

_REASON = "upgrade"
_SECONDS = 300.0
_PATIENCE = 60.0


def is_asked(request: Request) -> bool:
    """Raises BadUsage for what says how to drain, where nothing is to be drained."""
    values.seconds(request, join_options.DRAIN_TIMEOUT, _SECONDS)
    drains = request.has(join_options.DRAIN)
    for option in (join_options.DRAIN_TIMEOUT, join_options.EMPTY_DIRS):
        if request.has(option) and not drains:
            raise BadUsage(f"{option.name} goes with {join_options.DRAIN.name}", where=option.name)
    return drains or request.has(join_options.CORDON)


def preparation(request: Request, host: Host, name: str) -> Callable[[], None] | None:
    """What is to be done before the kubelet is stopped."""
    return (lambda: _vacate(request, host, name)) if is_asked(request) else None


def tell_what_would_go(request: Request, host: Host, name: str) -> None:
    """Raises Failure for what stands in the way of draining."""
    if not request.has(join_options.DRAIN):
        return
    with as_node(host, _PATIENCE, _notice) as client, _explained(name):
        if client is not None:
            pods = pods_to_evict(client, name, with_empty_dirs=request.has(join_options.EMPTY_DIRS))
            _notice(f"{len(pods)} pods would be evicted from the Node {name}")


def give_back(host: Host, name: str) -> None:
    """To the scheduler, where it was us who cordoned it. Raises Failure."""
    try:
        with as_node(host, _PATIENCE, _notice) as client:
            if client is not None and uncordon(client, name):
                _notice(f"the Node {name} is uncordoned")
    except Failure as fault:
        raise Failure(
            f"whether the Node {name} is still cordoned is not known: {fault}; the next wmcb upgrade looks "
            f"again, or run kubectl uncordon {name} elsewhere"
        ) from fault


def _vacate(request: Request, host: Host, name: str) -> None:
    with as_node(host, _PATIENCE, _notice) as client, _explained(name):
        if client is None:
            raise Failure("this machine has no credentials of its own yet: it cannot be cordoned or drained")
        if cordon(client, name, _REASON):
            _notice(f"the Node {name} is cordoned")
        if not request.has(join_options.DRAIN):
            return
        pods = pods_to_evict(client, name, with_empty_dirs=request.has(join_options.EMPTY_DIRS))
        seconds = values.seconds(request, join_options.DRAIN_TIMEOUT, _SECONDS)
        Draining(client, name, seconds, _notice).until_gone(pods)


@contextmanager
def _explained(name: str) -> Iterator[None]:
    try:
        yield
    except Forbidden as fault:
        raise Failure(
            f"{fault}; this node's credentials may not do that: grant it, or run kubectl drain {name} "
            "elsewhere, and upgrade without --cordon and --drain; nothing was changed on this machine"
        ) from fault
    except Failed as fault:
        raise Failure(f"{fault}; nothing was changed on this machine") from fault


def _notice(line: str) -> None:
    tell(f"wmcb: {line}")
