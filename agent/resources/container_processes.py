"""Processes in HostProcess containers: they are the machine's, below the shim of a pod."""

from collections.abc import Mapping, Sequence

from agent.host.port import Host, ProcessInfo

SHIM = "containerd-shim-runhcs-v1.exe"

_DEEPEST = 8
"""A script or two may be between."""


def running(host: Host, program: str) -> Sequence[int]:
    """Those of that file name in containers, and no other: one that is a service, or that a person started,
    is none of containerd's.
    """
    processes = {each.pid: each for each in host.processes.list()}
    return [
        each.pid for each in processes.values() if _is(each, program) and _is_in_container(each, processes)
    ]


def is_running(host: Host, program: str) -> bool:
    """In a container, as a service, or otherwise."""
    return any(_is(each, program) for each in host.processes.list())


def _is_in_container(process: ProcessInfo, processes: Mapping[int, ProcessInfo]) -> bool:
    above = processes.get(process.parent)
    for _ in range(_DEEPEST):
        if above is None or _is(above, SHIM):
            return above is not None
        above = processes.get(above.parent)
    return False


def _is(process: ProcessInfo, program: str) -> bool:
    return process.program is not None and process.program.name.lower() == program.lower()
