"""A program in HostProcess containers, remembered: the resident service ends what has to start anew."""

from agent.host.networks import HNS
from agent.host.port import Host
from agent.resources.kind import Kept, Kind, State
from agent.spec.services import ContainerProgram


class ContainerProgramResource(Kind[ContainerProgram]):
    firm = frozenset[str]()
    kept_by = HNS

    def wanted(self, want: ContainerProgram) -> State:  # noqa: ARG002 - whether it is there is its cluster's affair
        return {}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - as above
        return {}

    def manner(self, want: ContainerProgram) -> State:
        return {"makes": list(want.makes), "needs": list(want.needs)}

    def apply(self, host: Host, want: ContainerProgram, found: State | None, kept: Kept) -> None: ...

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        return None


KIND = ContainerProgramResource()
