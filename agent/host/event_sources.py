"""What Windows keeps of an event source and of an event, alike for every host."""

from pathlib import PureWindowsPath

from agent.host import winerror
from agent.host.errors import BadName
from agent.host.port import Registry, RegistryKind, RegistryValue
from agent.redaction import in_quotes

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


class EventSources:
    """What every host answers alike of its EventLog: by the registry."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def register(self, source: str, message_file: PureWindowsPath) -> None:
        key = source_key(source)
        self._registry.write(key, MESSAGE_FILE, RegistryValue(RegistryKind.EXPANDABLE, str(message_file)))
        types = RegistryValue(RegistryKind.NUMBER, _ERROR_WARNING_INFORMATION)
        self._registry.write(key, "TypesSupported", types)

    def unregister(self, source: str) -> None:
        self._registry.remove_key(source_key(source))


def kept_text(text: str) -> str:
    """What of a text the event log can have: not more than so much, and no NUL, which would end it."""
    return text[:LONGEST_TEXT].replace("\0", "\N{REPLACEMENT CHARACTER}")
