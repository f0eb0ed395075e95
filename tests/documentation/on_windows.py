"""A page's commands in the command interpreter of a Windows node, by the built exe."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping

from documentation import blocks, output
from documentation.blocks import SHELL, Command, Place, Written
from lab.node import Node
from lab.running import Result

_LIMIT_SECONDS = 240
"""As a node's programs have."""
_EXIT_CODE = "echo %ERRORLEVEL%"
_RESTART = "shutdown /r /t 0"
"""Which Wine refuses: the machine is switched off and on."""
_OF_THE_LAB = (
    "wmcb: warning: windows-build:",
    "wmcb: this Windows does not keep the service's",
    "could not obtain a bind address for the API Server",
)
"""In lines that no reader sees: Wine is no Windows Server, and the lab's network leads nowhere else."""


def check(
    page: str,
    place: Place,
    node: Node,
    real: Mapping[str, str],
    environment: Mapping[str, str] | None = None,
) -> None:
    """Each command of the page that is for this place does and prints what the page shows.

    `real`: what is called otherwise here than in the page, or has to be said besides. What stands behind the
    prompt of another system is run there, in that environment, at home.
    """
    steps = blocks.steps(blocks.of_page(page), place)
    last = 0
    for step, following in zip(steps, [*steps[1:], None], strict=True):
        if isinstance(step, Written):
            if step.is_for_windows:
                content = output.put_in(step.content, real)
                node.path(step.file).write_text(content, "utf-8", newline="\r\n")
            continue
        text = output.put_in(step.text, real)
        if step.text == _EXIT_CODE:
            code, printed = 0, f"{last}\n"
        elif step.text == _RESTART:
            node.reboot()
            code, printed = 0, ""
        elif step.prompt == SHELL:
            assert environment is not None, f"{step.where}: there is no other system"
            code, printed = there(text, environment)
        else:
            done = _here(node, text)
            code, printed = done.code, done.out
        lines = printed.splitlines(keepends=True)
        printed = "".join(line for line in lines if not any(said in line for said in _OF_THE_LAB))
        last = code
        told = output.complaint(step, code, printed)
        next_command = following if isinstance(following, Command) else None
        assert code == 0 or output.expects_a_code(next_command), told
        assert output.is_as_shown([output.put_in(line, real) for line in step.shown], printed), told


def _here(node: Node, text: str) -> Result:
    """With /s, all between the first quote and the last is the line, whatever is quoted in it."""
    line = text.replace("^\n", "")
    return node.run_line(f'cmd.exe /s /c "{line} 2>&1"')


def there(text: str, environment: Mapping[str, str]) -> tuple[int, str]:
    """Behind the prompt of another system: the exit code, and what was printed on both streams."""
    done = subprocess.run(
        ["sh", "-c", text],
        cwd=environment["HOME"],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=_LIMIT_SECONDS,
        check=False,
    )
    return done.returncode, done.stdout.decode(errors="replace")
