"""What the machine is called, or will be when it has been restarted."""

from agent.host.port import Host
from agent.host.registry_contents import is_renamed, next_host_name
from agent.resources.kind import Kept, Kind, State, Value
from agent.spec import HostName


class HostNameResource(Kind[HostName]):
    firm = frozenset({"name"})

    def wanted(self, want: HostName) -> State:
        return {"name": want.name}

    def same(self, field: str, wanted: Value, found: Value) -> bool:  # noqa: ARG002 - there is one
        return str(wanted).upper() == str(found).upper()

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - there is one
        return {"name": _later(host)}

    def awaits_restart(self, host: Host, name: str) -> str | None:  # noqa: ARG002 - there is one
        later = _later(host)
        if self.same("name", later, host.facts.host_name()) and not is_renamed(host.registry):
            return None
        return f"this machine is called {later} when it has been restarted"

    def apply(self, host: Host, want: HostName, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - whatever it was
        host.power.rename(want.name)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        assert before is not None, "a machine always has a name"
        host.power.rename(str(before["name"]))
        if self.awaits_restart(host, name) is None:
            return None
        return f"this machine is called {before['name']} again when it has been restarted"


def _later(host: Host) -> str:
    """What it is called after its next start."""
    return next_host_name(host.registry) or host.facts.host_name()


KIND = HostNameResource()
