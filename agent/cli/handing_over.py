"""The service of one use that puts another wmcb.exe in the place of the one that runs."""

from agent.cli.arguments import Request
from agent.cli.failure import DONE, FAILED, BadUsage
from agent.cli.machine import open_machine
from agent.cli.run_log import RunLog
from agent.host.errors import HostError, NotAService
from agent.host.port import ENDING, ServiceControls
from service.succession import SERVICE, Asked, HandingOver
from service.telling import Telling

_STOP_SECONDS = 5.0


def run(request: Request) -> int:
    """What the service runs."""
    host = open_machine(request)
    telling = Telling(host, RunLog(host).write)

    def program(controls: ServiceControls) -> int:
        controls.running()
        try:
            HandingOver(host, telling, lambda seconds: controls.next(seconds) in ENDING).run()
        except Asked:
            controls.stopping(_STOP_SECONDS)
        except HostError as fault:
            telling.note(f"another wmcb.exe could not take its place yet: {fault}")
            return FAILED  # Windows starts it again, by its recovery actions
        return DONE

    try:
        return host.services.serve(SERVICE, program)
    except NotAService as fault:
        raise BadUsage("Windows runs this, when a ConfigMap wants another wmcb.exe (self)") from fault
