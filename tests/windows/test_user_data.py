"""`wmcb --user-data` over several starts of Windows: what is run at each, what once, what again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from windows.exe import SHIPPED

if TYPE_CHECKING:
    from lab.node import Node

_EXE = r"C:\k\wmcb.exe"
_USER_DATA = r"C:\user-data"
_TEXT = r"""#cloud-config
bootcmd:
- 'echo x >> C:\boots'
runcmd:
- 'echo x >> C:\begun'
- 'cmd /c "if not exist C:\restarted (echo x > C:\restarted & exit 1003)" & if errorlevel 1003 exit /b 1003'
- 'echo x >> C:\ended'
"""


def _counts(node: Node) -> tuple[int, ...]:
    paths = [node.path(rf"C:\{name}") for name in ("boots", "begun", "ended")]
    return tuple(path.read_text().count("x") if path.exists() else 0 for path in paths)


def test_what_asks_for_a_restart_is_gone_on_with_after_it(node: Node) -> None:
    node.copy_in(SHIPPED, _EXE)
    node.path(_USER_DATA).write_text(_TEXT)
    for code, counts in ((1003, (1, 1, 0)), (1003, (1, 1, 0))):
        assert node.run(_EXE, "--user-data", _USER_DATA).code == code
        assert _counts(node) == counts, "in one boot nothing is run twice"
    node.reboot()
    for said in ("this user data has been carried out", "nothing to do"):
        done = node.run(_EXE, "--user-data", _USER_DATA)
        assert (done.code, done.out.startswith(said)) == (0, True), done
        assert _counts(node) == (2, 2, 1)
    node.reboot()
    assert node.run(_EXE, "--user-data", _USER_DATA).code == 0
    assert _counts(node) == (3, 2, 1), "boot commands alone"
