"""A name under which programs write to Windows' Application log."""

from dataclasses import dataclass
from pathlib import PureWindowsPath

from agent.spec.want import Key, NamedWant


@dataclass(frozen=True, slots=True)
class EventSource(NamedWant):
    kind = "event_source"

    name: str
    message_file: PureWindowsPath
    """A program that carries the texts of its events, so that Event Viewer can show them."""

    @property
    def uses(self) -> tuple[Key, ...]:
        return (Key("file", str(self.message_file)),)
