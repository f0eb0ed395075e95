"""The commands of OpenShift's Windows Machine Config Bootstrapper, for scripts that call it.

On success they say its own sentence on standard output and nothing on standard error: whoever calls them
takes a word there for a failure. What they would have to say is in wmcb's log.
"""

from agent.cli import options, values
from agent.cli.arguments import Request
from agent.cli.asking import Asking
from agent.cli.bootstrap import MAKE_A_NODE
from agent.cli.checking import ignored_checks
from agent.cli.command_line import command_line
from agent.cli.engine_run import Display, looking, recorded
from agent.cli.failure import DONE, Failure
from agent.cli.leaving import remove_services
from agent.cli.machine import open_as_administrator, open_machine
from agent.cli.outlook import stays
from agent.cli.streams import say, tell
from agent.cli.wanted import fit_for
from agent.engine import run as engine
from agent.engine.parts import LASTING
from agent.host.port import Host
from agent.spec import Specification

_KUBELET = "kubelet"


def initialize_kubelet(request: Request) -> int:
    values.check(request)
    host = open_machine(request)
    notices: list[str] = []
    asking = Asking(
        ignored_checks(request),
        options.IGNITION_FILE,
        options.KUBELET_PATH,
        notices.append,
        is_openshift_layout=True,
    )
    specification = _wanted(request, host, asking, notices)
    with recorded(host, MAKE_A_NODE, Display()) as told:
        told.found(notices)
        engine.make_so(host, specification, told, command=command_line(request))
    say("Bootstrapping completed successfully")
    return DONE


def _wanted(request: Request, host: Host, asking: Asking, notices: list[str]) -> Specification:
    try:
        return fit_for(request, host, asking)
    except Failure:
        for notice in notices:
            tell(f"wmcb: {notice}")
        raise


def uninstall_kubelet(request: Request) -> int:
    """Of a node that wmcb made all goes, but for what the machine was prepared with; of another the service
    alone, as the bootstrapper had it.
    """
    host = open_as_administrator(request)
    if not _made_by_wmcb(host) and host.services.read(_KUBELET) is None:
        raise Failure("kubelet service is not present")
    with recorded(host, "uninstall the kubelet", Display()) as told:
        done = engine.reset(host, told, but=LASTING)
        if staying := stays(done.plan):
            raise Failure("; ".join(staying))
        _remove_service(host)
    told.log.remove()
    say("kubelet uninstalled successfully")
    return DONE


def _made_by_wmcb(host: Host) -> bool:
    with looking(host):
        known = engine.status(host)
    return bool(known.resources) or known.interrupted


def _remove_service(host: Host) -> None:
    """One that was there before wmcb, or that wmcb has nothing to do with."""
    if host.services.read(_KUBELET) is not None:
        remove_services(host, [_KUBELET])
