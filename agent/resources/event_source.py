"""A name under which programs write to Windows' Application log."""

from pathlib import PureWindowsPath

from agent.host.errors import NotFound
from agent.host.port import Host
from agent.host.registry_contents import MESSAGE_FILE, source_key
from agent.resources.kind import Setting, State
from agent.spec import EventSource


class EventSourceResource(Setting[EventSource]):
    firm = frozenset({"message_file"})

    def wanted(self, want: EventSource) -> State:
        return {"message_file": str(want.message_file)}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - it has one field
        try:
            value = host.registry.read(source_key(name), MESSAGE_FILE)
        except NotFound:
            return None
        return None if value is None else {"message_file": str(value.data)}

    def registry_keys(self, name: str) -> tuple[str, ...]:
        return (source_key(name),)

    def put(self, host: Host, name: str, state: State) -> None:
        host.events.register(name, PureWindowsPath(str(state["message_file"])))

    def remove(self, host: Host, name: str) -> None:
        host.events.unregister(name)


KIND = EventSourceResource()
