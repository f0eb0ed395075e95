"""What user data asks of a Windows machine: steps before the join, the join, steps after it."""

from dataclasses import dataclass, field
from pathlib import PureWindowsPath

from agent.secret_fields import registers_secrets
from agent.spec import Content, Note, Protection, Shell


@registers_secrets
@dataclass(frozen=True, slots=True)
class Command:
    """A script out of the document.

    As with cloudbase-init its exit code decides nothing but what 1001, 1002 and 1003 ask for: a restart,
    another run at the next boot, or both.
    """

    name: str
    """For a person, and for the name of its log: runcmd, script setup.ps1 ..."""
    shell: Shell
    script: bytes = field(repr=False)
    """The file as the shell is to be given it."""
    each_boot: bool = False


@registers_secrets
@dataclass(frozen=True, slots=True)
class WrittenFile:
    path: PureWindowsPath
    content: Content = field(repr=False)
    protection: Protection = Protection.PRIVATE
    appended: bool = False
    """What is there already stays, and this follows it."""
    until: PureWindowsPath | None = None
    """Wanted only as long as this other file is not there: it holds a bootstrap token."""


Step = WrittenFile | Command


@registers_secrets
@dataclass(frozen=True, slots=True)
class Join:
    """The call of `kubeadm join` in the document."""

    arguments: tuple[str, ...] = field(repr=False)
    """kubeadm's own, as they stand after the word join. A token may be among them."""
    configuration: PureWindowsPath | None
    """What --config names, as a path of Windows."""
    sentinel: PureWindowsPath | None
    """What tells Cluster API that the machine has joined. One of the steps after the join."""


@dataclass(frozen=True, slots=True)
class UserData:
    before: tuple[Step, ...] = ()
    """In this order: boot hooks and boot commands, files, scripts and commands."""
    join: Join | None = None
    after: tuple[Step, ...] = ()
    host_name: str | None = None
    """What the machine is to be called; None where the document leaves it as it is."""
    awaited: tuple[PureWindowsPath, ...] = ()
    """Files that boot hooks have to write first, with more user data in them: then this is not all yet."""
    notes: tuple[Note, ...] = ()
    """What was left out or taken otherwise, and why."""

    @property
    def appended_to(self) -> tuple[PureWindowsPath, ...]:
        """Files whose present content `wants` has to be given."""
        return tuple(
            step.path
            for step in (*self.before, *self.after)
            if isinstance(step, WrittenFile) and step.appended
        )
