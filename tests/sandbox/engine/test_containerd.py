"""containerd's configuration file: our values in it, and nothing else touched."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import replace
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

from agent.engine.planning import Action
from agent.engine.progress import Silent
from agent.engine.repairing import drifted, repair
from agent.engine.run import make_so, preview, reset, status
from agent.host.port import Host
from agent.host.protection import PROGRAM_DIRECTORY, PROGRAM_FILE
from agent.resources.kind import CannotBeSo
from agent.spec import Directory, Protection, Service, Specification
from agent.spec.files import ContainerdConfiguration
from sandbox.engine.test_run import run, without_state
from sandbox.engine.world import Killed, Power, powered

DATA = Path(__file__).parents[2] / "data" / "containerd"
FOLDER = PureWindowsPath(r"C:\containerd")
FILE = FOLDER / "config.toml"
WANTED = ContainerdConfiguration(
    FILE,
    version=2,
    cni_programs=r"C:\opt\cni\bin",
    cni_configurations=r"C:\etc\cni\net.d",
    sandbox_image="registry.example/pause:3.10.1",
    registries=r"C:\etc\certs.d",
    address=r"\\.\pipe\other",
    without_systemd_cgroup=True,
)
WRITTEN = {path.stem: path.read_text() for path in sorted(DATA.iterdir())}
FILES = [pytest.param(text, id=name) for name, text in WRITTEN.items()]


def specified(want: ContainerdConfiguration = WANTED) -> Specification:
    return Specification.of([Directory(FOLDER, Protection.PROGRAM, shared=True), want])


def put(host: Host, text: str) -> None:
    if host.files.observe(FOLDER) is None:
        host.files.make_directory(FOLDER, PROGRAM_DIRECTORY)
    host.files.write(FILE, text.encode(), PROGRAM_FILE)


def there(host: Host) -> str:
    return host.files.read(FILE).decode()


def changed_lines(before: str, after: str) -> list[str]:
    """Without what they begin with."""
    compared = difflib.unified_diff(before.splitlines(), after.splitlines(), n=0, lineterm="")
    return [f"{line[0]} {line[1:].strip()}" for line in compared if not line.startswith(("---", "+++", "@@"))]


OF_VERSION_2 = [
    r"""- address = '\\.\pipe\containerd-containerd'""",
    r'''+ address = "\\\\.\\pipe\\other"''',
    """- sandbox_image = "registry.example/pause:3.8"  # mirrored by hand""",
    """+ sandbox_image = "registry.example/pause:3.10.1"  # mirrored by hand""",
    r'''- bin_dir = "C:\\Program Files\\containerd\\cni\\bin"''',
    r'''- conf_dir = "C:\\Program Files\\containerd\\cni\\conf"''',
    r'''+ bin_dir = "C:\\opt\\cni\\bin"''',
    r'''+ conf_dir = "C:\\etc\\cni\\net.d"''',
    "- SystemdCgroup = true",
    '''- config_path = ""''',
    r'''+ config_path = "C:\\etc\\certs.d"''',
]


def test_only_its_own_values_change_and_comments_stay(host: Host) -> None:
    before = WRITTEN["config-2"]
    put(host, before)
    run(host, specified())
    assert changed_lines(before, there(host)) == OF_VERSION_2


@pytest.mark.parametrize("text", FILES)
def test_again_nothing_changes_and_a_reset_gives_each_value_back(host: Host, text: str) -> None:
    put(host, text)
    run(host, specified())
    assert run(host, specified()) == []
    reset(host, Silent())
    assert tomllib.loads(there(host)) == tomllib.loads(text)
    comments = [line for line in text.splitlines() if "#" in line]
    assert [line for line in there(host).splitlines() if "#" in line] == comments


PLACES = {
    "config-2": ("plugins", "io.containerd.grpc.v1.cri", "cni", "bin_dir"),
    "config-3": ("plugins", "io.containerd.cri.v1.runtime", "cni", "bin_dirs"),
    "config-3-of-2.0": ("plugins", "io.containerd.cri.v1.runtime", "cni", "bin_dir"),
}


