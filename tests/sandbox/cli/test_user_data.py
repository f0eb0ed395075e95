"""`wmcb --user-data` on a machine that is a folder: all before the join, the join, and all after it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path, PureWindowsPath
from typing import Any
from urllib.parse import quote

import pytest

from agent.cli import user_data
from agent.engine import run as engine
from agent.engine.machine_lock import Busy, held
from agent.host.port import RegistryKind, RegistryValue
from agent.host.registry_contents import DNS_NAMES
from agent.host.sandbox import machine as sandbox_machine
from agent.host.sandbox.facts import SandboxFacts
from agent.host.sandbox.machine import Machine as SandboxMachine
from agent.host.sandbox.power import SandboxClock, take_name
from agent.host.sandbox.processes import SandboxProcesses
from agent.host.sandbox.registry import SandboxRegistry
from sandbox.cli.given import WORKER, Answer, Machine, program
from sandbox.cli.test_join import KUBELET, Cluster, cluster, windows
from unit.kube.api_server import CLUSTER_INFO, TOKEN

__all__ = ["cluster", "windows"]

DATA_FOLDER = Path(__file__).parents[2] / "data" / "cloudconfig"
STAYS = "what this user data did before that stays, and the next run goes on from there"
CONFIGURATION = r"C:\run\kubeadm\kubeadm-join-config.yaml"
SENTINEL = r"C:\run\cluster-api\bootstrap-success.complete"

DATA = """\
#cloud-config
write_files:
-   path: /run/kubeadm/kubeadm-join-config.yaml
    owner: root:root
    permissions: '0640'
    content: |
{configuration}
-   path: /run/cluster-api/placeholder
    owner: root:root
    permissions: '0640'
    content: "This placeholder file is used to create the /run/cluster-api sub directory"
-   path: /opt/first.txt
    content: first
runcmd:
  - 'echo before'
  - kubeadm join --config /run/kubeadm/kubeadm-join-config.yaml  && echo success > {sentinel}
  - 'echo after'
