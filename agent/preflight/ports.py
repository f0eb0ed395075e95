"""Whether the kubelet's ports are free, or held by the kubelet that is to be replaced."""

from collections.abc import Mapping

from agent.host.port import ProcessInfo
from agent.preflight.finding import Verdict
from agent.preflight.situation import Situation


def kubelet(situation: Situation) -> tuple[Verdict, str]:
    """Where the control plane reaches it."""
    return _free(situation, situation.kubelet.port)


def health(situation: Situation) -> tuple[Verdict, str]:
    """Where it tells whether it is well."""
    port = situation.kubelet.health_port
    if port is None:
        return Verdict.NOT_CHECKED, "the kubelet is not asked whether it is well"
    return _free(situation, port)


def _free(situation: Situation, port: int) -> tuple[Verdict, str]:
    host = situation.host
    holders = {each.pid for each in host.facts.listening_ports() if each.port == port}
    if not holders:
        return Verdict.GOOD, f"port {port} is free"
    processes = {each.pid: each for each in host.processes.list()}
    name = situation.kubelet.service
    service = host.services.status(name).pid if host.services.read(name) else None
    others = [pid for pid in sorted(holders) if service not in _lineage(pid, processes)]
    if not others:
        return Verdict.GOOD, f"port {port} is held by the kubelet that is there"
    told = ", ".join(_shown(pid, processes) for pid in others)
    return Verdict.ERROR, f"port {port} is held by {told}; stop that, the kubelet needs the port"


def _lineage(pid: int, processes: Mapping[int, ProcessInfo]) -> set[int]:
    """The process and what started it: the service may be a program that writes the kubelet's log."""
    found: set[int] = set()
    while pid not in found:
        found.add(pid)
        pid = processes[pid].parent if pid in processes else pid
    return found


def _shown(pid: int, processes: Mapping[int, ProcessInfo]) -> str:
    program = processes[pid].program if pid in processes else None
    return f"{program} (process {pid})" if program else f"process {pid}"
