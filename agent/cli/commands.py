"""All that the program can be asked to do."""

from __future__ import annotations

from agent.cli.arguments import OUTPUT, Command

COMMANDS = (
    Command(
        "version",
        "what this program is and what it was built from",
        run="agent.cli.version:show",
        options=(OUTPUT,),
        examples=("wmcb version", "wmcb version --output json"),
    ),
    Command(
        "daemon run",
        "be the resident service; called by Windows",
        run="agent.cli.daemon:run",
        examples=("sc start wmcb",),
    ),
)
