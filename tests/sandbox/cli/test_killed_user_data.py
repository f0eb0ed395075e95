"""User data whose run is killed, not told, at one change after the other: the next boot finishes it."""

from __future__ import annotations

import json
import shutil
import sys
from collections import Counter
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

if sys.platform == "win32":
    pytest.skip("tests/cluster kills the exe itself", allow_module_level=True)

import agent.host.sandbox
from agent.cli import main
from agent.engine.run import status
from agent.host.port import Host
from agent.host.sandbox import open_sandbox
from agent.host.sandbox.machine import Machine as SandboxMachine
from sandbox.cli.given import Machine
from sandbox.cli.test_join import Cluster, cluster, windows
from sandbox.cli.test_user_data import DATA
from sandbox.cli.test_user_data import SENTINEL as SENTINEL_TEXT
from sandbox.engine.world import Power, changed, picture, powered
from sandbox.killing import KILLED, Runs

__all__ = ["cluster", "windows"]

STATE = PureWindowsPath(r"C:\ProgramData\wmcb")
SENTINEL = PureWindowsPath(SENTINEL_TEXT)
COMMANDS, LOGS = STATE / "commands", STATE / "logs"
FETCHED = r"C:\given\fetched.yaml"

# As Cluster API's provider for AWS sends it: a boot hook fetches all else, which has secrets in it.
MESSAGE = f"""\
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="here"

--here
Content-Type: text/cloud-boothook

rem cmd
fetch
--here
Content-Type: text/x-include-url

file:///{FETCHED.replace(chr(92), "/")}
--here--
"""
MORE = """\
-   path: /given/hosts.txt
    append: true
    content: "added"
bootcmd:
  - 'echo boot'
"""
RESTART = 1003
EACH_BOOT = ("boot hook", "bootcmd")
ONCE = ("runcmd, before the join", "runcmd, after the join")
JOIN_STRIDE, RESET_STRIDE = 8, 10
"""Within the join it is each eighth (test_killed kills at each); and a reset does not follow each time."""


def carry_out(power: Power, place: str, user_data: str) -> int:
    opened = agent.host.sandbox.open_sandbox

    def limited(directory: Path, *, run_services: bool = False) -> Host:
        host = opened(directory, run_services=run_services)
        lives = powered(host, power)

        def append(path: PureWindowsPath, *given: Any, **how: Any) -> None:
            """Whether a line of a log was written before the kill makes no difference to anything."""
            (host if path.parent == LOGS else lives).files.append(path, *given, **how)

        return changed(lives, files={"append": append})

    agent.host.sandbox.open_sandbox = limited
    try:
        return main.run(["--sandbox", place, "--user-data", user_data, "--kubelet-version", "1.36"])
    finally:
        agent.host.sandbox.open_sandbox = opened


def reset(_: Power, place: str) -> int:
    return main.run(["--sandbox", place, "reset"])


def boot(_: Power, place: str) -> int:
    machine = SandboxMachine(Path(place), run_services=False)
    machine.shut_down()
    machine.start_up()
    return 0


@pytest.fixture
def given(windows: Machine, cluster: Cluster) -> str:
    configuration = cluster.join_configuration()
    indented = "".join(f"      {line}\n" for line in configuration.splitlines())
    text = DATA.format(configuration=indented, sentinel="/run/cluster-api/bootstrap-success.complete")
    windows.put(FETCHED, text.replace("runcmd:\n", f"{MORE}runcmd:\n").encode())
    windows.put(r"C:\given\hosts.txt", b"there;")
    windows.host.services.start("containerd")
    return windows.give("user-data", MESSAGE)


def has(host: Host, path: PureWindowsPath) -> bool:
    return host.files.observe(path) is not None


def listed(host: Host, folder: PureWindowsPath) -> list[str]:
    return list(host.files.list(folder)) if has(host, folder) else []


def ran(host: Host) -> Counter[str]:
    """How often each command was run until now."""
    return Counter(
        line.partition("Z ")[2]
        for log in listed(host, LOGS)
        if log.startswith("command-")
        for line in host.files.read(LOGS / log).decode().splitlines()
        if line.startswith("---")
    )


def remembered(host: Host) -> set[str]:
    markers = [name for name in listed(host, COMMANDS) if name.endswith(".json")]
    return {json.loads(host.files.read(COMMANDS / name))["name"] for name in markers}


RENAMING = """\
#cloud-config
hostname: other
runcmd:
  - 'echo named'
"""


def test_a_machine_that_is_renamed_first_goes_on_whenever_it_is_killed(
    windows: Machine, tmp_path: Path
) -> None:
    given = windows.give("renaming", RENAMING)
    bare = windows.picture()
    with Runs(tmp_path / "said") as runs:

        def restarted(place: str) -> None:
            assert runs.undisturbed(boot, place) == 0, runs.said()

        killed, code = 0, KILLED
        while code == KILLED:
            place = str(tmp_path / str(killed))
            shutil.copytree(windows.place, place)
            code = runs.killed(killed, carry_out, place, given)
            restarted(place)
            if runs.undisturbed(carry_out, place, given) == RESTART:
                restarted(place)
                assert runs.undisturbed(carry_out, place, given) == 0, runs.said()
            host = open_sandbox(Path(place))
            assert host.facts.host_name() == "other", f"killed after {killed} changes"
            assert ran(host) == {"runcmd": 1}
            assert status(host).is_well
            assert runs.undisturbed(reset, place) == 0, runs.said()
            restarted(place)
            assert host.facts.host_name() == "WIN1"
            assert set(picture(host)) == set(bare)
            killed += 1
        assert code == RESTART % 256, runs.said()  # as much as Linux keeps of it
    assert killed > 1


def test_the_next_boot_finishes_it_and_reset_leaves_nothing(
    windows: Machine, given: str, tmp_path: Path
) -> None:
    bare = windows.picture()
    with Runs(tmp_path / "said") as runs:

        def fresh(name: str) -> tuple[str, Host]:
            shutil.copytree(windows.place, tmp_path / name)
            return str(tmp_path / name), open_sandbox(tmp_path / name)

        place, host = fresh("undisturbed")
        assert runs.undisturbed(carry_out, place, given) == 0, runs.said()
        assert ran(host) == dict.fromkeys((*EACH_BOOT, *ONCE), 1)
        wanted = picture(host, but=(STATE,))

        killed = 0
        place, host = fresh("0")
        while (code := runs.killed(killed, carry_out, place, given)) == KILLED:
            when = f"killed after {killed} changes"
            before, known = ran(host), remembered(host)
            under_way = set(before) - known
            assert set(before.values()) <= {1}, when
            assert known <= set(before), when
            assert len(under_way) <= 1, when
            joining = ONCE[0] in known and not has(host, SENTINEL)
            for work, *more in ((boot,), (carry_out, given)):
                assert runs.undisturbed(work, place, *more) == 0, runs.said()
            assert status(host).is_well, when
            assert picture(host, but=(STATE,)) == wanted, when
            # What was cut off, or had ended and could not be remembered any more, is run anew.
            assert ran(host) == {
                name: before[name] + (name in EACH_BOOT or name not in known) for name in (*EACH_BOOT, *ONCE)
            }, when
            assert all(name.endswith(".json") for name in listed(host, COMMANDS)), when
            if killed % RESET_STRIDE == 0:
                assert runs.undisturbed(reset, place) == 0, runs.said()
                assert picture(host) == bare, when
            shutil.rmtree(place)
            killed += JOIN_STRIDE if joining else 1
            place, host = fresh(str(killed))
        assert code == 0, runs.said()
