"""The real cloudbase-init on a node, by the configurations of packaging/cloudbase-init; without a cluster."""

from __future__ import annotations

from agent.sources import cloudconfig
from agent.sources.cloudconfig import WrittenFile
from lab import cloudbase_init
from lab.node import Node
from lab.repository import ROOT
from lab.web import Web
from windows.exe import SHIPPED

_FILES = ROOT / "packaging" / "cloudbase-init"
_RENDERED = ROOT / "tests" / "data" / "cloudconfig"
_USER_DATA = r"C:\ProgramData\cloudbase-init\user-data"
_SCRIPTS = r"C:\scripts"
_PLUGINS = r"HKLM\SOFTWARE\Cloudbase Solutions\Cloudbase-Init\instance\Plugins"
_HOST_NAME = "win-1"
# All that it knows of OpenStack's metadata is who the machine is.
_METADATA = {
    "local_hostname": _HOST_NAME,
    "availability-zone": "CI_MISSING_JINJA_VAR/availability-zone",
}


def _boot(node: Node, web: Web, name: str, **changes: str) -> None:
    configuration = (_FILES / name / "cloudbase-init.conf").read_text()
    done = cloudbase_init.run(node, web, configuration, **changes)
    assert done.code == 0, done.err


def _log(node: Node) -> str:
    return node.path(cloudbase_init.LOG).read_text(errors="replace")


def _script(node: Node, text: str) -> None:
    path = node.path(rf"{_SCRIPTS}\join.cmd")
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


def test_local_scripts_get_the_user_data_as_it_is(node: Node, web: Web) -> None:
    user_data = (_RENDERED / "worker-everything.yaml").read_bytes()
    cloudbase_init.serve(web, user_data, "instance", _HOST_NAME)
    _script(node, f'copy "{_USER_DATA}" C:\\seen\r\n')
    _boot(node, web, "local-scripts", local_scripts_path=_SCRIPTS)
    assert node.path(r"C:\seen").read_bytes() == user_data, _log(node)
    assert not node.path(r"C:\run").exists()


BOOTS = {1: 1, 1001: 1, 1002: 2, 1003: 2}
"""By the exit code of a local script, how often it is run in two boots."""


def test_when_a_local_script_is_run_again(node: Node, web: Web) -> None:
    for code, times in BOOTS.items():
        cloudbase_init.serve(web, b"#cloud-config\n", f"instance-{code}", _HOST_NAME)
        _script(node, f">> C:\\runs echo {code}\r\nexit /b {code}\r\n")
        for _ in range(2):
            _boot(node, web, "local-scripts", local_scripts_path=_SCRIPTS)
        assert node.path(r"C:\runs").read_text().split().count(str(code)) == times, _log(node)


WHOLE = b"#cloud-config\nwrite_files:\n- {path: C:/made/first}\n- {path: C:/made/last}\n"
HALF = WHOLE[: WHOLE.index(b"- {path: C:/made/last}")]
"""It could be carried out."""


def test_user_data_that_is_half_written_is_not_carried_out(node: Node, web: Web) -> None:
    """The power has failed, and at the next boot the cloud has trouble of its own."""
    _bring_wmcb(node)
    node.path(_USER_DATA).write_bytes(HALF)
    cloudbase_init.serve(web, WHOLE, "instance", _HOST_NAME)
    cloudbase_init.refuse_user_data(web)
    _boot(node, web, "local-scripts", local_scripts_path=_SCRIPTS, retry_count="0")
    assert _made(node) == set(), _log(node)
    cloudbase_init.serve(web, WHOLE, "instance", _HOST_NAME)
    _boot(node, web, "local-scripts", local_scripts_path=_SCRIPTS)
    assert _made(node) == {"first", "last"}, _log(node)
    assert not node.path(_USER_DATA).exists()


def test_user_data_that_has_not_come_to_the_disk_is_had_again(node: Node, web: Web) -> None:
    """The power has failed when it was noted as written."""
    _bring_wmcb(node)
    node.path(_USER_DATA).write_bytes(b"")
    _note(node, "UserDataPlugin")
    cloudbase_init.serve(web, WHOLE, "instance", _HOST_NAME)
    for _ in range(2):
        _boot(node, web, "local-scripts", local_scripts_path=_SCRIPTS)
    assert _made(node) == {"first", "last"}, _log(node)


def _bring_wmcb(node: Node) -> None:
    node.copy_in(SHIPPED, r"C:\k\wmcb.exe")
    node.copy_in(_FILES / "local-scripts" / "join.cmd", rf"{_SCRIPTS}\join.cmd")
    node.path(_USER_DATA).parent.mkdir(parents=True)
    _note(node, "SetHostNamePlugin")  # which is left out here, and done before


def _note(node: Node, plugin: str) -> None:
    """That it is done, as cloudbase-init does."""
    assert node.run("reg.exe", "add", _PLUGINS, "/v", plugin, "/t", "REG_DWORD", "/d", "1").code == 0


def _made(node: Node) -> set[str]:
    folder = node.path(r"C:\made")
    return {path.name for path in folder.iterdir()} if folder.exists() else set()


RUNCMD = {
    "exit /b 1001": 2,
    "exit /b 1002": 1,
    "cmd /c exit 1003 && echo on": 2,
    "cmd /c exit 1003\n- cmd /c exit 0": 1,
}
"""By how runcmd ends, how often it is run in two boots."""


def test_when_runcmd_is_run_again(node: Node, web: Web) -> None:
    for number, (ending, times) in enumerate(RUNCMD.items(), 2000):
        raw = f"#cloud-config\nruncmd:\n- '>> C:\\runs echo {number}'\n- {ending}\n"
        cloudbase_init.serve(web, raw.encode(), f"instance-{number}", _HOST_NAME)
        for _ in range(2):
            _boot(node, web, "user-data")
        assert node.path(r"C:\runs").read_text().split().count(str(number)) == times, ending


def test_user_data_makes_the_files_that_we_make(node: Node, web: Web) -> None:
    # It ends at once, as it has nothing to read.
    node.copy_in(node.path(r"C:\windows\system32\cmd.exe"), r"C:\windows\kubeadm.exe")
    rendered = sorted(_RENDERED.glob("worker*.yaml"))
    assert rendered
    for path in rendered:
        raw = path.read_bytes()
        cloudbase_init.serve(web, raw, path.stem, _HOST_NAME)
        _boot(node, web, "user-data")
        ours = cloudconfig.load(path.stem, raw, cloudconfig.instance_data(_METADATA)).user_data
        assert ours
        assert ours.join
        for step in ours.before:
            if isinstance(step, WrittenFile):
                assert node.path(str(step.path)).read_bytes() == b"".join(step.content.blocks()), _log(node)
        sentinel = node.path(str(ours.join.sentinel))
        assert sentinel.read_text().split() == ["success"]
        sentinel.unlink()
