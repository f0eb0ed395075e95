"""The MSI, by Wine's msiexec: installed, exchanged for a higher version, removed; seen from outside."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from agent.release import RELEASE
from exebuild import resources
from lab import means
from lab.certificates import Authority
from lab.node import Node
from lab.services import State
from lab.snapshot import Snapshot
from lab.waiting import until
from releasing import archive, collecting, installer, signing, versions, winget
from windows.exe import DIST, DOWNLOADED, HOME, INTERNAL, SERVICE, folder_files
from windows.test_fetching import trust
from windows.test_signing import PUBLISHER, judged, publishing, with_another_byte

__all__ = ["publishing"]

PLACE = r"C:\Program Files\wmcb-command"
PROGRAM = rf"{PLACE}\wmcb.exe"
ENVIRONMENT = r"HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\Environment"
PRODUCTS = r"HKLM\Software\Microsoft\Windows\CurrentVersion\Uninstall"
HIGHER = "100.0.1"
"""Above 127 Wine takes the first number for a negative one."""
FOR_A_FAILURE, DEFERRED, AS_SYSTEM = 0x100, 0x400, 0x800
"""Of a custom action's type."""
FAILS_AT_LAST = (
    "INSERT INTO `CustomAction` (`Action`, `Type`, `Source`, `Target`)"
    " VALUES ('Fails', 3090, 'Program', 'nothing')",
    "INSERT INTO `InstallExecuteSequence` (`Action`, `Sequence`) VALUES ('Fails', 5950)",
)
ANOTHER_VERSION = 1603
"""What msiexec ends with where a launch condition does not hold."""
_WINES_OWN = "|".join(
    [
        r"C:\\windows\\Installer: ",
        r"HKEY_LOCAL_MACHINE\\Software\\(Classes|Microsoft\\Windows\\[a-z]+)\\Installer\b.*: new, a key",
        r"HKEY_LOCAL_MACHINE\\(Hardware\\DEVICEMAP|System\\[^\\]+\\(Control\\Video|Hardware Profiles))",
        r"HKEY_LOCAL_MACHINE\\System\\[^\\]+\\Control\\Session Manager\\Environment\\PATH:",
        r"HKEY_USERS\\",
    ]
)
"""Empty folders and keys for the next product, a screen, and Path, which is looked at by itself."""


@pytest.fixture
def machine(node: Node) -> Node:
    return fit_for_installers(node)


def fit_for_installers(node: Node) -> Node:
    """And this machine for making them."""
    means.ensure("msibuild", "wixl")
    # A custom action's program gets a console, and Wine's want a screen; this one is none.
    named = (r"HKCU\Software\Wine\Drivers", "/v", "Graphics", "/d", "null", "/f")
    assert node.run("reg.exe", "add", *named).code == 0
    return node


def of_another_release(exe: bytes, release: str) -> bytes:
    """The same program, which tells Windows another version."""
    bill = json.loads((DIST / "wmcb.cdx.json").read_text())
    commit = bill["metadata"]["component"]["properties"][0]["value"]
    own = resources.version(RELEASE, commit)
    assert exe.count(own) == 1
    # A shorter commit for a longer release: nothing behind it moves.
    another = resources.version(release, commit[: len(commit) - 2 * (len(release) - len(RELEASE))])
    return exe.replace(own, another.ljust(len(own), b"\0"))


def made(folder: Path, release: str) -> Path:
    """An installer of this build, called so."""
    target = folder / installer.file_name(release)
    for name, content in files_of(release).items():
        file = folder / release / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    installer.build(folder / release, target, release)
    return target


def files_of(release: str) -> dict[str, bytes]:
    """The program's folder; another release's has other files as well, and lacks one."""
    files = folder_files()
    if release != RELEASE:
        files["wmcb.exe"] = of_another_release(files["wmcb.exe"], release)
        files[f"{INTERNAL}/more/of it"] = b"more"
        del files[f"{INTERNAL}/_bz2.pyd"]
    return files


def installed_files(node: Node) -> dict[str, bytes]:
    folder = node.path(PLACE)
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def msiexec(node: Node, action: str, msi: Path, *properties: str) -> int:
    place = rf"C:\download\{msi.name}"
    node.copy_in(msi, place)
    return node.run("msiexec.exe", action, place, "/qn", *properties).code


