"""A file that a node's program writes for itself: whether it is there, and since when."""

from contextlib import suppress
from pathlib import PureWindowsPath

from agent.host.errors import NotFound
from agent.host.port import Host
from agent.resources.kind import Kept, Kind, State
from agent.resources.trees import is_file
from agent.spec import Want


class CredentialsResource(Kind[Want]):
    firm = frozenset()
    comes_later = True

    def wanted(self, want: Want) -> State:  # noqa: ARG002 - what is in it is the program's to say
        return {}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - it is cheap
        return {"there": True} if is_file(host.files, PureWindowsPath(name)) else None

    def apply(self, host: Host, want: Want, found: State | None, kept: Kept) -> None:
        """The journal has it by now: that is all."""

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        path = PureWindowsPath(name)
        if before is None and is_file(host.files, path):
            with suppress(NotFound):
                host.files.remove(path)
        return None


KIND = CredentialsResource()
