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
        "daemon install",
        "make this the resident service of the machine",
        run="agent.cli.daemon:install",
        examples=("wmcb daemon install",),
    ),
    Command(
        "daemon uninstall",
        "stop the resident service and remove it",
        run="agent.cli.daemon:uninstall",
        examples=("wmcb daemon uninstall",),
    ),
    Command(
        "daemon run",
        "be the resident service; Windows calls this",
        run="agent.cli.daemon:run",
        examples=("sc start wmcb",),
    ),
)
