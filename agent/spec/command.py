"""Somebody's own commands, run once."""

import enum
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from agent.secret_fields import registers_secrets
from agent.spec.contents import Content
from agent.spec.host_name import HOST_NAME, is_named
from agent.spec.want import Key, NamedWant, Want


class Shell(enum.Enum):
    CMD = "cmd.exe"
    POWERSHELL = "PowerShell"


@registers_secrets
@dataclass(frozen=True, slots=True)
class Command(NamedWant):
    """Run when its turn comes, and not again unless its script becomes another.

    Nobody can know what it does, so nothing of that is taken back; and one that was cut off is run anew from
    its beginning.
    """

    kind = "command"

    name: str
    """For a person, and no other command's: preKubeadmCommands 2."""
    script: Content = field(repr=False)
    """Whole, as the shell reads it from a file: with its line ends and in its encoding."""
    shell: Shell = Shell.CMD
    may_fail: bool = False
    """An exit code that is not 0 is remembered, and no reason to take the run back."""
    within_seconds: float = 3600.0
    after: tuple[Key, ...] = ()
    """What has to be as wanted before. It is not run again when that changes."""

    @property
    def uses(self) -> tuple[Key, ...]:
        return self.after

    def beside(self, others: Iterable[Want]) -> Want:
        """It may make something of the machine's name."""
        return replace(self, after=(*self.after, HOST_NAME)) if is_named(others) else self
