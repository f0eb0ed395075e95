"""The steps of user data as what the node should be."""

from collections.abc import Iterable, Mapping
from pathlib import PureWindowsPath

from agent import spec
from agent.sources.cloudconfig.model import Command, Step, WrittenFile
from agent.sources.kubelet.folders import with_parents
from agent.spec import Content, Directory, File, Inline, Key, Shell, Want

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