@pytest.mark.parametrize("name", PLACES)
def test_each_schema_has_its_own_place_for_a_value(host: Host, name: str) -> None:
    put(host, WRITTEN[name])
    run(host, specified())
    found: Any = tomllib.loads(there(host))
    for step in PLACES[name]:
        found = found[step]
    assert found in (r"C:\opt\cni\bin", [r"C:\opt\cni\bin"])
    assert "SystemdCgroup" not in there(host)


@pytest.mark.parametrize("version", [2, 3])
def test_where_there_is_no_file_there_is_one_then_and_none_after_a_reset(host: Host, version: int) -> None:
    before = without_state(host)
    assert run(host, specified(replace(WANTED, version=version)))[-1] == (Action.CREATE, str(FILE))
    assert tomllib.loads(there(host))["version"] == version
    assert status(host).is_well
    reset(host, Silent())
    assert without_state(host) == before


def test_of_a_file_that_was_made_here_what_somebody_put_into_it_stays(host: Host) -> None:
    run(host, specified())
    theirs = 'version = 2\n[debug]\nlevel = "info" # for a while\n'
    put(host, there(host).replace("version = 2\n", theirs))
    left = reset(host, Silent()).left
    assert left == (
        f"{FILE} stays, with what somebody else has put into it",
        f"{FOLDER} holds something that is not wmcb's ({FILE.name}), and stays",
    )
    assert there(host).split() == theirs.split()


@pytest.mark.parametrize("text", FILES)
def test_what_somebody_changes_of_it_is_drift_and_all_else_is_not(host: Host, text: str) -> None:
    put(host, text)
    run(host, specified())
    put(host, there(host).replace("containerd\\\\root", "elsewhere").replace("pause:3.10.1", "pause:latest"))
    (drift,) = drifted(host).drifts
    assert drift.fields == ("sandbox image",)
    repair(host, Silent(), [drift.key])
    assert "pause:3.10.1" in there(host)
    assert "pause:latest" not in there(host)
    assert ("elsewhere" in there(host)) == ("containerd\\\\root" in text)


def test_a_file_that_is_gone_comes_back_with_what_is_known_of_it(host: Host) -> None:
    put(host, WRITTEN["config-2"])
    run(host, specified())
    host.files.remove(FILE)
    (drift,) = drifted(host).drifts
    assert drift.is_missing
    repair(host, Silent(), [drift.key])
    assert drifted(host).drifts == ()


RUNTIME = "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.cni]\n"
OF_PROGRAMS = {
    "both, as containerd's own default has them": (
        "bin_dir = ''\nbin_dirs = ['C:\\cni']\n",
        {"bin_dir": "", "bin_dirs": [r"C:\opt\cni\bin"]},
    ),
    "the former": ("bin_dir = 'C:\\cni'\n", {"bin_dir": r"C:\opt\cni\bin"}),
    "the former, empty": ("bin_dir = ''\n", {"bin_dir": r"C:\opt\cni\bin"}),
}


@pytest.mark.parametrize(("written", "then"), OF_PROGRAMS.values(), ids=OF_PROGRAMS)
def test_of_the_two_keys_for_plugins_one_alone_has_a_value(
    host: Host, written: str, then: dict[str, Any]
) -> None:
    """With both containerd does not start."""
    put(host, RUNTIME + written)
    run(host, specified(ContainerdConfiguration(FILE, version=3, cni_programs=r"C:\opt\cni\bin")))
    assert tomllib.loads(there(host))["plugins"]["io.containerd.cri.v1.runtime"]["cni"] == then


def test_a_folder_that_is_written_otherwise_is_the_same(host: Host) -> None:
    put(host, 'version = 2\n[plugins."io.containerd.grpc.v1.cri".cni]\nbin_dir = "c:/OPT/cni/bin"\n')
    want = ContainerdConfiguration(FILE, version=2, cni_programs=r"C:\opt\cni\bin")
    assert (FILE in [PureWindowsPath(name) for _, name in run(host, specified(want))]) is False


