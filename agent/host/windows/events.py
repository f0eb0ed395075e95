"""The Application log."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from typing import TYPE_CHECKING

from agent.host.errors import BadName
from agent.host.port import RegistryKind, RegistryValue
from agent.host.windows.failure import telling

if TYPE_CHECKING:
    from pathlib import PureWindowsPath

    from agent.host.port import EventLevel, Registry

_SOURCES = "SYSTEM\\CurrentControlSet\\Services\\EventLog\\Application"
_ALL_LEVELS = 7
_INVALID_NAME = 123
_LONGEST_TEXT = 31_000
"""ReportEvent refuses what is longer than 31,839 characters."""


class WindowsEventLog:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def register(self, source: str, message_file: PureWindowsPath) -> None:
        key = _key(source)
        file = RegistryValue(RegistryKind.EXPANDABLE, str(message_file))
        self._registry.write(key, "EventMessageFile", file)
        self._registry.write(key, "TypesSupported", RegistryValue(RegistryKind.NUMBER, _ALL_LEVELS))

    def unregister(self, source: str) -> None:
        self._registry.remove_key(_key(source))

    def write(self, source: str, level: EventLevel, event_id: int, text: str) -> None:
        from agent.host.windows.api.event_log import report

        with telling("write to the event log as", source):
            report(
                source, level.value, event_id, text[:_LONGEST_TEXT].replace("\0", "\N{REPLACEMENT CHARACTER}")
            )


def _key(source: str) -> str:
    if not source or "\\" in source:
        raise BadName("use", f"event source {source!r}", _INVALID_NAME)
    return f"{_SOURCES}\\{source}"