def on_path(node: Node) -> list[str]:
    """Wine leaves the semicolon of an entry that it takes away."""
    environment = node.registry(ENVIRONMENT)
    assert environment is not None
    return [entry for entry in str(environment.data("Path")).split(";") if entry]


def products(node: Node) -> list[tuple[object, object, object]]:
    """What Windows lists under installed programs."""
    listed = node.registry(PRODUCTS)
    keys = [node.registry(rf"{PRODUCTS}\{name}") for name in (listed.keys if listed else [])]
    return [
        (key.data("DisplayName"), key.data("DisplayVersion"), key.data("Publisher")) for key in keys if key
    ]


def left_behind(before: Snapshot, after: Snapshot) -> list[str]:
    return [line for line in before.changes_until(after) if not re.match(_WINES_OWN, line, re.IGNORECASE)]


def test_it_is_installed_exchanged_for_a_higher_version_and_removed(machine: Node, tmp_path: Path) -> None:
    """One test for all, since each node costs seconds."""
    this, higher = made(tmp_path, RELEASE), made(tmp_path, HIGHER)
    for msi in (this, higher):
        machine.copy_in(msi, rf"C:\download\{msi.name}")
    before, path = machine.snapshot(), on_path(machine)

    assert msiexec(machine, "/i", this) == 0
    assert installed_files(machine) == files_of(RELEASE)
    assert on_path(machine) == [PLACE + "\\", *path]
    assert products(machine) == [("wmcb", RELEASE, "The wmcb authors")]
    told = machine.run_line("cmd.exe /c wmcb version")
    assert told.out.startswith(f"wmcb {RELEASE} "), told
    assert machine.service(SERVICE) is None

    assert msiexec(machine, "/i", higher) == 0
    assert installed_files(machine) == files_of(HIGHER)
    assert on_path(machine) == [PLACE + "\\", *path]
    assert products(machine) == [("wmcb", HIGHER, "The wmcb authors")]
    assert msiexec(machine, "/i", this) == ANOTHER_VERSION

    assert msiexec(machine, "/x", higher) == 0
    assert on_path(machine) == path
    assert left_behind(before, machine.snapshot()) == []


def test_all_that_is_published_says_the_same_release(machine: Node, tmp_path: Path) -> None:
    for file in ("wmcb-log.exe", "wmcb.cdx.json", "wmcb.exe", "wmcb.licenses.txt"):
        shutil.copyfile(DIST / file, tmp_path / file)
    made(tmp_path, RELEASE)
    archive.build(DIST / "wmcb", tmp_path / archive.file_name(RELEASE))
    said = versions.of_built(tmp_path)
    assert sorted(said) == [installer.file_name(RELEASE), "wmcb.cdx.json", "wmcb.exe"]
    versions.agree(RELEASE, said)

    published = winget.Published(RELEASE, "2030-01-02", "https://example.com/download")
    collecting.collect(tmp_path, tmp_path / "release", published, "much is new")
    for manifest in (tmp_path / "release").glob("*.yaml"):
        assert yaml.safe_load(manifest.read_text())["PackageVersion"] == RELEASE
    machine.copy_in(tmp_path / "release" / "wmcb.exe", DOWNLOADED)
    told = json.loads(machine.run(DOWNLOADED, "version", "--output", "json").out)
    assert told["release"] == RELEASE


def test_the_resident_service_comes_and_goes_with_it_where_that_is_asked_for(
    machine: Node, tmp_path: Path
) -> None:
    this, higher = made(tmp_path, RELEASE), made(tmp_path, HIGHER)
    assert msiexec(machine, "/i", this, "DAEMON=1") == 0
    first = machine.service(SERVICE)
    assert first is not None
    assert first.state is State.RUNNING

    assert msiexec(machine, "/i", higher) == 0
    second = machine.service(SERVICE)
    assert second is not None
    assert second.state is State.RUNNING
    assert second.pid != first.pid

    assert msiexec(machine, "/x", higher) == 0
    assert machine.service(SERVICE) is None
    for place in (PLACE, HOME):
        assert not machine.path(place).exists()


