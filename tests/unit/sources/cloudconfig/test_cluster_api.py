"""What Cluster API's own packages render (tests/data/cloudconfig), as what a Windows machine is to do."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

from agent.sources import cloudconfig, ignition
from agent.sources.cloudconfig import Command, UserData, WrittenFile
from agent.spec import Directory, Protection, Shell, Specification

DATA = Path(__file__).resolve().parents[3] / "data" / "cloudconfig"
ORDERS: dict[str, dict[str, Any]] = json.loads((DATA / "orders.json").read_text())

SENTINEL = PureWindowsPath(r"C:\run\cluster-api\bootstrap-success.complete")
CONFIGURATION = PureWindowsPath(r"C:\run\kubeadm\kubeadm-join-config.yaml")
PLACEHOLDER = PureWindowsPath(r"C:\run\cluster-api\placeholder")
METADATA = {"local-hostname": "win-1.example", "availability-zone": "zone-b"}

PRIVATE, PROGRAM = Protection.PRIVATE, Protection.PROGRAM
FILES: list[tuple[str, bytes, Protection]] = [
    (r"C:\k\prepare.ps1", b"Write-Host 'prepared'\n", PROGRAM),
    (r"C:\etc\kubernetes\cloud.conf", b'key: "c2VjcmV0"\n', PRIVATE),
    (r"C:\opt\plain.bin", b"\x00\x01\x02\x03\x04\x05\xff", PROGRAM),
]
PRE = (
    b"@chcp 65001 > nul\r\n"
    b"powershell C:/k/prepare.ps1\r\n"
    b'set GREETING="a b"& echo %GREETING% > C:\\k\\greeting.txt\r\n'
    b"mkdir C:\\tools\\new\t& rem \xc3\xbc\xe2\x98\x83\r\n"
)
POST = b'echo joined && echo "on" %COMPUTERNAME%\r\nC:\\k\\after.cmd\r\n'
NTP = (
    b"net start w32time\r\n"
    b'w32tm /config /manualpeerlist:"time-a.example 192.0.2.123" /syncfromflags:manual /update\r\n'
)


@dataclass(frozen=True, slots=True)
class Expected:
    before: list[tuple[str, bytes, object]]
    """Files by path and protection, commands by name and whether they are for each boot."""
    after: list[tuple[str, bytes, object]]
    arguments: tuple[str, ...] = ("--config", "/run/kubeadm/kubeadm-join-config.yaml")
    configuration: PureWindowsPath = CONFIGURATION
    ignored: tuple[str, ...] = ()


def _configuration(name: str) -> bytes:
    return str(ORDERS[name]["joinConfiguration"]).encode()


def _rendered_configuration(name: str) -> bytes:
    said = _configuration(name)
    return said.replace(b"{{ ds.meta_data.local_hostname }}", b"win-1.example").replace(
        b'{{ ds.meta_data["availability-zone"] }}', b"zone-b"
    )


def _provided(name: str, path: PureWindowsPath = CONFIGURATION) -> list[tuple[str, bytes, object]]:
    made: list[tuple[str, bytes, object]] = [(str(path), b"---\n" + _rendered_configuration(name), PRIVATE)]
    if path == CONFIGURATION:
        made.append((str(PLACEHOLDER), _PLACEHOLDER, PRIVATE))
    return made


_PLACEHOLDER = (
    b"This placeholder file is used to create the /run/cluster-api sub directory in a way that is "
    b"compatible with both Linux and Windows (mkdir -p /run/cluster-api does not work with Windows)"
)
_SUCCESS = (str(SENTINEL), b"success\r\n", PROGRAM)
_YML = PureWindowsPath(r"C:\etc\kubeadm.yml")

CASES = {
    "worker": Expected(_provided("worker"), [_SUCCESS]),
    "worker-templated": Expected(
        _provided("worker-templated"),
        [_SUCCESS],
        ("--config", "/run/kubeadm/kubeadm-join-config.yaml", "--v", "2"),
    ),
    "worker-commands": Expected(
        [*_provided("worker-commands"), ("runcmd, before the join", PRE, False)],
        [_SUCCESS, ("runcmd, after the join", POST, False)],
    ),
    "worker-files": Expected(
        [
            *FILES,
            (r"C:\opt\packed.txt", b"packed text\n", PROGRAM),
            (r"C:\opt\list.txt", b"first\nsecond\n", PROGRAM),
            *_provided("worker-files"),
        ],
        [_SUCCESS],
    ),
    "worker-everything": Expected(
        [
            ("bootcmd", b"echo at each boot >> C:\\k\\boots.txt\r\n", True),
            *FILES,
            (r"C:\opt\packed.txt", b"packed text\n", PROGRAM),
            (r"C:\opt\list.txt", b"first\nsecond\n", PROGRAM),
            *_provided("worker-everything"),
            ("ntp", NTP, False),
            ("runcmd, before the join", PRE, False),
        ],
        [_SUCCESS, ("runcmd, after the join", POST, False)],
        ("--config", "/run/kubeadm/kubeadm-join-config.yaml", "--v", "5"),
        ignored=(
            "user capi",
            "disk /dev/sdb",
            "disk /dev/sdc",
            "file system data",
            "mount LABEL=data",
            "mount /dev/sdc",
        ),
    ),
    "ignition-worker": Expected(
        _provided("ignition-worker", _YML), [_SUCCESS], ("--config", "/etc/kubeadm.yml"), _YML
    ),
    "ignition-worker-everything": Expected(
        [
            *FILES,
            *_provided("ignition-worker-everything", _YML),
            (r"C:\opt\additional", b"added", PRIVATE),
            ("ntp", NTP, False),
            ("commands before kubeadm", PRE, False),
        ],
        [_SUCCESS, ("commands after kubeadm", POST, False)],
        ("--config", "/etc/kubeadm.yml", "--v", "5"),
        _YML,
        (
            "file /etc/sudoers.d/capi",
            "file /etc/ssh/sshd_config",
            "file /etc/ntp.conf",
            "unit ntpd.service",
            "unit var-lib-data.mount",
            "unit additional.service",
            "disk /dev/sdb",
            "disk /dev/sdc",
            "filesystem data",
            "user capi",
        ),
    ),
}


def _loaded(name: str) -> cloudconfig.Outcome:
    if ORDERS[name]["format"] == "ignition":
        document = ignition.load(f"{name}.ign", (DATA / f"{name}.ign").read_bytes())
        assert document.configuration
        assert cloudconfig.recognised(document.configuration)
        return cloudconfig.from_ignition(document)
    raw = (DATA / f"{name}.yaml").read_bytes()
    return cloudconfig.load(name, raw, cloudconfig.instance_data(METADATA))


def _told(steps: tuple[cloudconfig.Step, ...]) -> list[tuple[str, bytes, object]]:
    return [
        (str(step.path), b"".join(step.content.blocks()), step.protection)
        if isinstance(step, WrittenFile)
        else (step.name, step.script, step.each_boot)
        for step in steps
    ]


def _made(name: str) -> UserData:
    outcome = _loaded(name)
    assert not outcome.report.entries
    assert outcome.user_data
    return outcome.user_data


@pytest.mark.parametrize("name", CASES)
def test_what_the_provider_asks_for(name: str) -> None:
    expected, made = CASES[name], _made(name)
    assert _told(made.before) == expected.before
    assert _told(made.after) == expected.after
    assert made.join
    assert made.join.arguments == expected.arguments
    assert (made.join.configuration, made.join.sentinel) == (expected.configuration, SENTINEL)
    assert tuple(note.subject for note in made.notes if note.effect.value == "ignored") == expected.ignored
    assert not made.awaited
    assert not made.appended_to


@pytest.mark.parametrize("name", CASES)
def test_the_token_is_gone_after_the_join_and_never_shown(name: str) -> None:
    made = _made(name)
    assert [step.path for step in made.before if isinstance(step, WrittenFile) and step.until] == [
        CASES[name].configuration
    ]
    assert "abcdef" not in repr(made)
    assert "c2VjcmV0" not in repr(made)


@pytest.mark.parametrize("name", CASES)
def test_commands_are_for_cmd(name: str) -> None:
    made = _made(name)
    steps = (*made.before, *made.after)
    assert all(step.shell is Shell.CMD for step in steps if isinstance(step, Command))


@pytest.mark.parametrize("name", CASES)
def test_three_specifications_each_with_more_than_the_one_before(name: str) -> None:
    made = _made(name)
    own = Directory(PureWindowsPath(r"C:\etc\kubernetes"), Protection.PRIVATE)
    first = cloudconfig.wants(made.before)
    second = [own, *cloudconfig.wants(made.before, known={own.key: own})]
    known = {want.key: want for want in second if isinstance(want, Directory)}
    third = [*second, *cloudconfig.wants(made.after, known=known)]
    sizes = [len(Specification.of(wants).wants) for wants in (first, second, third)]
    assert sizes[0] <= sizes[1] < sizes[2]


CONTROL_PLANE = {
    "control-plane-join": "control-plane-join line 5, column 11 at $.write_files.0.path: ",
    "control-plane-init": "control-plane-init line 20, column 5 at $.runcmd.0: ",
    "ignition-control-plane-join": "ignition-control-plane-join.ign line 1, column ",
    "ignition-control-plane-init": "ignition-control-plane-init.ign line 1, column ",
}


@pytest.mark.parametrize("name", CONTROL_PLANE)
def test_a_control_plane_is_refused(name: str) -> None:
    outcome = _loaded(name)
    assert outcome.user_data is None
    [error] = outcome.report.errors
    assert str(error).startswith(f"error: {CONTROL_PLANE[name]}")
    assert "a Windows machine can only be a worker" in str(error)


def test_every_rendered_file_is_read_here() -> None:
    assert set(ORDERS) == set(CASES) | set(CONTROL_PLANE)
    assert {path.stem for path in DATA.iterdir()} - {"orders"} >= set(ORDERS)
