"""The container runtime that the kubelet needs."""

from agent.host.port import Host
from agent.host.services import ServiceState, StartType
from agent.preflight.finding import Verdict
from agent.preflight.situation import Situation

PIPE_CHECK = "containerd-pipe"

_PATIENCE_SECONDS = 10.0
"""A containerd that was started with the machine tells Windows that it runs before anybody can reach it."""
_ASK_AGAIN_SECONDS = 0.2


def service(situation: Situation) -> tuple[Verdict, str]:
    """Windows starts a service only after those that it depends on."""
    needed = situation.services_needed()
    if not needed:
        return Verdict.GOOD, "the kubelet depends on no service"
    missing, disabled = [], []
    for name in needed:
        installed = situation.host.services.read(name)
        if installed is None:
            missing.append(name)
        elif installed.definition.start is StartType.DISABLED:
            disabled.append(name)
    if missing:
        advice = (
            f"{situation.host.called} prepare --node-config containerd.yaml, of packaging/profiles, installs "
            f"containerd; {situation.runtime_option} NAME is for one of another name, none for a runtime "
            "that is no service"
        )
        return Verdict.ERROR, f"there is no service {', '.join(missing)}, which the kubelet needs; {advice}"
    if disabled:
        advice = "set its start type to automatic"
        return Verdict.ERROR, f"service {', '.join(disabled)} is disabled, and the kubelet needs it; {advice}"
    return Verdict.GOOD, f"service {', '.join(needed)} is there"


def pipe(situation: Situation) -> tuple[Verdict, str]:
    """Looked for while its service runs: Windows starts that together with the kubelet."""
    name = situation.kubelet.pipe
    if name is None:
        return Verdict.NOT_CHECKED, "the kubelet is told of a runtime that answers at no pipe"
    shown = rf"\\.\pipe\{name}"
    needed = situation.services_needed()
    if missing := [each for each in needed if situation.host.services.read(each) is None]:
        return Verdict.NOT_CHECKED, f"{shown} is served when there is {', '.join(missing)}, and it runs"
    if situation.host.facts.pipe_exists(name):
        return Verdict.GOOD, f"{shown} is served"
    running = [each for each in needed if _runs(situation, each)]
    is_worth_waiting = situation.patient and PIPE_CHECK not in situation.ignored
    if running and is_worth_waiting and _comes_up(situation.host, name):
        return Verdict.GOOD, f"{shown} is served"
    if running:
        advice = "look at its log, and at the address in its configuration (grpc, address)"
        return Verdict.ERROR, f"service {', '.join(running)} runs, but nobody serves {shown}; {advice}"
    if needed:
        return Verdict.NOT_CHECKED, f"{shown} is served when {', '.join(needed)} runs"
    return Verdict.WARNING, f"nobody serves {shown}; the kubelet waits until a container runtime does"


def _comes_up(host: Host, pipe: str) -> bool:
    deadline = host.clock.monotonic() + _PATIENCE_SECONDS
    while host.clock.monotonic() < deadline:
        host.clock.sleep(_ASK_AGAIN_SECONDS)
        if host.facts.pipe_exists(pipe):
            return True
    return False


def _runs(situation: Situation, name: str) -> bool:
    services = situation.host.services
    return services.read(name) is not None and services.status(name).state is ServiceState.RUNNING