def test_a_repair_brings_back_a_service_that_came_with_it(machine: Node, tmp_path: Path) -> None:
    this = made(tmp_path, RELEASE)
    assert msiexec(machine, "/i", this, "DAEMON=1") == 0
    assert machine.run(PROGRAM, "daemon", "uninstall").code == 0
    assert msiexec(machine, "/i", this, "REINSTALL=ALL") == 0
    machine.wait_for_service(SERVICE, State.RUNNING)


def test_a_service_that_came_without_it_stays_without_it(machine: Node, tmp_path: Path) -> None:
    this = made(tmp_path, RELEASE)
    assert msiexec(machine, "/i", this) == 0
    assert machine.run(PROGRAM, "daemon", "install").code == 0
    assert msiexec(machine, "/x", this) == 0
    assert not machine.path(PLACE).exists()
    machine.start_service(SERVICE)
    machine.wait_for_service(SERVICE, State.RUNNING)


def test_an_installation_that_fails_leaves_no_installer(machine: Node, tmp_path: Path) -> None:
    """Wine has removed the program by the time when that should take the service back: it is only stopped."""
    this = made(tmp_path, RELEASE)
    for statement in FAILS_AT_LAST:
        subprocess.run(["msibuild", str(this), "-q", statement], check=True)
    path = on_path(machine)
    assert msiexec(machine, "/i", this, "DAEMON=1") != 0
    assert (on_path(machine), products(machine)) == (path, [])
    assert not machine.path(PLACE).exists()
    until(
        lambda: (service := machine.service(SERVICE)) is None or service.state is State.STOPPED,
        "what was started does not run any more",
        explain=lambda: (machine.service(SERVICE), machine.processes("wmcb.exe")),
    )


@pytest.mark.usefixtures("machine")
def test_what_changes_the_machine_is_done_as_part_of_the_installation(tmp_path: Path) -> None:
    """Deferred, and as SYSTEM: the rest Windows does while it makes its plan, as whoever is at the screen."""
    kinds = {name: int(kind) for name, kind, *_ in rows(made(tmp_path, RELEASE), "CustomAction")}
    assert kinds.keys() == {"InstallDaemon", "TakeDaemonBack", "UninstallDaemon"}
    assert {name for name, kind in kinds.items() if kind & DEFERRED and kind & AS_SYSTEM} == kinds.keys()
    assert {name for name, kind in kinds.items() if kind & FOR_A_FAILURE} == {"TakeDaemonBack"}


@pytest.mark.usefixtures("machine")
def test_the_service_is_registered_only_where_it_is_started_and_remembered_too(tmp_path: Path) -> None:
    """An installation that is there without it gets no component more on Windows; it does on Wine."""
    this = made(tmp_path, RELEASE)
    conditions = {action: condition for action, condition, _ in rows(this, "InstallExecuteSequence")}
    assert conditions["InstallDaemon"] == "$Daemon = 3"
    assert conditions["TakeDaemonBack"] == "$Daemon = 3 AND NOT SERVICEBEFORE"
    assert {component for *_, component in rows(this, "ServiceControl")} == {"Daemon"}
    assert {component for *_, component in rows(this, "Registry")} == {"Daemon"}


def rows(msi: Path, table: str) -> list[list[str]]:
    command = ["msiinfo", "export", str(msi), table]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    return [line.split("\t") for line in told.stdout.splitlines()[3:]]


def test_a_signed_one_is_vouched_for(machine: Node, publishing: Authority, tmp_path: Path) -> None:
    msi = made(tmp_path, RELEASE)
    signing.sign(msi)
    trust(machine, publishing)
    assert msiexec(machine, "/i", msi) == 0
    assert judged(machine, rf"C:\download\{msi.name}") == [PUBLISHER]

    # Wine looks at an installer's certificates only, not at whether they fit it.
    assert verified(msi, publishing)
    msi.write_bytes(with_another_byte(msi.read_bytes(), msi.stat().st_size // 2))
    assert not verified(msi, publishing)


def verified(file: Path, authority: Authority) -> bool:
    command = ["osslsigncode", "verify", "-CAfile", str(authority.certificate), "-in", str(file)]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0
