"""Who may change this machine now: one process, and a person's command before the resident service.

Two locks of the host, both freed when their process dies, so that no request outlives its command. LOCK is
held while the machine is changed. COMMAND_LOCK is held by a person's command, also while it waits for LOCK:
it is the request that the resident service reads before each work item and between the steps of a repair.
Only SYSTEM and administrators can make either.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager

from agent.host.port import Host

LOCK = "wmcb"
COMMAND_LOCK = "command"
LONGEST_WAIT_SECONDS = 300.0
"""A step may take minutes: a kubelet that does not heed a stop is ended after one."""
_MOMENT_SECONDS = 0.5
"""The resident service's copies and most of its repairs are over in it: nothing is said of them."""
_PAUSE_SECONDS = 0.05
_AT_WORK = "another wmcb is at work on this machine"


class Busy(Exception):
    """Another process is changing this machine, or has a better right to."""


def held(host: Host, waiting: Callable[[str], None], *, is_resident: bool) -> AbstractContextManager[None]:
    """Hold the machine for the resident service or for a person's command. Raises Busy."""
    return held_by_service(host) if is_resident else held_by_command(host, waiting)


@contextmanager
def held_by_command(host: Host, waiting: Callable[[str], None]) -> Iterator[None]:
    """Hold the machine for a person's command. Raises Busy.

    Another command is not waited for: it may take long, and change what this one is about. The resident
    service is, after one line to `waiting`, since it gives way.
    """
    with ExitStack() as locks:
        if not _is_taken(host, COMMAND_LOCK, locks, _MOMENT_SECONDS):
            who = f"another wmcb command{_process(host, COMMAND_LOCK)}"
            raise Busy(f"{who} is at work on this machine: wait until it has ended")
        if not _is_taken(host, LOCK, locks, _MOMENT_SECONDS):
            most = f"at most {LONGEST_WAIT_SECONDS:g} seconds"
            waiting(f"waiting for {_service(host)} to end what it is doing on this machine, {most}")
            if not _is_taken(host, LOCK, locks, LONGEST_WAIT_SECONDS):
                still = f"is still at work on this machine after {LONGEST_WAIT_SECONDS:g} seconds"
                raise Busy(f"{_service(host)} {still}: look at its log, or stop it, and try again")
        yield


@contextmanager
def held_by_service(host: Host) -> Iterator[None]:
    """Hold the machine for the resident service. Raises Busy while a command holds it, or waits for it.

    The service never waits: a command may wait for what it holds open.
    """
    give_way(host)
    with host.processes.exclusive(LOCK) as is_taken:
        if not is_taken:
            raise Busy(_AT_WORK)
        yield


def give_way(host: Host) -> None:
    """Raise Busy if a person's command waits for the machine, or holds it."""
    if is_awaited(host):
        raise Busy("a wmcb command waits for this machine")


def check_free(host: Host) -> None:
    """Raise Busy if another process holds the machine, or a command waits for it."""
    give_way(host)
    if host.processes.is_held(LOCK):
        raise Busy(_AT_WORK)


def is_awaited(host: Host) -> bool:
    """Return whether a person's command waits for the machine, or holds it."""
    return host.processes.is_held(COMMAND_LOCK)


def _is_taken(host: Host, name: str, locks: ExitStack, seconds: float) -> bool:
    """Try for so long to add this lock to `locks`; return whether that was done."""
    deadline = host.clock.monotonic() + seconds
    while True:
        with ExitStack() as attempt:
            if attempt.enter_context(host.processes.exclusive(name)):
                locks.push(attempt.pop_all())
                return True
        if host.clock.monotonic() > deadline:
            return False
        host.clock.sleep(_PAUSE_SECONDS)


def _service(host: Host) -> str:
    return f"the resident service{_process(host, LOCK)}"


def _process(host: Host, name: str) -> str:
    """Empty where it is not known, as while it is just letting go."""
    pid = host.processes.holder(name)
    return "" if pid is None else f" (process {pid})"
