"""What user data asks of a Windows machine: steps, the join, steps after it; and what is wrong with it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PureWindowsPath

from agent import spec
from agent.secret_fields import registers_secrets
from agent.sources.kubelet.folders import with_parents
from agent.sources.report import Entry, Origin, Report, bounded
from agent.spec import Content, Directory, Effect, File, Inline, Key, Note, Protection, Shell, Want

_MOST_NOTES = 500


class Refused(Exception):
    """It cannot go on. The text says why, on one line."""

    def __init__(self, origin: Origin, why: str, *, is_unserved: bool = False) -> None:
        super().__init__(why)
        self.origin = origin
        self.is_unserved = is_unserved
        """Whether a server failed to serve what it refers to."""


@dataclass(slots=True)
class Findings:
    """Collects errors, and notes of what is left out."""

    errors: list[Entry] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def error(self, origin: Origin, why: str, *, is_unserved: bool = False) -> None:
        self.errors.append(replace(origin.error(why), is_unserved=is_unserved))

    def refused(self, fault: Refused) -> None:
        self.error(fault.origin, str(fault), is_unserved=fault.is_unserved)

    def ignore(self, subject: str, why: str) -> None:
        self._note(Note(Effect.IGNORED, subject, why))

    def warn(self, subject: str, why: str) -> None:
        self._note(Note(Effect.WARNING, subject, why))

    def change(self, subject: str, why: str) -> None:
        self._note(Note(Effect.CHANGED, subject, why))

    def take(self, notes: Iterable[Note]) -> None:
        for note in notes:
            self._note(note)

    @property
    def full(self) -> bool:
        """Of notes: a further one is not kept, so its words need no care."""
        return len(self.notes) >= _MOST_NOTES

    def report(self) -> Report:
        return bounded(self.errors)

    def _note(self, note: Note) -> None:
        if not self.full:
            self.notes.append(note)


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


_UTF_8 = b"\xef\xbb\xbf"


def wants(
    steps: Iterable[Step],
    existing: Mapping[PureWindowsPath, bytes] | None = None,
    known: Mapping[Key, Directory] | None = None,
    boot: str = "",
) -> list[Want]:
    """The folders that files lie in, then files and commands in the order of the steps.

    `existing` is what files that are appended to hold now. `known` are folders that somebody else wants in
    a way of his own; those are not wanted here once more. `boot` tells this boot of the machine from all
    others: what is to be run at each boot is another script at each.
    """
    listed = list(steps)
    others = known or {}
    directories = with_parents(others, [step.path for step in listed if isinstance(step, WrittenFile)])
    made = (
        _command(step, boot) if isinstance(step, Command) else _file(step, existing or {}) for step in listed
    )
    return [*(want for key, want in directories.items() if key not in others), *made]


def _command(step: Command, boot: str) -> spec.Command:
    script = _of_boot(step, boot) if step.each_boot and boot else step.script
    return spec.Command(step.name, Inline(script), step.shell, may_fail=True)


def _of_boot(step: Command, boot: str) -> bytes:
    mark = _UTF_8 if step.script.startswith(_UTF_8) else b""
    remark = b"@rem boot " if step.shell is Shell.CMD else b"# boot "
    return mark + remark + boot.encode() + b"\r\n" + step.script.removeprefix(mark)


def _file(step: WrittenFile, existing: Mapping[PureWindowsPath, bytes]) -> File:
    return File(step.path, _content(step, existing), step.protection, until=step.until)


def _content(step: WrittenFile, existing: Mapping[PureWindowsPath, bytes]) -> Content:
    """What was appended in an earlier run is not appended again."""
    before = existing.get(step.path, b"")
    if not step.appended or not before:
        return step.content
    added = b"".join(step.content.blocks())
    return Inline(before if added in before else before + added)
