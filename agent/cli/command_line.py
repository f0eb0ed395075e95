"""Command lines that somebody is told, to be run as they stand. No secret is in one."""

import re
import shlex
import sys
from collections.abc import Sequence

from agent.cli import options
from agent.cli.arguments import COMMON, OUTPUT, SANDBOX, SANDBOX_RUN, Option, Request
from agent.host.commandline import quote
from agent.redaction import redacted, redacted_words

_OF_ONE_RUN = {each.name for each in (*COMMON, OUTPUT, options.IGNORE, options.KUBEADM_VERBOSITY)}
_SECRET = {each.name for each in options.SECRETS}


HIDDEN = "***"
_PLAIN = re.compile(r"[\w.:/\\+=~-]+", re.ASCII)
"""What neither cmd.exe nor PowerShell takes for anything else."""


def command_line(request: Request) -> str:
    """How somebody asked for a node, to be told when it is to be asked for once more: without the sandbox,
    which whoever looks at one names himself. Under wmcb's own name, whatever it was called by. A URL may
    carry a password, also in its query.
    """
    words = ["wmcb", *map(_quoted, redacted_words(request.words))]
    for name, value in request.values.items():
        if name not in _OF_ONE_RUN:
            is_secret = name in _SECRET or redacted(value) != value
            words += [name, HIDDEN if is_secret else _quoted(value)] if value else [name]
    return " ".join(words)


def called(request: Request) -> str:
    """What stands before a command that is about the same machine."""
    return " ".join(["wmcb", *_place(request)])


def here(request: Request, command: str) -> str:
    """What `command_line` gave, for the machine that this request is about."""
    return " ".join([command, *_place(request)]) if command else ""


def option_here(request: Request, option: Option) -> str:
    """Return how the option is given: by its name, or where this command has none of it, as under kubeadm's
    name, with the command of wmcb's own that has.
    """
    if request.command is None or any(each.name == option.name for each in request.command.options):
        return option.name
    return f"{called(request)} {request.command.name.partition(' ')[0]} {option.name}"


def words_of(request: Request, option: Option) -> Sequence[str]:
    """An option as it was given, to be given once more; none where it was not."""
    return (option.name, _quoted(request.value(option, ""))) if request.has(option) else ()


def _place(request: Request) -> Sequence[str]:
    if not request.has(SANDBOX):
        return ()
    running = (SANDBOX_RUN.name,) if request.has(SANDBOX_RUN) else ()
    return (*words_of(request, SANDBOX), *running)


def _quoted(word: str) -> str:
    """For a shell of the system that this runs on."""
    if sys.platform == "win32":
        return word if _PLAIN.fullmatch(word) else quote(word, always=True)
    else:  # noqa: RET505 - or the type checker finds it unreachable on Windows
        return shlex.quote(word)