"""


@pytest.fixture
def given(windows: Machine, cluster: Cluster) -> str:
    configuration = cluster.join_configuration()
    indented = "".join(f"      {line}\n" for line in configuration.splitlines())
    return windows.give(
        "user-data",
        DATA.format(configuration=indented, sentinel="/run/cluster-api/bootstrap-success.complete"),
    )


def carry_out(machine: Machine, given: str) -> Answer:
    return machine.wmcb("--user-data", given, "--kubelet-version", "1.36")


def has(machine: Machine, path: str) -> bool:
    return machine.host.files.observe(PureWindowsPath(path)) is not None


def test_from_user_data_to_a_node(windows: Machine, given: str) -> None:
    answer = carry_out(windows, given)
    assert answer.code == 0, answer.err
    assert answer.out.splitlines()[0] == "this user data has been carried out: this machine is a node"
    assert windows.host.services.read("kubelet") is not None
    assert windows.read(r"C:\opt\first.txt") == b"first"
    assert has(windows, SENTINEL)
    assert windows.wmcb("status").code == 0


def test_again_nothing_is_done(windows: Machine, cluster: Cluster, given: str) -> None:
    carry_out(windows, given)
    before, asked = windows.picture(), len(cluster.server.asked)
    answer = carry_out(windows, given)
    assert answer.code == 0, answer.err
    assert answer.out.startswith("nothing to do")
    assert len(cluster.server.asked) == asked
    windows_logs = {name: seen for name, seen in windows.picture().items() if r"\logs" not in name}
    assert windows_logs == {name: seen for name, seen in before.items() if r"\logs" not in name}


def test_for_programs_it_is_one_document(windows: Machine, given: str) -> None:
    words = ("--user-data", given, "--kubelet-version", "1.36", "--output", "json")
    first, second = (windows.wmcb(*words) for _ in range(2))
    assert (first.code, first.document["exit_code"], first.document["format"]) == (0, 0, 1)
    changed = [change["resource"] for change in first.document["changes"]]
    assert changed.index(["command", "runcmd, before the join"]) < changed.index(["service", "kubelet"])
    why = "was not run, but written down as run: a sandbox has none of Windows' shells"
    assert first.document["remarks"] == [
        "this user data has been carried out: this machine is a node",
        f"command runcmd, before the join {why}",
        f"command runcmd, after the join {why}",
    ]
    assert any("cgroupDriver" in note["subject"] for note in first.document["notes"])
    assert second.document["changes"] == []
    assert second.document["remarks"][0].startswith("nothing to do")


def test_what_earlier_runs_made_stays_where_a_later_one_waits_in_vain(
    windows: Machine, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[bool] = []

    def held_by_others(*given: Any, **more: Any) -> AbstractContextManager[None]:
        runs.append(True)
        if len(runs) > 1:
            raise Busy("the resident service is still at work on this machine")
        return held(*given, **more)

    with monkeypatch.context() as patched:
        patched.setattr("agent.engine.run.held", held_by_others)
        answer = carry_out(windows, given)
    assert (answer.code, windows.host.services.read("kubelet")) == (1, None)
    assert answer.error_lines[-1].endswith(f"is still at work on this machine; {STAYS}")
    assert windows.read(r"C:\opt\first.txt") == b"first"
    assert carry_out(windows, given).code == 0
    assert windows.wmcb("status").code == 0


def test_a_join_that_fails_is_tried_again(windows: Machine, cluster: Cluster, given: str) -> None:
    cluster.has_node(ready=True)
    failed = carry_out(windows, given)
    assert failed.code == 1
    assert "a Node win1 is in the cluster already" in failed.err
    assert failed.error_lines[-1].endswith(STAYS)
    assert windows.host.services.read("kubelet") is None
    assert not has(windows, SENTINEL)
    assert has(windows, CONFIGURATION)
    standing = windows.wmcb("status")
    assert standing.code == 1
    advice, counted = standing.out.splitlines()[-2:]
    again = f"run {windows.called} --user-data with it again to go on"
    assert advice == f"this user data was not carried out to its end: {again}"
    assert counted.endswith(", of which the join is outstanding")
    assert windows.wmcb("status", "--output", "json").document["outstanding"] == "join"
    cluster.has_node(ready=False)
    assert carry_out(windows, given).code == 0
    assert has(windows, SENTINEL)
    assert windows.wmcb("status").code == 0
    assert windows.wmcb("status", "--output", "json").document["outstanding"] is None


def test_who_interrupts_the_join_is_told_what_stays(
    windows: Machine, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(user_data, "fit_for", interrupted)
        answer = carry_out(windows, given)
    assert (answer.code, answer.error_lines[-1]) == (1, f"wmcb: interrupted; {STAYS}")
    assert carry_out(windows, given).code == 0


def without_commands(given: str) -> str:
    """Of those before the join, which may bring kubelet.exe."""
    return Path(given).read_text().replace("  - 'echo before'\n", "")


def test_without_a_kubelet_nothing_is_done(windows: Machine, given: str) -> None:
    windows.host.files.remove(PureWindowsPath(KUBELET))
    before, data = windows.picture(), windows.give("data", without_commands(given))
    answer = carry_out(windows, data)
    assert answer.code == 2
    assert answer.error_lines == [
        f"wmcb: there is no {KUBELET}: put the kubelet.exe of this node there; "
        f"{windows.called} prepare --kubernetes-version V fetches it, --kubelet FILE names another"
    ]
    named = windows.wmcb("--user-data", given, "--kubelet", windows.give("notes.txt", "none"))
    assert named.code == 2
    assert named.error_lines[-1].endswith("notes.txt: it is no Windows program")
    assert without_logs(windows.picture()) == without_logs(before)


def without_logs(picture: dict[str, object]) -> dict[str, object]:
    return {name: seen for name, seen in picture.items() if r"\ProgramData\wmcb" not in name}


def test_a_command_before_the_join_may_bring_the_kubelet(
    windows: Machine, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    windows.host.files.remove(PureWindowsPath(KUBELET))

    def bring(*_: object, **__: object) -> int:
        windows.put(KUBELET, program())
        return 0

    monkeypatch.setattr(SandboxProcesses, "run_logged", bring)
    answer = carry_out(windows, given)
    assert answer.code == 0, answer.err


@pytest.mark.parametrize("phase", ["kubelet-start", "nonsense"])
def test_a_phase_to_be_skipped_that_cannot_be_is_refused(windows: Machine, given: str, phase: str) -> None:
    text = (
        Path(given)
        .read_text()
        .replace("nodeRegistration:", f"skipPhases: [{phase}]\n      nodeRegistration:")
    )
    answer = carry_out(windows, windows.give("data", text))
    assert answer.code == 2
    assert phase in answer.error_lines[-1]
    assert windows.host.services.read("kubelet") is None


NAMES = ["{{ ds.meta_data.hostname }}", '{{ ds.meta_data["local_hostname"] }}', "{{ v1.local_hostname }}"]


@pytest.mark.parametrize("name", NAMES)
def test_the_names_by_which_templates_ask_for_the_machine_s(windows: Machine, given: str, name: str) -> None:
    text = Path(given).read_text().replace("name: win1", f"name: '{name}'")
    answer = carry_out(windows, windows.give("data", f"## template: jinja\n{text}"))
    assert answer.code == 0, answer.err
    assert engine.title(windows.host).startswith("user data")
    assert b"--hostname-override" not in windows.read(r"C:\var\lib\kubelet\kubeadm-flags.env")


METADATA = {
    "missing": (None, "there is no such file"),
    "no JSON": (b"instance-id: a", "it is no JSON object"),
    "no object": (b"[]", "it is no JSON object"),
    "nested": (b"[" * 100_000, "it is no JSON object"),
    "without the name": (b"{}", "ds.meta_data.zone is not in the metadata that was given"),
}


@pytest.mark.parametrize("name", METADATA)
def test_metadata_that_is_none_changes_nothing(windows: Machine, name: str) -> None:
    content, fault = METADATA[name]
    path = str(windows.folder / "none") if content is None else windows.give("metadata", content)
    template = "## template: jinja\n#cloud-config\nruncmd: ['echo {{ ds.meta_data.zone }}']\n"
    before = windows.picture()
    answer = windows.wmcb("--user-data", windows.give("data", template), "--metadata", path)
    assert (answer.code, answer.out) == (2, "")
    assert fault in answer.error_lines[-1]
    assert windows.picture() == before


def test_what_is_included_is_asked_for_as_long_as_somebody_wants(windows: Machine) -> None:
    began = time.monotonic()
    given = windows.give("data", "#include http://127.0.0.1:1/more.yaml\n")
    answer = windows.wmcb("--user-data", given, "--max-time", "0.1", "--allow-plain-http")
    assert answer.code == 1
    assert "it cannot be fetched" in answer.error_lines[-1]
    assert time.monotonic() - began < 60.0, "it would be asked for two minutes"


def test_reset_takes_all_of_it(windows: Machine, given: str) -> None:
    windows.host.services.start("containerd")
    before = windows.picture()
    carry_out(windows, given)
    assert windows.wmcb("reset").code == 0
    assert windows.picture() == before


def test_no_secret_is_told(windows: Machine, given: str) -> None:
    answer = carry_out(windows, given)
    secret = TOKEN.partition(".")[2]
    logs = windows.place.glob("**/wmcb/logs/*")
    assert not any(secret in told for told in (answer.out, answer.err, *(log.read_text() for log in logs)))


def test_bad_user_data_changes_nothing(windows: Machine, cluster: Cluster) -> None:
    before = windows.picture()
    answer = carry_out(windows, windows.give("user-data", "#cloud-config\nwrite_files: 5\n"))
    assert answer.code == 2
    assert "write_files" in answer.error_lines[-1]
    assert windows.picture() == before
    assert not [asked for asked in cluster.server.asked if CLUSTER_INFO in asked.target]


@pytest.mark.parametrize(
    ("path", "why"),
    [
        (r"C:\PROGRA~3\x", "may be Windows' short name of another file"),
        (r"C:\NUL\x", "is the name of a device on Windows"),
        (r"C:\x:stream", "contains ':', which no Windows name can"),
        (r"C:\ProgramData.\wmcb", "ends with a blank or a dot, which Windows would drop"),
    ],
)
def test_a_path_that_windows_reads_as_another_is_refused(windows: Machine, path: str, why: str) -> None:
    before = windows.picture()
    answer = carry_out(
        windows, windows.give("user-data", f"#cloud-config\nwrite_files: [{{path: '{path}'}}]\n")
    )
    (line,) = answer.error_lines
    assert (answer.code, windows.picture() == before) == (2, True)
    assert "user-data line 2, column 22 at $.write_files.0.path: this cannot be a path on Windows" in line
    assert line.endswith(f"a name in it {why}")


def test_a_value_that_cannot_be_meant_changes_nothing(windows: Machine, given: str) -> None:
    before = windows.picture()
    answer = windows.wmcb("--user-data", given, "--start-timeout", "soon")
    assert (answer.code, answer.error_lines) == (
        2,
        ["wmcb: --start-timeout soon: expected a number of seconds, such as 60"],
    )
    assert windows.picture() == before


def ignition(machine: Machine, cluster: Cluster) -> str:
    """As the provider's own package renders it, with another join configuration in it."""
    document = json.loads((DATA_FOLDER / "ignition-worker.ign").read_text())
    configuration = cluster.join_configuration()
    for file in document["storage"]["files"]:
        if file["path"] == "/etc/kubeadm.yml":
            file["contents"]["source"] = f"data:,{quote(configuration)}"
    return machine.give("worker.ign", json.dumps(document))


