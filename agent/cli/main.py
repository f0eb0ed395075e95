"""The program's first and last function: arguments in, an exit code out, one line for whatever went wrong."""

from __future__ import annotations

import sys

from agent.cli.arguments import HELP, VERBOSE, Request, parse
from agent.cli.commands import COMMANDS
from agent.cli.failure import DONE, FAILED, Failure
from agent.cli.streams import say, tell

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import NoReturn


def console() -> NoReturn:
    """`.venv/bin/wmcb`."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")  # type: ignore[union-attr]
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Does what the arguments ask for. Never raises."""
    try:
        return _run(parse(arguments, COMMANDS))
    except Failure as failure:
        tell(f"wmcb: {failure}")
        return failure.exit_code
    except KeyboardInterrupt:
        tell("wmcb: interrupted")
        return FAILED
    except Exception as error:  # noqa: BLE001 - the last resort
        tell(f"wmcb: {_in_one_line(error, arguments)}")
        return FAILED


def _run(request: Request) -> int:
    if request.has(HELP):
        from agent.cli import help as help_text

        below = [each for each in COMMANDS if each.name.startswith(" ".join(request.words))]
        say(help_text.of_command(request.command) if request.command else help_text.overview(below))
        return DONE
    assert request.command is not None, "parse() gives a command, or asks for help"
    return _function(request.command.run)(request)


def _function(name: str) -> Callable[[Request], int]:
    module, _, function = name.partition(":")
    __import__(module)
    found: Callable[[Request], int] = getattr(sys.modules[module], function)
    return found


def _in_one_line(error: Exception, arguments: Sequence[str]) -> str:
    from agent.host.errors import HostError

    if isinstance(error, HostError):
        return str(error)
    if VERBOSE.name in arguments or VERBOSE.short in arguments:
        import traceback

        return "".join(traceback.format_exception(error))
    text = " ".join(str(error).split())
    return f"unexpected {type(error).__name__}: {text} (please report it; -v shows where it happened)"
