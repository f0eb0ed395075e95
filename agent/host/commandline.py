"""One command line out of many arguments and back, by the rules of CommandLineToArgvW.

Windows hands a program a single string, and the program splits it again. The program's own path, argument
zero, has a rule of its own: a quote ends at the next quote and a backslash means nothing.
"""

import re
from collections.abc import Sequence

from agent.command_lines import split
from agent.host import winerror
from agent.host.errors import BadName
from agent.redaction import in_quotes

__all__ = ["join", "quote", "split"]

_NEEDS_QUOTES = re.compile(r'[\x00-\x20"]')
_BEFORE_QUOTE = re.compile(r'(?<!\\)(\\*)("|\Z)')


def join(command: Sequence[str]) -> str:
    """The command line that every program splits into just this command."""
    program, *arguments = command
    return " ".join([_quoted_program(program), *map(quote, arguments)])


def quote(argument: str, *, always: bool = False) -> str:
    """One argument after the program. A shell may need quotes where the program does not: `always`."""
    _refuse_nul(argument)
    if argument and not always and not _NEEDS_QUOTES.search(argument):
        return argument
    # Backslashes are ordinary except before a quote, where two stand for one; so also before the last one.
    doubled = _BEFORE_QUOTE.sub(lambda run: run[1] * 2 + ('\\"' if run[2] else ""), argument)
    return f'"{doubled}"'


def _quoted_program(program: str) -> str:
    _refuse_nul(program)
    if '"' in program:
        raise BadName(
            "run", program, winerror.ERROR_INVALID_PARAMETER, "a program's path cannot contain a quote"
        )
    # Unquoted, C:\Program Files\x.exe would be tried as C:\Program.exe first.
    return f'"{program}"' if not program or _NEEDS_QUOTES.search(program) else program


def _refuse_nul(argument: str) -> None:
    if "\0" in argument:
        raise BadName(
            "run",
            in_quotes(argument),
            winerror.ERROR_INVALID_PARAMETER,
            "an argument cannot contain a NUL character",
        )
