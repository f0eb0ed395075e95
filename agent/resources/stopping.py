"""How a service is stopped: asked, or else ended, and waited for until its program can be replaced."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from agent.host.errors import (
    HostError,
    NotFound,
    ServiceCannotAccept,
    ServiceFailed,
    ServiceNotRunning,
    TimedOut,
)
from agent.host.port import Host
from agent.host.services import Recovery, ServiceState

_END_SECONDS = 10.0


def stop(host: Host, name: str, seconds: float) -> None:
    """In its own time, or, whatever keeps it from that, without being asked."""
    try:
        ask_to_stop(host, name, seconds)
    except HostError:
        if not end(host, name, seconds):
            raise


def ask_to_stop(host: Host, name: str, seconds: float) -> None:
    """Nothing happens where it does not run, or is not there."""
    process = _process_of(host, name)
    ask_shared_to_stop(host, name, seconds)
    if process is not None:
        _wait_until_gone(host, process)


def ask_shared_to_stop(host: Host, name: str, seconds: float) -> None:
    """The same of one whose process is others', too, and stays."""
    try:
        host.services.stop(name, seconds)
    except NotFound:
        return
    except ServiceNotRunning:
        pass  # or its process has ended, which the SCM has yet to see
    except ServiceCannotAccept:
        # On its way up or down it takes no request: it is asked again once it is up, if it ever is.
        with suppress(ServiceFailed, ServiceNotRunning):
            host.services.wait(name, ServiceState.RUNNING, seconds)
            host.services.stop(name, seconds)
    host.services.wait(name, ServiceState.STOPPED, seconds)


def end(host: Host, name: str, seconds: float) -> bool:
    """Without being asked; False where it has no process."""
    process = _process_of(host, name)
    if process is None:
        return False
    _forget_recovery(host, name)
    with suppress(NotFound):
        host.processes.end(process)
    host.services.wait(name, ServiceState.STOPPED, seconds)
    _wait_until_gone(host, process)
    return True


def running_by_need(host: Host) -> Mapping[str, Sequence[str]]:
    """Services that run, by the name, in capitals, of each service that they need."""
    found: dict[str, list[str]] = {}
    for name, status in host.services.list().items():
        if status.state is ServiceState.STOPPED:
            continue
        with suppress(HostError):  # such as a virus scanner's, that nobody may read
            installed = host.services.read(name)
            for needed in installed.definition.dependencies if installed else ():
                found.setdefault(needed.upper(), []).append(name)
    return found


def _process_of(host: Host, name: str) -> int | None:
    with suppress(NotFound):
        return host.services.status(name).pid
    return None


def _wait_until_gone(host: Host, process: int) -> None:
    """A service says that it has stopped, and ends; until then its program cannot be removed. In vain no
    longer than it takes any of them: the id may be another process's by now.
    """
    with suppress(NotFound, TimedOut):
        host.processes.wait(process, _END_SECONDS)


def _forget_recovery(host: Host, name: str) -> None:
    """A process that is ended has failed, to Windows, which would start the service again."""
    installed = host.services.read(name)
    if installed is not None:
        without = replace(installed.definition, recovery=Recovery())
        host.services.restore(replace(installed, definition=without))
