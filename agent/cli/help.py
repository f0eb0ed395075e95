"""`--help`: plain text that reads well on a console of 80 columns and any code page."""

from collections.abc import Sequence

from agent.cli.arguments import COMMON, Command, Option
from agent.release import RELEASE

_WHAT = f"wmcb {RELEASE}: turns a Windows Server machine into a Kubernetes worker node\nand keeps it one."
_WIDEST = 34
EXIT_CODES = (
    ("0", "done"),
    ("1", "failed"),
    ("2", "bad usage or input"),
    ("3", "refused: no administrator, or a condition of the machine is missing"),
    ("1001", "of user data: restart; 1002: the same again at the next boot"),
    ("1003", "restart this machine, and run the same again: it goes on"),
    ("233", "1001 as a Linux shell sees it, in a sandbox; 234: 1002; 235: 1003"),
)


def overview(commands: Sequence[Command], program: str = "wmcb", common: Sequence[Option] = COMMON) -> str:
    """What there is."""
    unnamed = [option for command in commands if not command.name for option in command.options]
    examples = [example for command in commands for example in command.examples]
    parts = [
        _WHAT,
        f"Usage:\n  {program} [COMMAND] [OPTION...]",
        _table("Commands:", [(command.shown, command.summary) for command in commands]),
        _table("Options of every command:", [_explained(option) for option in common]),
        _lines("Examples:", examples),
        _table("Exit codes:", EXIT_CODES),
    ]
    if unnamed:
        parts.insert(3, _table("Options without a command:", [_explained(option) for option in unnamed]))
    return "\n\n".join(parts)


def of_command(command: Command, program: str = "wmcb", common: Sequence[Option] = COMMON) -> str:
    """What one command does and takes."""
    called = f"{command.name} [{command.operand}]" if command.operand else command.name
    parts = [
        f"{program} {command.name}: {command.summary}",
        f"Usage:\n  {program} {called} [OPTION...]",
        _table("Options:", [_explained(option) for option in (*command.options, *common)]),
    ]
    if command.examples:
        parts.append(_lines("Examples:", command.examples))
    return "\n\n".join(parts)


def _explained(option: Option) -> tuple[str, str]:
    names = ", ".join(name for name in (option.short, option.name) if name)
    return f"{names} {option.placeholder}".rstrip(), option.summary


def _table(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """What is too wide for its column has a line of its own, so that the others need not be as wide."""
    width = max((len(left) for left, _ in rows if len(left) <= _WIDEST), default=_WIDEST)
    lines = []
    for left, right in rows:
        lines += [left, " " * width + f"  {right}"] if len(left) > width else [f"{left:<{width}}  {right}"]
    return _lines(title, lines)


def _lines(title: str, lines: Sequence[str]) -> str:
    return "\n".join([title, *(f"  {line}" for line in lines)])