@pytest.mark.parametrize("option", ["--user-data", "--ignition"])
def test_the_provider_s_ignition_format(windows: Machine, cluster: Cluster, option: str) -> None:
    answer = windows.wmcb(option, ignition(windows, cluster), "--kubelet-version", "1.36")
    assert answer.code == 0, answer.err
    assert answer.out.splitlines()[-1].endswith("this machine is a node")
    assert has(windows, SENTINEL)


def test_a_worker_s_ignition_is_no_user_data(windows: Machine) -> None:
    answer = windows.wmcb("--user-data", str(WORKER))
    assert answer.code == 2
    assert answer.error_lines[-1].endswith("--ignition takes a worker's")


@pytest.mark.parametrize(("exit_code", "runs"), [(1001, 1), (1002, 2), (1003, 2)])
def test_after_the_restart_that_a_command_wants_the_machine_joins(
    windows: Machine, given: str, monkeypatch: pytest.MonkeyPatch, exit_code: int, runs: int
) -> None:
    ran: list[str] = []

    def run_logged(_: object, words: list[str], *__: object, **___: object) -> int:
        ran.append(words[-1])
        return exit_code if len(ran) == 1 else 0

    monkeypatch.setattr(SandboxProcesses, "run_logged", run_logged)
    wanted = 1002 if exit_code == 1002 else 1003
    assert [carry_out(windows, given).code for _ in range(2)] == [wanted] * 2, "until the machine restarts"
    assert len(ran) == 1
    booted = windows.host.clock.boot() + 1
    monkeypatch.setattr(SandboxClock, "boot", lambda _: booted)
    answer = carry_out(windows, given)
    assert answer.code == 0, answer.err
    assert windows.host.services.read("kubelet") is not None
    assert len(ran) == runs + 1, "with the one after the join"


