"""The Application log: sources in the registry, records in a file of one JSON document a line."""

import time

from agent.host.event_sources import EventSources, kept_text
from agent.host.port import EventLevel
from agent.host.sandbox.registry import SandboxRegistry
from agent.host.sandbox.state import State

LOG = "events.jsonl"


class SandboxEventLog(EventSources):
    def __init__(self, state: State, registry: SandboxRegistry) -> None:
        super().__init__(registry)
        self._state = state

    def write(self, source: str, level: EventLevel, event_id: int, text: str) -> None:
        line = {"source": source, "level": level.name, "id": event_id, "text": kept_text(text)}
        self._state.add_line(LOG, {"time": time.time()} | line)
