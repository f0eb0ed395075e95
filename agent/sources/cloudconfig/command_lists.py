"""runcmd and bootcmd: lists of command lines, which cloudbase-init makes one batch file of."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.secret_fields import registers_secrets
from agent.sources.cloudconfig import scripts
from agent.sources.cloudconfig.document import Node, kind_of
from agent.sources.cloudconfig.faults import Findings
from agent.sources.cloudconfig.model import Command
from agent.sources.report import Origin
from agent.spec import Shell


@registers_secrets
@dataclass(frozen=True, slots=True)
class Line:
    """One entry, or a part of one."""

    text: str = field(repr=False)
    origin: Origin


def lines(node: Node, findings: Findings) -> list[Line]:
    """A list's words are joined by blanks and nothing is quoted, as cloudbase-init does it."""
    if node.value is None:
        return []
    if not isinstance(node.value, list):
        findings.error(node.origin, f"a list of command lines is expected; this is {kind_of(node)}")
        return []
    made = []
    for item in node.value:
        if isinstance(item.value, str):
            made.append(Line(item.value, item.origin))
        elif isinstance(item.value, list) and not any(
            isinstance(word.value, list | dict) for word in item.value
        ):
            _warn_of_blanks(item.value, findings)
            made.append(Line(" ".join(str(word.value) for word in item.value), item.origin))
        elif item.value is not None:
            why = f"a command is a text or a list of words; this is {kind_of(item)}"
            findings.error(item.origin, f"{why}; is a colon in it, so that it needs quotes?")
    return made


def batch(name: str, listed: Sequence[Line], *, each_boot: bool = False) -> list[Command]:
    """One batch file for all of them, so that what one sets or where it goes holds for the next."""
    if not any(line.text.strip() for line in listed):
        return []
    text = "".join(f"{line.text}\n" for line in listed)
    return [scripts.command(name, Shell.CMD, text, each_boot=each_boot)]


def _warn_of_blanks(words: list[Node], findings: Findings) -> None:
    for word in words[1:]:
        text = word.text
        if " " in text and not text.startswith('"'):
            where = f"{word.origin.place[0] if word.origin.place else 'command'}, {word.origin}"
            why = "a word of this list has blanks; cmd.exe takes it for several, as with cloudbase-init"
            findings.warn(where, f"{why}. Put it into double quotes if it is one")
            return
