"""Windows' own service that keeps the clock right."""

from dataclasses import dataclass

from agent.spec.want import Key, Want

W32TIME = "W32Time"


@dataclass(frozen=True, slots=True)
class TimeService(Want):
    """Started with Windows, and running. Where it takes the time from is not said here."""

    kind = "time_service"

    @property
    def key(self) -> Key:
        return Key(self.kind, W32TIME)
