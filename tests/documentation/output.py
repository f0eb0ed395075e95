"""What a page shows of a command, compared with what the command printed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from documentation.blocks import Command

ANYTHING = "..."


def is_as_shown(shown: Sequence[str], printed: str) -> bool:
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == ANYTHING else f"{_line(line)}\n" for line in shown)
    return re.fullmatch(pattern, _tidy(printed)) is not None


def _line(line: str) -> str:
    return ".*".join(map(re.escape, line.rstrip().split(ANYTHING)))


def _tidy(printed: str) -> str:
    """Without white space that nobody sees."""
    lines = [line.rstrip() for line in printed.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return "".join(f"{line}\n" for line in lines)


def complaint(command: Command, code: int, printed: str) -> str:
    """Of a command that did other than the page says."""
    shown = "\n".join(command.shown)
    return (
        f"{command.where}: {command.text}\nended with {code} and printed\n{printed}\nThe page shows\n{shown}"
    )


def put_in(text: str, real: Mapping[str, str]) -> str:
    """With what a page calls by an example's name called as it is here."""
    for example, name in real.items():
        text = text.replace(example, name)
    return text


def expects_a_code(following: Command | None) -> bool:
    """Whether a reader is shown the exit code of the command before this one."""
    return following is not None and following.text in ("echo $?", "echo %ERRORLEVEL%")
