"""What Windows keeps of an event source and of an event, alike for every host."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PureWindowsPath

from agent.host import winerror
from agent.host.errors import BadName
from agent.host.port import RegistryKind, RegistryValue
from agent.quoting import in_quotes

_SOURCES = r"SYSTEM\CurrentControlSet\Services\EventLog\Application"
_ERROR_WARNING_INFORMATION = 7

MESSAGE_FILE = "EventMessageFile"
LONGEST_TEXT = 31_000
"""ReportEvent refuses what is longer than 31,839 characters."""


def source_key(source: str) -> str:
    """The source's key in the registry."""
    if not source or "\\" in source:
        raise BadName("use", f"event source {in_quotes(source)}", winerror.ERROR_INVALID_NAME)
    return f"{_SOURCES}\\{source}"


def source_values(message_file: PureWindowsPath) -> Mapping[str, RegistryValue]:
    return {
        MESSAGE_FILE: RegistryValue(RegistryKind.EXPANDABLE, str(message_file)),
        "TypesSupported": RegistryValue(RegistryKind.NUMBER, _ERROR_WARNING_INFORMATION),
    }


def kept_text(text: str) -> str:
    """What of a text the event log can have: not more than so much, and no NUL, which would end it."""
    return text[:LONGEST_TEXT].replace("\0", "\N{REPLACEMENT CHARACTER}")