def test_a_command_after_the_join_that_is_to_be_run_again_is(
    windows: Machine, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = iter([0, 1003, 0])
    monkeypatch.setattr(SandboxProcesses, "run_logged", lambda *_, **__: next(codes))
    assert carry_out(windows, given).code == 1003
    booted = windows.host.clock.boot() + 1
    monkeypatch.setattr(SandboxClock, "boot", lambda _: booted)
    assert carry_out(windows, given).code == 0
    assert not [*codes]
    assert windows.wmcb("status").code == 0


def test_a_command_that_fails_is_told_and_the_machine_joins(
    windows: Machine, given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = iter([5, 0])
    monkeypatch.setattr(SandboxProcesses, "run_logged", lambda *_, **__: next(codes))
    answer = windows.wmcb("--user-data", given, "--kubelet-version", "1.36", "--output", "json")
    assert answer.code == 0
    _, told, *_ = answer.document["remarks"]
    assert told.startswith("command runcmd, before the join ended with exit code 5; what it said is in C:")
    assert has(windows, told.rpartition(" is in ")[2])
    assert f"wmcb: warning: {told}" in answer.error_lines
    assert told in windows.read(r"C:\ProgramData\wmcb\logs\wmcb.log").decode()
    again = carry_out(windows, given)
    assert (again.code, again.err) == (0, "")


def test_what_is_edited_after_the_join_is_carried_out_without_another(
    windows: Machine, cluster: Cluster, given: str
) -> None:
    assert carry_out(windows, given).code == 0
    asked = len(cluster.server.asked)
    text = Path(given).read_text().replace("echo after", "echo more")
    answer = carry_out(windows, windows.give("edited", text))
    assert answer.code == 0, answer.err
    assert answer.error_lines == ["change command runcmd, after the join"]
    assert len(cluster.server.asked) == asked


@pytest.fixture
def to_be_renamed(windows: Machine, given: str) -> str:
    text = Path(given).read_text().replace("runcmd:", "hostname: a-longer-name-7k2p.example\nruncmd:")
    return windows.give("renaming", text.replace("name: win1", "taints: []"))


def test_it_goes_on_under_the_name_that_the_machine_is_given(
    windows: Machine, to_be_renamed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []

    def run_logged(_: object, words: list[str], *__: object, **___: object) -> int:
        ran.append(words[-1])
        return 0

    monkeypatch.setattr(SandboxProcesses, "run_logged", run_logged)
    for _ in range(2):
        answer = carry_out(windows, to_be_renamed)
        assert answer.code == 1003
        assert "this machine is a-longer-name-7k2p when it has been restarted" in answer.out
        assert not ran, "a command may make something of the name"
    restart(windows)
    assert carry_out(windows, to_be_renamed).code == 0
    assert windows.host.facts.host_name() == "a-longer-name-7k2p"
    assert has(windows, SENTINEL)
    assert len(ran) == 2
    reset = windows.wmcb("reset")
    assert "this machine is called WIN1 again when it has been restarted" in reset.out
    restart(windows)
    assert windows.host.facts.host_name() == "WIN1"


def to_fifteen(registry: SandboxRegistry, facts: SandboxFacts) -> None:
    take_name(registry, facts)
    facts.is_called(facts.host_name()[:15])


def to_another(registry: SandboxRegistry, facts: SandboxFacts) -> None:
    take_name(registry, facts)
    facts.is_called("others")
    for (key, name), said in zip(DNS_NAMES, ("others", "others"), strict=True):
        registry.write(key, name, RegistryValue(RegistryKind.STRING, said))


def never(registry: SandboxRegistry, facts: SandboxFacts) -> None:
    """It would be so from the next start on, for ever."""


@pytest.mark.parametrize("taken", [to_fifteen, to_another, never])
def test_a_name_that_is_not_taken_does_not_restart_the_machine_for_ever(
    windows: Machine, to_be_renamed: str, monkeypatch: pytest.MonkeyPatch, taken: Callable[..., None]
) -> None:
    assert carry_out(windows, to_be_renamed).code == 1003
    monkeypatch.setattr(sandbox_machine, "take_name", taken)
    restart(windows)
    for _ in range(2):
        answer = carry_out(windows, to_be_renamed)
        assert answer.code == 1
        assert "this machine was restarted for host name of this machine, and" in answer.error_lines[-1]
        assert "a-longer-name-7k2p" in answer.error_lines[-1]


def test_a_name_that_somebody_changed_later_is_given_again(windows: Machine) -> None:
    def codes(comment: str) -> list[int]:
        """Of one user data, before and after the restart that it asks for."""
        given = windows.give("named", f"#cloud-config\n# {comment}\nhostname: first\n")
        found = [carry_out(windows, given).code]
        restart(windows)
        return [*found, carry_out(windows, given).code]

    assert codes("of the image") == [1003, 0]
    windows.host.power.rename("others")
    restart(windows)
    assert codes("of the next deployment") == [1003, 0]
    assert windows.host.facts.host_name() == "first"
    windows.wmcb("reset")
    restart(windows)
    assert windows.host.facts.host_name() == "WIN1"


def restart(machine: Machine) -> None:
    sandbox = SandboxMachine(machine.place, run_services=False)
    sandbox.shut_down()
    sandbox.start_up()
