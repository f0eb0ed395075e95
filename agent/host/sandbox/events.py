"""The Application log: sources in the registry, records in a file of one JSON document a line."""

from __future__ import annotations

import time
from pathlib import PureWindowsPath

from agent.host.event_sources import kept_text, source_key, source_values
from agent.host.port import EventLevel
from agent.host.sandbox.registry import SandboxRegistry
from agent.host.sandbox.state import State

LOG = "events.jsonl"


class SandboxEventLog:
    def __init__(self, state: State, registry: SandboxRegistry) -> None:
        self._state = state
        self._registry = registry

    def register(self, source: str, message_file: PureWindowsPath) -> None:
        key = source_key(source)
        for name, value in source_values(message_file).items():
            self._registry.write(key, name, value)

    def unregister(self, source: str) -> None:
        self._registry.remove_key(source_key(source))

    def write(self, source: str, level: EventLevel, event_id: int, text: str) -> None:
        line = {"source": source, "level": level.name, "id": event_id, "text": kept_text(text)}
        self._state.add_line(LOG, {"time": time.time()} | line)
