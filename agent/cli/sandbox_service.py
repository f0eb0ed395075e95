"""The resident service of a sandbox, which has no other program that starts services."""

from collections.abc import Callable

from agent.cli.arguments import SANDBOX_RUN, Request
from agent.cli.command_line import called
from agent.cli.failure import DONE, BadUsage, Refused
from agent.cli.machine import open_machine
from agent.cli.resident_service import START_WITHIN_SECONDS
from agent.cli.streams import say
from agent.engine.state_folder import StateFolder
from agent.host.errors import NotAService
from agent.host.port import Host
from agent.host.services import ServiceProgram, ServiceState


def serve(request: Request, name: str, program: Callable[[Callable[[], bool]], ServiceProgram]) -> int:
    """Run as the service where it was started as that, else start it. `program` takes what tells a node."""
    host = open_machine(request)
    try:
        return host.services.serve(name, program(lambda: _has_memory(host)))
    except NotAService:
        return _start(request, name)


def _start(request: Request, name: str) -> int:
    if not request.has(SANDBOX_RUN):
        text = f"a sandbox starts programs with {SANDBOX_RUN.name} alone; install the service with it, too"
        raise BadUsage(text, where=SANDBOX_RUN.name)
    services = open_machine(request).services
    if services.read(name) is None:
        raise Refused(f"there is no service {name} here: {called(request)} daemon install makes it")
    services.start(name)
    status = services.wait(name, ServiceState.RUNNING, START_WITHIN_SECONDS)
    say(f"the service {name} runs as process {status.pid}; {called(request)} daemon uninstall stops it")
    return DONE


def _has_memory(host: Host) -> bool:
    folder = StateFolder.of(host)
    return any(host.files.observe(path) is not None for path in (folder.inventory, folder.journal))
