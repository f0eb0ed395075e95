"""The Application log."""

from __future__ import annotations

import sys

assert sys.platform == "win32"


from pathlib import PureWindowsPath

import win32evtlog

from agent.host.event_sources import kept_text, source_key, source_values
from agent.host.port import EventLevel, Registry
from agent.host.windows.failure import telling


class WindowsEventLog:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def register(self, source: str, message_file: PureWindowsPath) -> None:
        key = source_key(source)
        for name, value in source_values(message_file).items():
            self._registry.write(key, name, value)

    def unregister(self, source: str) -> None:
        self._registry.remove_key(source_key(source))

    def write(self, source: str, level: EventLevel, event_id: int, text: str) -> None:
        with telling("write to the event log as", source):
            log = win32evtlog.RegisterEventSource(None, source)
            try:
                # The text takes the place of %1 in the source's message of that number.
                win32evtlog.ReportEvent(log, level.value, 0, event_id, None, [kept_text(text)], None)
            finally:
                win32evtlog.DeregisterEventSource(log)
