"""A node cordoned or drained while its kubelet is changed, as far as its own credentials may do that.

The Node itself says that it was us: whichever upgrade comes next gives back what one that was killed left.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

from agent.cli import options, streams, values
from agent.cli.arguments import Request
from agent.cli.asking import Notice
from agent.cli.failure import Failure
from agent.cli.join_cluster import as_node
from agent.engine import run as engine
from agent.engine.machine_lock import Busy
from agent.host.errors import HostError
from agent.host.port import Host
from agent.kube.answers import Object
from agent.kube.client import Client
from agent.kube.draining import CORDONED, Draining, cordon, pods_to_evict, uncordon
from agent.kube.failure import Failed, Forbidden
from agent.resources.kind import CannotBeSo

_REASON = "upgrade"
_SECONDS = 300.0
_PATIENCE = 60.0


def is_asked(request: Request) -> bool:
    """Raises BadUsage for what says how to drain, where nothing is to be drained."""
    values.seconds(request, options.DRAIN_TIMEOUT, _SECONDS)
    drains = request.has(options.DRAIN)
    for option in (options.DRAIN_TIMEOUT, options.EMPTY_DIRS):
        if request.has(option) and not drains:
            raise option.misused(f" goes with {options.DRAIN.name}")
    return drains or request.has(options.CORDON)


@contextmanager
def vacated(request: Request, host: Host, name: str, notice: Notice) -> Iterator[Callable[[], None] | None]:
    """Around an upgrade. Gives what is to be done before the kubelet is stopped; when all has ended, well or
    not, the node takes pods again. Raises Failure.
    """
    may_be_cordoned = engine.interrupted(host) is not None

    def vacate() -> None:
        nonlocal may_be_cordoned
        may_be_cordoned = True
        _vacate(request, host, name, notice)

    try:
        yield vacate if is_asked(request) else None
    except BaseException:
        # What ends before it came to any of this leaves the node to whoever is at work on it.
        if may_be_cordoned:
            _try_to_give_back(host, name, notice)
        raise
    give_back(host, name, notice)


def tell_what_would_go(request: Request, host: Host, name: str) -> None:
    """Raises Failure for what stands in the way of draining."""
    if not request.has(options.DRAIN):
        return
    with as_node(host, _PATIENCE, streams.notice) as client, _explained(name):
        if client is not None:
            pods = _pods(request, client, name)
            streams.notice(f"{len(pods)} pods would be evicted from the Node {name}")


def give_back(host: Host, name: str, notice: Notice) -> None:
    """To the scheduler, where it was us who cordoned it; not while a run is under way, which does so itself,
    or one has been cut off, whose kubelet may not run. Also where this one did not cordon: an earlier one may
    have been killed before it came to this. Raises Failure.
    """
    with suppress(Busy), engine.at_rest(host, notice) as is_whole:
        if is_whole:
            _uncordon(host, name, notice)
            return
    notice(f"the Node {name} is left as it is in the cluster: the next wmcb upgrade that ends well looks")


def _try_to_give_back(host: Host, name: str, notice: Notice) -> None:
    """Told at most, since something else is raised."""
    try:
        give_back(host, name, notice)
    except (Failure, HostError, CannotBeSo) as fault:
        notice(str(fault))


def _uncordon(host: Host, name: str, notice: Notice) -> None:
    try:
        with as_node(host, _PATIENCE, notice) as client:
            if client is not None and uncordon(client, name):
                notice(f"the Node {name} is uncordoned")
    except Failure as fault:
        raise Failure(
            f"whether the Node {name} is still cordoned is not known: {fault}; the next wmcb upgrade looks "
            f"again, or run kubectl uncordon {name} and kubectl annotate node {name} {CORDONED}- elsewhere"
        ) from fault


def _vacate(request: Request, host: Host, name: str, notice: Notice) -> None:
    with as_node(host, _PATIENCE, notice) as client, _explained(name):
        if client is None:
            raise Failure("this machine has no credentials of its own yet: it cannot be cordoned or drained")
        drains = request.has(options.DRAIN)
        if drains:
            _pods(request, client, name)  # what stands in the way does so before anything is changed
        if cordon(client, name, _REASON):
            notice(f"the Node {name} is cordoned")
        if drains:
            # Those that have been scheduled since are among them.
            pods = _pods(request, client, name)
            seconds = values.seconds(request, options.DRAIN_TIMEOUT, _SECONDS)
            Draining(client, name, seconds, notice).until_gone(pods)


def _pods(request: Request, client: Client, name: str) -> Mapping[str, Object]:
    """Raises NotEvictable."""
    return pods_to_evict(client, name, with_empty_dirs=request.has(options.EMPTY_DIRS))


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
