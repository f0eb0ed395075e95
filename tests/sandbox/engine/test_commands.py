"""Somebody's own commands: run once, told of, remembered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PureWindowsPath
from typing import Any

import pytest

from agent.engine.progress import Silent
from agent.engine.run import TakenBack, make_so, preview, reset, status, take_back
from agent.host.errors import NotFound, TimedOut
from agent.host.port import Host, Principal
from agent.host.protection import SIDS
from agent.host.sandbox import open_sandbox
from agent.resources.kind import CannotBeSo, NotWell
from agent.spec import Command, File, Inline, Shell, Specification, Want
from sandbox.engine.test_run import STATE
from sandbox.engine.world import C, Killed, Power, changed, picture, powered

LOGS = STATE / "logs"
SYSTEM = PureWindowsPath(r"C:\Windows\System32")
COMMAND = Command("preKubeadmCommands 1", Inline(b"echo token\r\n"))


class Shells:
    """What would run the scripts, and says what it read."""

    def __init__(self, host: Host, exit_code: int = 0) -> None:
        self._real = host
        self._exit_code = exit_code
        self.host = changed(host, processes={"run_logged": self._run})
        self.words: list[Sequence[str]] = []
        self.scripts: list[bytes] = []

    def _run(
        self, words: Sequence[str], log: PureWindowsPath, *, seconds: float, directory: PureWindowsPath
    ) -> int:
        assert directory == SYSTEM
        assert seconds == COMMAND.within_seconds
        script = PureWindowsPath(words[-1])
        for secret in (script, log):
            assert not self._real.files.descriptor(secret).granted(SIDS[Principal.USER])
        self.words.append(words)
        self.scripts.append(self._real.files.read(script))
        return self._exit_code


def run(host: Host, *wants: Want) -> None:
    make_so(host, Specification.of(wants), Silent())


def test_it_is_run_once(host: Host) -> None:
    shells = Shells(host)
    run(shells.host, COMMAND)
    assert shells.scripts == [b"echo token\r\n"]
    run(shells.host, COMMAND)
    assert shells.scripts == [b"echo token\r\n"]
    assert status(host).is_well


def test_another_script_is_run(host: Host) -> None:
    shells = Shells(host)
    run(shells.host, COMMAND)
    run(shells.host, replace(COMMAND, script=Inline(b"echo 2\r\n")))
    assert shells.scripts == [b"echo token\r\n", b"echo 2\r\n"]


WORDS = {
    Shell.CMD: (rf"{SYSTEM}\cmd.exe", "/q", "/c"),
    Shell.POWERSHELL: (
        rf"{SYSTEM}\WindowsPowerShell\v1.0\powershell.exe",
        *("-ExecutionPolicy", "RemoteSigned", "-NonInteractive", "-File"),
    ),
}


@pytest.mark.parametrize("shell", Shell)
def test_each_shell_is_called_as_by_cloudbase_init(host: Host, shell: Shell) -> None:
    shells = Shells(host)
    run(shells.host, replace(COMMAND, shell=shell))
    ((*words, script),) = shells.words
    assert tuple(words) == WORDS[shell]
    assert PureWindowsPath(script).suffix == {Shell.CMD: ".cmd", Shell.POWERSHELL: ".ps1"}[shell]


def test_in_the_order_in_which_they_are_given_and_after_what_they_need(host: Host) -> None:
    shells = Shells(host)
    file = File(C / "needed", Inline(b"x"))
    second = Command("2", Inline(b"second"), after=(file.key,))
    run(shells.host, Command("1", Inline(b"first")), second, Command("3", Inline(b"third")), file)
    assert shells.scripts == [b"first", b"second", b"third"]
    run(shells.host, Command("1", Inline(b"first")), second, replace(file, content=Inline(b"y")))
    assert shells.scripts == [b"first", b"second", b"third"]


def test_one_that_fails_fails_the_run_and_is_run_again_by_the_next(host: Host) -> None:
    before = picture(host, but=(LOGS,))
    with pytest.raises(TakenBack) as failure:
        run(Shells(host, exit_code=3).host, COMMAND)
    (log,) = host.files.list(LOGS)
    told = f"command preKubeadmCommands 1 ended with exit code 3; what it said is in {LOGS / log}"
    assert str(failure.value.__cause__) == told
    assert "preKubeadmCommands-1" in log
    assert failure.value.undone.left == ("what command preKubeadmCommands 1 has done stays",)
    host.files.remove(LOGS / log)
    host.files.remove_directory(LOGS)
    host.files.remove_directory(STATE)
    assert picture(host) == before
    shells = Shells(host)
    run(shells.host, COMMAND)
    assert len(shells.scripts) == 1


def test_one_that_may_fail_is_not_run_again(host: Host) -> None:
    shells = Shells(host, exit_code=3)
    may_fail = replace(COMMAND, may_fail=True)
    run(shells.host, may_fail)
    run(shells.host, may_fail)
    assert len(shells.scripts) == 1
    (standing,) = status(host).resources
    assert standing.found is not None
    assert standing.found["exit_code"] == 3
    assert status(host).is_well


@pytest.mark.parametrize(
    ("exit_code", "runs"),
    [(0, 1), (3, 1), (1001, 1), (1002, 2), (1003, 2)],
    ids=["done", "failed", "restart", "again", "restart and again"],
)
def test_what_asks_to_be_run_at_the_next_boot_is_run_then(host: Host, exit_code: int, runs: int) -> None:
    may_fail = replace(COMMAND, may_fail=True)
    first = Shells(host, exit_code)
    run(first.host, may_fail)
    run(first.host, may_fail)
    assert len(first.scripts) == 1, "not at this boot"
    later = changed(host, clock={"boot": lambda: host.clock.boot() + 1})
    second = Shells(later)
    run(second.host, may_fail)
    run(second.host, may_fail)
    assert len(first.scripts + second.scripts) == runs
    assert status(later).is_well


def test_one_that_does_not_end_is_told(host: Host) -> None:
    def run_logged(*_: object, **__: object) -> int:
        raise TimedOut("run", "cmd.exe", 1460)

    with pytest.raises(TakenBack) as failure:
        run(changed(host, processes={"run_logged": run_logged}), COMMAND)
    assert isinstance(failure.value.__cause__, NotWell)
    assert "command preKubeadmCommands 1 did not end within 3600 seconds" in str(failure.value.__cause__)


def test_a_shell_that_is_not_there_is_told(host: Host) -> None:
    def run_logged(words: Sequence[str], *_: object, **__: object) -> int:
        raise NotFound("run", words[0], 2)

    with pytest.raises(TakenBack) as failure:
        run(changed(host, processes={"run_logged": run_logged}), COMMAND)
    assert str(failure.value.__cause__).startswith(
        rf"command preKubeadmCommands 1: cannot run {SYSTEM}\cmd.exe"
    )


def test_reset_says_what_stays_and_leaves_only_the_log(host: Host) -> None:
    before = picture(host)
    run(host, COMMAND)
    done = reset(host, Silent())
    assert done.left == ("what command preKubeadmCommands 1 has done stays",)
    assert picture(host, but=(STATE,)) == before
    assert host.files.list(STATE) == ["logs"]


def test_a_damaged_marker_is_told(host: Host) -> None:
    run(host, COMMAND)
    (marker,) = host.files.list(STATE / "commands")
    host.files.write(STATE / "commands" / marker, b"{", host.files.descriptor(STATE / "commands" / marker))
    with pytest.raises(CannotBeSo, match="is damaged; remove it, and command preKubeadmCommands 1 will be"):
        preview(host, Specification.of([COMMAND]))


def test_killed_while_a_script_is_written_nothing_of_it_is_left(host: Host) -> None:
    before, power = picture(host), Power(left=10_000)
    folder = STATE / "commands"

    def write(path: PureWindowsPath, *given: Any) -> Any:
        if path.parent == folder:
            host.files.write(folder / "wmcb-0123456789abcdef.tmp", *given)
            power.left = 0
        return power.spend(lambda: host.files.write(path, *given))

    with pytest.raises(Killed):
        run(changed(powered(host, power), files={"write": write}), COMMAND)
    assert host.files.list(folder) == ["wmcb-0123456789abcdef.tmp"]
    assert take_back(host, Silent()) is not None
    assert picture(host, but=(STATE,)) == before
    assert host.files.observe(folder) is None


@pytest.mark.parametrize("exit_code", [0, 3])
def test_killed_anywhere_no_command_is_forgotten_and_no_script_left(
    tmp_path_factory: pytest.TempPathFactory, exit_code: int
) -> None:
    wants = (replace(COMMAND, may_fail=True), File(C / "after", Inline(b"x")))

    def fresh() -> Host:
        return open_sandbox(tmp_path_factory.mktemp("c"))

    undisturbed, power = fresh(), Power(left=10_000)
    bare = picture(undisturbed)
    run(Shells(powered(undisturbed, power), exit_code).host, *wants)
    wanted = picture(undisturbed, but=(STATE,))
    for left in range(power.used):
        host = fresh()
        first, second = Shells(powered(host, Power(left)), exit_code), Shells(host, exit_code)
        with pytest.raises(Killed):
            run(first.host, *wants)
        marked = "commands" in str(picture(host)) and ".json" in str(picture(host))
        run(second.host, *wants)
        assert len(second.scripts) == (0 if marked else 1), f"after {left} changes"
        assert picture(host, but=(STATE,)) == wanted
        assert [name for name in host.files.list(STATE / "commands") if not name.endswith(".json")] == []
        assert status(host).is_well

        host = fresh()
        with pytest.raises(Killed):
            run(Shells(powered(host, Power(left)), exit_code).host, *wants)
        if take_back(host, Silent()) is not None:
            assert picture(host, but=(STATE,)) == bare
            assert set(host.files.list(STATE)) <= {"logs"} if host.files.observe(STATE) else True
