"""The fenced blocks of a page, and the commands in them that a test runs.

A block of the language `console` holds command lines, each behind a prompt, and below each what it prints.
They are run in their order, those of one place together:

    (nothing)               ```console with the prompt `$`: here, by a shell, in a sandbox
    <!-- run on: windows -->   with `C:\\>`: the built exe on a Windows node made of Wine
    <!-- run on: cluster -->   with either: the same beside a real control plane
    <!-- run on: control host -->   with `$`: where Ansible is, beside both, with SSH to the node
    <!-- not run: REASON -->   nowhere

A line `...` stands for any lines, `...` within one for any text. What ends with another exit code than 0 has
a command behind it that shows the code. Above any other block `<!-- file: NAME -->`: it is written there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

ROOT = Path(__file__).parents[2]
MANUAL = ROOT / "docs"

_FENCE = re.compile(r" *```(?P<language>\S*)")
_MARK = re.compile(r" *<!-- (?P<kind>run on|not run|file): (?P<value>.+) -->")
_PROMPT = re.compile(r"(?P<prompt>\$|C:\\>) (?P<line>.+)")
_HERE = re.compile(r"<<'(\w+)'")
SHELL, WINDOWS_PROMPT = "$", "C:\\>"
COMMANDS_OF_A_SYSTEM = frozenset(("", "sh", "bash", "shell", "bat", "cmd", "powershell", "console"))
"""Languages, or none, in which a block may hold command lines."""


class Place(Enum):
    HERE = "here"
    WINDOWS = "windows"
    CLUSTER = "cluster"
    CONTROL_HOST = "control host"
    NOWHERE = "nowhere"


class Unclear(Exception):
    """A page says something of its blocks that has no meaning."""


@dataclass(frozen=True)
class Block:
    page: str
    number: int
    language: str
    lines: tuple[str, ...]
    place: Place = Place.HERE
    why_not: str = ""
    file: str = ""

    @property
    def where(self) -> str:
        return f"{self.page}:{self.number}"


@dataclass(frozen=True)
class Command:
    where: str
    prompt: str
    text: str
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Written:
    """A block that is a file's content."""

    file: str
    content: str

    @property
    def is_for_windows(self) -> bool:
        return self.file.startswith("C:\\")


def pages() -> list[str]:
    """README, docs as far as a person wrote them, and packaging's, as paths in the repository."""
    written = [page for page in MANUAL.rglob("*.md") if page.parent.name != "reference"]
    written += ROOT.glob("packaging/*/README.md")
    return ["README.md", *sorted(page.relative_to(ROOT).as_posix() for page in written)]


def pages_for(place: Place) -> list[str]:
    """Those that have commands for it."""
    return [
        page for page in pages() if any(isinstance(each, Command) for each in steps(of_page(page), place))
    ]


def of_page(page: str) -> list[Block]:
    return blocks(page, (ROOT / page).read_text("utf-8"))


def blocks(page: str, text: str) -> list[Block]:
    found: list[Block] = []
    mark: re.Match[str] | None = None
    lines = iter(enumerate(text.splitlines(), 1))
    for number, line in lines:
        if fence := _FENCE.match(line):
            inner = tuple(_until_the_end(f"{page}:{number}", lines, line.index("`")))
            found.append(_block(page, number, fence["language"], inner, mark))
            mark = None
        elif mark is not None:
            raise Unclear(f"{page}:{number}: no block stands below {mark[0].strip()}")
        else:
            mark = _MARK.fullmatch(line)
    return found


def _until_the_end(where: str, lines: Iterator[tuple[int, str]], indent: int) -> Iterator[str]:
    for _, line in lines:
        if line.strip() == "```":
            return
        yield line[indent:]
    raise Unclear(f"{where}: the block has no end")


def _block(
    page: str, number: int, language: str, lines: tuple[str, ...], mark: re.Match[str] | None
) -> Block:
    if mark is None:
        return Block(page, number, language, lines)
    if mark["kind"] == "file":
        return Block(page, number, language, lines, file=mark["value"])
    if mark["kind"] == "not run":
        return Block(page, number, language, lines, Place.NOWHERE, why_not=mark["value"])
    return Block(page, number, language, lines, Place(mark["value"]))


def steps(page: Sequence[Block], place: Place) -> list[Command | Written]:
    """What is to be done there, in order. A file is there wherever a command is run."""
    made: list[Command | Written] = []
    for block in page:
        if block.file:
            made.append(Written(block.file, "".join(f"{line}\n" for line in block.lines)))
        elif block.language == "console" and block.place is place:
            made += commands(block)
    return made


def commands(block: Block) -> Iterator[Command]:
    lines = list(block.lines)
    if not lines or not _PROMPT.fullmatch(lines[0]):
        raise Unclear(f"{block.where}: it begins with no prompt, {SHELL} or {WINDOWS_PROMPT}")
    at = 0
    while at < len(lines):
        found = _PROMPT.fullmatch(lines[at])
        assert found is not None
        number, at = block.number + at + 1, at + 1
        text = found["line"]
        while not _is_whole(found["prompt"], text):
            if at == len(lines):
                raise Unclear(f"{block.page}:{number}: the command has no end")
            text, at = f"{text}\n{lines[at]}", at + 1
        shown = at
        while at < len(lines) and not _PROMPT.fullmatch(lines[at]):
            at += 1
        yield Command(f"{block.page}:{number}", found["prompt"], text, tuple(lines[shown:at]))


def _is_whole(prompt: str, text: str) -> bool:
    last = text.splitlines()[-1]
    if last.endswith("\\" if prompt == SHELL else "^"):
        return False
    here = _HERE.search(text.splitlines()[0])
    return here is None or (last == here[1] and "\n" in text)
