"""`wmcb --user-data` over several starts of Windows: what is run at each, what once, what again."""

from __future__ import annotations

import os

from lab.node import Node
from windows.exe import SHIPPED

_EXE = r"C:\k\wmcb.exe"
_USER_DATA = r"C:\user-data"
_TEXT = r"""MIME-Version: 1.0
Content-Type: multipart/mixed; boundary="here"

--here
Content-Type: text/cloud-config

bootcmd:
- 'if exist C:\hooks echo x >> C:\boots'
runcmd:
- 'echo x >> C:\begun'
- 'echo this is what it says'
- 'cmd /c "if not exist C:\restarted (echo x > C:\restarted & exit 1003)" & if errorlevel 1003 exit /b 1003'
- 'echo x >> C:\ended'
--here
Content-Type: text/cloud-boothook

rem cmd
echo x >> C:\hooks
--here--
"""


def _counts(node: Node) -> tuple[int, ...]:
    paths = [node.path(rf"C:\{name}") for name in ("hooks", "boots", "begun", "ended")]
    return tuple(path.read_text().count("x") if path.exists() else 0 for path in paths)


def test_what_asks_for_a_restart_is_gone_on_with_after_it(node: Node) -> None:
    node.copy_in(SHIPPED, _EXE)
    node.path(_USER_DATA).write_text(_TEXT)
    for code, counts in ((1003, (1, 1, 1, 0)), (1003, (1, 1, 1, 0))):
        assert node.run(_EXE, "--user-data", _USER_DATA).code == code
        assert _counts(node) == counts, "in one boot nothing is run twice"
    node.reboot()
    for said in ("this user data has been carried out", "nothing to do"):
        done = node.run(_EXE, "--user-data", _USER_DATA)
        assert (done.code, done.out.startswith(said)) == (0, True), done
        assert _counts(node) == (2, 2, 2, 1)
    node.reboot()
    assert node.run(_EXE, "--user-data", _USER_DATA).code == 0
    assert _counts(node) == (3, 3, 2, 1), "boot hooks and boot commands alone"


def test_what_its_commands_say_is_kept_and_nobody_else_reads_it(node: Node) -> None:
    node.copy_in(SHIPPED, _EXE)
    node.path(_USER_DATA).write_text("#cloud-config\nruncmd:\n- echo to be read later\n- exit /b 3\n")
    done = node.run(_EXE, "--user-data", _USER_DATA)
    assert done.code == 0, "as with cloudbase-init, a command that fails ends nothing"
    assert "command runcmd ended with exit code 3" in done.err
    (log,) = node.path(r"C:\ProgramData\wmcb\logs").glob("command-*.log")
    assert log.name in done.err
    assert "to be read later" in log.read_text()
    assert not log.stat().st_mode & 0o007


_RENAMING = r"""#cloud-config
hostname: a-longer-name-7k2p.example
runcmd:
- 'hostname > C:\named'
"""
_NAME = "import win32api; print(win32api.GetComputerNameEx(5))"


def test_a_machine_has_its_name_before_any_command_runs(node: Node) -> None:
    """Cluster API's names are longer than the 15 characters that cloudbase-init leaves."""
    node.copy_in(SHIPPED, _EXE)
    node.path(_USER_DATA).write_text(_RENAMING)
    former = node.python("-c", _NAME).out.strip()
    for _ in range(2):
        asked = node.run(_EXE, "--user-data", _USER_DATA)
        assert asked.code == 1003, asked.err
        assert "this machine is a-longer-name-7k2p when it has been restarted" in asked.out
        assert not node.path(r"C:\named").exists()
    node.reboot()
    assert node.run(_EXE, "--user-data", _USER_DATA).code == 0
    assert node.path(r"C:\named").exists()
    assert node.python("-c", _NAME).out.strip() == "a-longer-name-7k2p"
    assert node.run(_EXE, "reset").code == 0
    node.reboot()
    assert node.python("-c", _NAME).out.strip() == former


_STATE = r"C:\ProgramData\wmcb"
_ANOTHER_ACCOUNT = 4321
"""A user of the Linux machine: Wine reports its files as those of an account that is not the caller."""


def test_a_folder_that_a_plain_user_made_before_is_moved_aside(node: Node) -> None:
    """With a record in it, and a folder where the state's own contents would lie."""
    node.copy_in(SHIPPED, _EXE)
    node.path(_USER_DATA).write_text("#cloud-config\nruncmd:\n- echo done > C:\\done\n")
    for line in (rf"mkdir {_STATE}\kept", rf"echo {{}} > {_STATE}\node.json"):
        assert node.run("cmd.exe", "/c", line, as_user=True).code == 0
    made = node.path(_STATE)
    for path in (made, *made.rglob("*")):
        # The lab has one account, which is an administrator when it is asked to be.
        os.chown(path, _ANOTHER_ACCOUNT, _ANOTHER_ACCOUNT)
    planted, identity = (made / "node.json").read_bytes(), made.stat().st_ino
    looked = node.run(_EXE, "status")
    assert (looked.code, "was made by a user, so nothing in it is believed" in looked.err) == (1, True), (
        looked
    )
    done = node.run(_EXE, "--user-data", _USER_DATA)
    assert done.code == 0, done
    (line,) = [line for line in done.err.splitlines() if "had been made by a user" in line]
    (aside,) = made.parent.glob("wmcb-untrusted-*")
    assert aside.name in line
    assert (aside.stat().st_ino, (aside / "node.json").read_bytes()) == (identity, planted)
    for folder in (_STATE, rf"C:\ProgramData\{aside.name}"):
        assert node.mode(folder) & 0o007 == 0
    assert node.path(r"C:\done").exists()
    again = node.run(_EXE, "--user-data", _USER_DATA)
    assert (again.code, "made by a user" in again.err) == (0, False), again
