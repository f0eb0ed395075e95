"""The checks, in the order in which they are told."""

from collections.abc import Callable, Collection, Mapping, Sequence

from agent.host.errors import HostError
from agent.preflight import machine, ports, room, roots, runtime
from agent.preflight.finding import Finding, Verdict
from agent.preflight.situation import Situation

Check = Callable[[Situation], tuple[Verdict, str]]

CHECKS: Mapping[str, Check] = {
    "administrator": machine.administrator,
    "windows-build": machine.windows_build,
    "architecture": machine.architecture,
    "memory": machine.memory,
    "clock": machine.clock,
    "time-service": machine.time_service,
    "reboot-pending": machine.reboot_pending,
    "disk": room.disk,
    "drive-rights": roots.drives,
    "containerd-service": runtime.service,
    runtime.PIPE_CHECK: runtime.pipe,
    "port-10250": ports.kubelet,
    "port-10248": ports.health,
}

IDS = tuple(CHECKS)
WHATEVER_IS_WANTED = (
    "administrator", "windows-build", "architecture", "memory", "clock", "containerd-service",
)  # fmt: skip
"""What a cluster says of its kubelets makes no error of these any less of one."""


def findings(situation: Situation, checks: Collection[str] = IDS) -> Sequence[Finding]:
    """One of each check."""
    return [Finding(name, *_judged(check, situation)) for name, check in CHECKS.items() if name in checks]


def _judged(check: Check, situation: Situation) -> tuple[Verdict, str]:
    try:
        return check(situation)
    except HostError as fault:
        return Verdict.ERROR, str(fault)
