"""Programs in HostProcess containers, which are the machine's processes below the shim of a pod."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from agent.host.networks import HNS
from agent.host.port import Host, ProcessInfo
from agent.resources.kind import Kept, Kind, State
from agent.spec.services import ContainerProgram


class ContainerProgramResource(Kind[ContainerProgram]):
    """A program in HostProcess containers, remembered: the resident service ends what has to start anew."""

    firm = frozenset[str]()
    kept_by = HNS
    wanted_of_all: ClassVar[State] = {}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - whether it is there is its cluster's affair
        return {}

    def manner(self, want: ContainerProgram) -> State:
        return {"makes": list(want.makes), "needs": list(want.needs)}

    def apply(self, host: Host, want: ContainerProgram, found: State | None, kept: Kept) -> None: ...

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        return None


# """Processes in HostProcess containers: they are the machine's, below the shim of a pod."""

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
