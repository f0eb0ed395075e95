"""Arguments in, an exit code out, one line for whatever went wrong."""

import sys
from collections.abc import Callable, Sequence
from itertools import pairwise

from agent.cli.arguments import COMMON, HELP, OUTPUT, VERBOSE, Command, Option, Request, parse
from agent.cli.commands import COMMANDS, ELSEWHERE
from agent.cli.failure import DONE, Failure, Unexpected, token_in
from agent.cli.streams import error_document, say, tell
from agent.redaction import Redacted, register, register_words


def run(
    arguments: Sequence[str], called: str = "wmcb", *, failed: Callable[[Failure], None] | None = None
) -> int:
    """Does what the arguments ask for. Raises nothing but KeyboardInterrupt.

    `called` is the name that the program was started by: under kubeadm's it takes kubeadm's command lines.
    `failed` is given what went wrong, for whoever has no one at a console.
    """
    _register_secrets(arguments)
    try:
        if called == "kubeadm":
            from agent.cli import kubeadm_commands as kubeadm  # noqa: PLC0415 - 6 ms of each start

            return _run(kubeadm.kubeadm_request(arguments), kubeadm.COMMANDS, called, kubeadm.COMMON)
        return _run(parse(arguments, COMMANDS, elsewhere=ELSEWHERE), COMMANDS, called, COMMON)
    except Failure as failure:
        fault = failure
    except Exception as error:  # noqa: BLE001 - the last resort
        fault = _failure(error, arguments)
    if failed is not None:
        failed(fault)
    return ended(fault, arguments, called)


def _register_secrets(arguments: Sequence[str]) -> None:
    """Also of arguments that cannot be understood: a token given to a wrong option is in the error's text."""
    register_words(arguments)
    for word in arguments:
        # Also behind a short option's letter, as in -oTOKEN.
        if token := token_in(word.lstrip("-")):
            register(token[2])


def _run(request: Request, commands: Sequence[Command], called: str, common: Sequence[Option]) -> int:
    if request.has(HELP):
        from agent.cli import help as help_text  # noqa: PLC0415 - 1 ms of each start

        # Text of this program alone: to look for secrets in it would load `re` for it.
        below = [each for each in commands if each.name.startswith(" ".join(request.words))]
        if request.command:
            say(Redacted(help_text.of_command(request.command, called, common)))
        else:
            say(Redacted(help_text.overview(below, called, common)))
        return DONE
    assert request.command is not None, "parse() gives a command, or asks for help"
    return _function(request.command.run)(request)


def _function(name: str) -> Callable[[Request], int]:
    module, _, function = name.partition(":")
    __import__(module)
    found: Callable[[Request], int] = getattr(sys.modules[module], function)
    return found


def ended(failure: Failure, arguments: Sequence[str], called: str) -> int:
    """Tells it, and gives its exit code."""
    # What calls kubeadm looks for the word that its errors begin with.
    for line in (*map(str, failure.others), failure.with_details()):
        tell(f"{'error' if called == 'kubeadm' else 'wmcb'}: {line}")
    if _wants_json(arguments):
        try:  # noqa: SIM105 - contextlib would have to be imported at each start
            say(error_document(failure))
        except Failure:
            pass  # it may be the very thing that failed
    return failure.exit_code


def _wants_json(arguments: Sequence[str]) -> bool:
    """Also if nothing else of the arguments can be understood."""
    names, value = (OUTPUT.name, OUTPUT.short), "json"
    in_one = {*(f"{name}={value}" for name in names), f"{OUTPUT.short}{value}"}
    return not in_one.isdisjoint(arguments) or any((name, value) in pairwise(arguments) for name in names)


def _failure(error: Exception, arguments: Sequence[str]) -> Failure:
    from agent.host.errors import HostError  # noqa: PLC0415 - 2 ms of each start

    if isinstance(error, HostError):
        return Failure(str(error), where=error.subject)
    text = f"unexpected {type(error).__name__}: {' '.join(str(error).split())}"
    if VERBOSE.name in arguments or VERBOSE.short in arguments:
        import traceback  # noqa: PLC0415 - traceback, 2 ms of each start

        trace = "".join(traceback.format_exception(error)).splitlines()
        return Unexpected(f"{text} (please report it, with what follows)", details=trace)
    return Unexpected(f"{text} (please report it; -v shows where it happened)")