def test_the_service_that_reads_it_is_restarted(host: Host) -> None:
    put(host, WRITTEN["config-2"])
    program = FOLDER / "containerd.exe"
    host.files.write(program, b"MZ", PROGRAM_FILE)
    service = Service("containerd", program, reads=(WANTED.key,))
    wants = [*specified().wants, service]
    make_so(host, Specification.of(wants), Silent())
    other = [replace(WANTED, sandbox_image="pause:4") if each == WANTED else each for each in wants]
    assert run(host, Specification.of(other)) == [
        (Action.CHANGE, str(FILE)),
        (Action.RESTART, "containerd"),
    ]


UNREADABLE = [
    pytest.param("version = 2\n[grpc\n", "it is no TOML: Expected ']' at the end of a table", id="no TOML"),
    pytest.param("[plugins.cri]\n", "its schema is version 1, and 2 and 3 are known here", id="version 1"),
    pytest.param("version = 4\n", "its schema is version 4, and 2 and 3 are known here", id="version 4"),
    # Each is TOML that containerd reads, and an edit would put a line of it into another table.
    *(
        pytest.param(f"version = 2\n{text}", "its tables are written with dots or in one line", id=name)
        for name, text in {
            "dots before tables": (
                'plugins."io.containerd.grpc.v1.cri".sandbox_image = "p"\ngrpc.address = "a"\n'
            ),
            "in one line": 'plugins = { "io.containerd.grpc.v1.cri" = { sandbox_image = "p" } }\n',
            "no table": 'plugins = "none"\n',
            "several tables": '[[grpc]]\naddress = "a"\n',
        }.items()
    ),
    pytest.param(f"version = 2\n#{'x' * (1 << 20)}\n", "it is larger than 1,048,576 bytes", id="too large"),
    # What a TOML parser gives up on.
    *(
        pytest.param(
            f"version = 2\n{text}\n", "a number in it is too long, or its values are nested", id=name
        )
        for name, text in {
            "lists without end": f"a = {'[' * 10_000}",
            "nested lists": f"a = {'[' * 10_000}{']' * 10_000}",
            "nested tables": f"a = {'{b = ' * 10_000}",
            "a number of many digits": f"a = {'9' * 5_000}",
        }.items()
    ),
]


@pytest.mark.parametrize(("text", "told"), UNREADABLE)
def test_what_cannot_be_edited_is_told_and_stays(host: Host, text: str, told: str) -> None:
    put(host, text)
    with pytest.raises(CannotBeSo) as refused:
        preview(host, specified())
    assert str(refused.value).startswith(rf"{FILE} cannot be edited: {told}")
    assert there(host) == text


def test_what_somebody_writes_otherwise_since_stays_when_a_reset_cannot_edit_it(host: Host) -> None:
    put(host, WRITTEN["config-2"])
    run(host, specified())
    theirs = """version = 2
plugins."io.containerd.grpc.v1.cri".sandbox_image = "p"
grpc.address = "a"
"""
    put(host, theirs)
    left = reset(host, Silent()).left
    assert there(host) == theirs
    assert left[0].startswith(f"{FILE} stays as it is: its tables are written with dots"), left


def test_a_byte_of_another_encoding_in_a_comment_stays(host: Host) -> None:
    put(host, "")
    host.files.write(FILE, b"version = 2 # gr\xfc\xdfe\n", PROGRAM_FILE)
    run(host, specified())
    assert host.files.read(FILE).startswith(b"version = 2 # gr\xfc\xdfe\n")


@pytest.mark.parametrize("changes", range(8))
def test_cut_off_it_is_whole_and_the_next_run_finishes(host: Host, changes: int) -> None:
    put(host, WRITTEN["config-2"])
    with pytest.raises(Killed):
        run(powered(host, Power(changes)), specified())
    assert tomllib.loads(there(host))["version"] == 2
    run(host, specified())
    assert changed_lines(WRITTEN["config-2"], there(host)) == OF_VERSION_2


def test_runtimes_that_are_a_number_are_left(host: Host) -> None:
    runtimes = '[plugins."io.containerd.grpc.v1.cri".containerd]\nruntimes = 5\n'
    put(host, f"version = 2\n{runtimes}")
    run(host, specified())
    assert runtimes in there(host)
