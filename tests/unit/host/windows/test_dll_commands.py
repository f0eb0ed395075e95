"""Commands as Windows' own shell runs them."""

from __future__ import annotations

import sys

assert sys.platform == "win32"


import pytest

from agent.engine.progress import Silent
from agent.engine.run import TakenBack, make_so, reset
from agent.host.port import Host
from agent.host.windows.machine import open_windows
from agent.resources.own_folder import own_folder
from agent.spec import Command, Inline, Specification


@pytest.fixture
def host() -> Host:
    return open_windows()


def logged(host: Host) -> bytes:
    logs = own_folder(host) / "logs"
    (name,) = host.files.list(logs)
    return host.files.read(logs / name)


def forget(host: Host) -> None:
    reset(host, Silent())
    logs = own_folder(host) / "logs"
    for name in host.files.list(logs):
        host.files.remove(logs / name)
    for folder in (logs, logs.parent):
        host.files.remove_directory(folder)


SCRIPT = b"\r\n".join(
    (
        b"rem secret",
        b"set A=one two",
        b"echo [%A%]",
        b"no-such-program",
        b"if errorlevel 1 echo went on",
        b"exit 0",
    )
)


def test_a_script_is_run_line_by_line_and_its_lines_are_not_in_the_log(host: Host) -> None:
    try:
        make_so(host, Specification.of([Command("a b", Inline(SCRIPT))]), Silent())
        said = logged(host)
        assert b"[one two]" in said
        assert b"went on" in said
        assert b"secret" not in said
    finally:
        forget(host)


@pytest.mark.parametrize("last", [b"exit /b 3", b"exit 3", b"cmd /c exit 3"])
def test_its_exit_code_is_told(host: Host, last: bytes) -> None:
    try:
        with pytest.raises(TakenBack) as failure:
            make_so(host, Specification.of([Command("a b", Inline(last + b"\r\n"))]), Silent())
        assert "ended with exit code 3" in str(failure.value.__cause__)
    finally:
        forget(host)
