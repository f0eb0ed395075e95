"""Called as kubeadm, the program takes kubeadm's command lines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.cli import main
from sandbox.cli.given import Answer, Machine, program
from sandbox.cli.test_join import Cluster, cluster, windows
from unit.kube.api_server import TOKEN

__all__ = ["cluster", "windows"]

JOINED = ("join", "10.0.0.1:6443", "--token", TOKEN, "--discovery-token-unsafe-skip-ca-verification")


def kubeadm(machine: Machine, *words: str) -> Answer:
    machine.output.readouterr()
    code = main.run([*words, "--sandbox", str(machine.place)], "kubeadm")
    return Answer(code, *machine.output.readouterr())


def configuration(machine: Machine, cluster: Cluster, name: str = "win1") -> str:
    return machine.give("join.yaml", cluster.join_configuration(name))


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("wmcb", "wmcb"),
        (r"C:\k\kubeadm.exe", "kubeadm"),
        ("KUBEADM.EXE", "kubeadm"),
        ("/usr/bin/kubeadm", "kubeadm"),
        (r"C:\kubeadm\wmcb.exe", "wmcb"),
    ],
)
def test_it_is_known_by_its_name(word: str, name: str) -> None:
    assert main.called_by(word) == name


@pytest.mark.parametrize(
    "more", [("-v", "5"), ("-v5",), ("--v=5",), ("--ignore-preflight-errors=all",)], ids=str
)
def test_join(windows: Machine, cluster: Cluster, more: tuple[str, ...]) -> None:
    answer = kubeadm(windows, "join", "--config", configuration(windows, cluster), *more)
    assert answer.code == 0, answer.err
    assert windows.host.services.read("kubelet") is not None


def test_a_name_that_options_give_goes_before(windows: Machine, cluster: Cluster) -> None:
    kubeadm(windows, "join", f"--config={configuration(windows, cluster)}", "--node-name", "other")
    assert "other" in windows.read(r"C:\var\lib\kubelet\kubeadm-flags.env").decode()


def test_join_and_reset(windows: Machine, cluster: Cluster) -> None:
    windows.host.services.start("containerd")
    before = windows.picture()
    kubeadm(windows, "join", "--config", configuration(windows, cluster))
    answer = kubeadm(windows, "reset", "-f", "--cri-socket", "npipe:////./pipe/containerd-containerd")
    assert answer.code == 0, answer.err
    assert windows.picture() == before


def test_of_an_option_given_twice_the_last_counts(windows: Machine, cluster: Cluster) -> None:
    given = ("--config", configuration(windows, cluster), "--node-name", "other", "--node-name=another")
    assert kubeadm(windows, "join", *given).code == 0
    assert "hostname-override=another" in windows.read(r"C:\var\lib\kubelet\kubeadm-flags.env").decode()
    sockets = ("--cri-socket=x", "--cri-socket=y", "-f", "-f=false", "-f")
    assert kubeadm(windows, "reset", *sockets).code == 0


def test_phases(windows: Machine, cluster: Cluster) -> None:
    given = ("--config", configuration(windows, cluster))
    fit = kubeadm(windows, "join", "phase", "preflight", *given)
    assert fit.code == 0, fit.out
    assert windows.host.services.read("kubelet") is None
    assert kubeadm(windows, "join", "phase", "kubelet-start", *given).code == 0
    assert windows.host.services.read("kubelet") is not None
    assert kubeadm(windows, "join", "phase", "kubelet-wait-bootstrap", *given).code == 0


def test_version(machine: Machine) -> None:
    short = kubeadm(machine, "version", "-o", "short").out.strip()
    assert short.startswith("v1.")
    told = json.loads(kubeadm(machine, "version", "--output=json").out)["clientVersion"]
    assert told["gitVersion"] == short
    assert f'gitVersion: "{short}"' in kubeadm(machine, "version", "-o", "yaml").out


def test_validate(machine: Machine, cluster: Cluster) -> None:
    good = configuration(machine, cluster)
    assert kubeadm(machine, "config", "validate", "--config", good).out == "ok\n"
    bad = configuration(machine, cluster, name="Not_a_name")
    answer = kubeadm(machine, "config", "validate", "--config", bad)
    assert answer.code == 2
    assert "nodeRegistration.name" in answer.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("init",), "kubeadm init: it is for a control-plane machine"),
        (("init", "--config", "x"), "kubeadm init: it is for a control-plane machine"),
        (("token", "create"), "kubeadm token: it is for a control-plane machine"),
        (("--v", "5", "token", "create"), "kubeadm token: it is for a control-plane machine"),
        (("-v", "5", "--log-file", "x", "init", "--foo"), "kubeadm init: it is for a control-plane machine"),
        (
            ("join", "--token", "t", "phase", "control-plane-join"),
            "kubeadm join phase control-plane-join: it",
        ),
        (("upgrade", "--sandbox", "d", "plan"), "kubeadm upgrade plan: it is for a control-plane machine"),
        (("join", "10.0.0.1:6443", "--control-plane"), "--control-plane: a Windows machine cannot be"),
        (("join", "phase", "control-plane-join"), "kubeadm join phase control-plane-join: it is for a"),
        (
            ("join", "phase"),
            "join phase: say which of join phase preflight, join phase kubelet-start, join",
        ),
        (
            ("join", "phase", "--token", "t"),
            "join phase: say which of join phase preflight, join phase kubelet-start",
        ),
        (
            ("join", "phase", "certs"),
            "unknown command join phase certs; there is join phase preflight, join phase kubelet-start",
        ),
        (
            ("join", "phase", "prefligt"),
            "unknown command join phase prefligt; did you mean join phase preflight?",
        ),
        (("reset", "--dry-run=maybe"), "--dry-run maybe: it is a switch, which can be --dry-run alone, true"),
        (("reset", "-f=perhaps"), "-f perhaps: it is a switch, which can be --force alone, true or false"),
        (("jion",), "unknown command jion; did you mean join?"),
        (("xyzzy",), "unknown command xyzzy; see kubeadm --help"),
        (("reset", "--xyzzy"), "unknown option --xyzzy; see kubeadm reset --help"),
        (("upgrade", "node", "phase", "kubelet-config"), "kubeadm upgrade node phase: its phases are not"),
        (
            ("reset", "phase", "cleanup-node"),
            "kubeadm reset phase: its phases are not done one by one here; run",
        ),
        (("upgrade", "node", "--skip-phases", "kubelet-config"), "--skip-phases kubelet-config: this phase"),
        (("upgrade", "node", "--skip-phases", "preflite"), "--skip-phases preflite: there is no such phase"),
        (("reset", "--skip-phases", "cleanup-node"), "--skip-phases cleanup-node: this phase cannot be"),
        (("reset", "--skip-phases", "kubelet-start"), "--skip-phases kubelet-start: there is no such phase"),
        ((*JOINED, "--skip-phases", "preflight,kubelet-start"), "--skip-phases kubelet-start: this phase"),
        (
            (*JOINED, "--skip-phases", "kubelet"),
            '--skip-phases: "kubelet": there is no such phase; kubeadm has',
        ),
        (("reset", "--rootfs", "/"), "--rootfs: Windows has no other root for a program"),
        (("reset", "--v", "much"), "--v much: expected a number, such as 5"),
        ((*JOINED, "--apiserver-bind-port", "1.2.3.4"), "--apiserver-bind-port 1.2.3.4: expected the number"),
        (
            ("join", "--config", "x", "--certificate-key", "k"),
            "--certificate-key: it cannot stand beside --config, whose file says this",
        ),
        (("join", "--confg", "x"), "unknown option --confg; did you mean --config?"),
    ],
    ids=" ".join,
)
def test_what_it_refuses(machine: Machine, words: tuple[str, ...], says: str) -> None:
    answer = kubeadm(machine, *words)
    assert answer.code == 2
    assert answer.error_lines[-1].startswith(f"error: {says}")


def test_each_of_several_errors_begins_as_kubeadm_s_do(machine: Machine) -> None:
    answer = kubeadm(machine, "join", "10.0.0.1", "--token", "hush")
    assert answer.code == 2
    assert [line.partition(":")[0] for line in answer.error_lines] == ["error"] * 3


def test_help(machine: Machine) -> None:
    assert "kubeadm [COMMAND]" in kubeadm(machine, "--help").out
    assert "kubeadm join [HOST:PORT]" in kubeadm(machine, "join", "--help").out


def test_what_kubeadm_has_no_option_for_is_not_asked_for(machine: Machine, cluster: Cluster) -> None:
    answer = kubeadm(machine, "join", "--config", configuration(machine, cluster))
    line = r"error: there is no C:\k\kubelet.exe: put the kubelet.exe of this node there"
    assert (answer.code, answer.error_lines) == (2, [line])


@pytest.mark.parametrize("phases", ["kubelet-start", "preflight,kubelet-start"])
def test_a_configuration_that_leaves_out_the_kubelet(windows: Machine, cluster: Cluster, phases: str) -> None:
    file = configuration(windows, cluster)
    with Path(file).open("a") as text:
        text.write(f"skipPhases: [{phases}]\n")
    answer = kubeadm(windows, "join", "--config", file)
    assert answer.code == 2
    assert answer.error_lines[-1].startswith("error: skipPhases kubelet-start: this phase cannot be left out")


@pytest.mark.parametrize("phase", ["preflight", "kubelet-wait-bootstrap", "control-plane-prepare/certs"])
def test_phases_that_can_be_left_out(windows: Machine, cluster: Cluster, phase: str) -> None:
    answer = kubeadm(windows, "join", "--config", configuration(windows, cluster), "--skip-phases", phase)
    assert answer.code == 0, answer.err


def test_a_join_need_not_wait(windows: Machine, cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    """For a program that runs: here none does, so that nothing would ever come."""
    monkeypatch.setattr("agent.cli.join.runs_programs", lambda _: True)
    given = ("join", "--config", configuration(windows, cluster), "--skip-phases", "kubelet-wait-bootstrap")
    assert kubeadm(windows, *given).code == 0


@pytest.mark.parametrize("phase", ["preflight", "remove-etcd-member"])
def test_phases_of_a_reset_that_can_be_left_out(machine: Machine, phase: str) -> None:
    assert kubeadm(machine, "reset", "-f", "--skip-phases", phase).code == 0


@pytest.mark.parametrize("option", ["--cert-dir", "--kubeconfig"])
def test_reset_tells_what_it_does_not_look_at(machine: Machine, option: str) -> None:
    answer = kubeadm(machine, "reset", "-f", option, "x")
    assert (answer.code, answer.error_lines[0]) == (
        0,
        f"wmcb: warning: {option} has no effect here: it is not looked at",
    )


@pytest.mark.parametrize("verbosity", ["--v=5", "-v=5"])
def test_a_line_of_kubeadms_by_wmcbs_name(windows: Machine, cluster: Cluster, verbosity: str) -> None:
    line = ["join", "--config", configuration(windows, cluster), verbosity, "--sandbox", str(windows.place)]
    assert main.run(line, "wmcb") == 0


@pytest.mark.parametrize(
    ("more", "warned"),
    [
        (("--certificate-key", "k"), ["--certificate-key"]),
        (("--apiserver-advertise-address=1.2.3.4",), ["--apiserver-advertise-address"]),
        (("--apiserver-bind-port=8888",), ["--apiserver-bind-port"]),
        (("--apiserver-bind-port=6443", "--apiserver-advertise-address="), []),
        (("--control-plane=false", "--apiserver-bind-port=8888"), ["--apiserver-bind-port"]),
    ],
)
@pytest.mark.parametrize("name", ["kubeadm", "wmcb"])
def test_what_only_a_control_plane_needs(
    windows: Machine, cluster: Cluster, name: str, more: tuple[str, ...], warned: list[str]
) -> None:
    """As kubeadm warns of it, and makes a worker."""
    line = ("join", cluster.server.place, "--token", TOKEN, "--discovery-token-unsafe-skip-ca-verification")
    assert main.run([*line, *more, "--sandbox", str(windows.place)], name) == 0
    told = [line for line in windows.output.readouterr().err.splitlines() if "--control-plane" in line]
    text = "has no effect without --control-plane: this machine joins as a worker"
    assert told == [f"wmcb: warning: {option} {text}" for option in warned]
    assert windows.host.services.read("kubelet") is not None


def test_no_control_plane_by_wmcbs_name(machine: Machine) -> None:
    code = main.run(["join", "10.0.0.1:6443", "--control-plane", "--sandbox", str(machine.place)], "wmcb")
    told = machine.output.readouterr().err
    assert (code, told.startswith("wmcb: --control-plane: a Windows machine cannot be")) == (2, True)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--vmodule=join=5", "--add-dir-header", "--skip-headers=false"), []),
        (("--logtostderr", "--alsologtostderr=true", "--one-output", "--skip-log-headers"), []),
        (("--stderrthreshold", "2", "--log-flush-frequency=5s", "--log-backtrace-at", "a.go:1"), []),
        (("--log-file-max-size=10", "--log-file=", "--v=-1", "--rootfs="), []),
        (("--log-file", "x.log"), ["--log-file"]),
        (("--log-dir=x",), ["--log-dir"]),
    ],
)
def test_how_kubeadm_is_to_log(machine: Machine, words: tuple[str, ...], told: list[str]) -> None:
    answer = kubeadm(machine, *words, "reset", "-f")
    assert answer.code == 0
    text = "has no effect here: the log is where wmcb has its own"
    assert answer.error_lines == [f"wmcb: warning: {option} {text}" for option in told]


def test_how_kubeadm_is_to_log_is_not_remembered(windows: Machine, cluster: Cluster) -> None:
    """What wmcb advises is for its own name, which has no such options."""
    given = ("--config", configuration(windows, cluster), "--skip-headers", "--vmodule", "a=1")
    assert kubeadm(windows, "join", *given).code == 0
    windows.host.services.stop("kubelet")
    answer = windows.wmcb("status")
    assert answer.code == 1
    assert "wmcb join --config" in answer.out + answer.err
    assert "--vmodule" not in answer.out + answer.err


@pytest.mark.parametrize(
    ("value", "is_dry"), [("true", True), ("1", True), ("True", True), ("f", False), ("False", False)]
)
def test_a_switch_with_a_value_as_go_reads_it(
    windows: Machine, cluster: Cluster, value: str, is_dry: bool
) -> None:
    given = ("--config", configuration(windows, cluster), f"--dry-run={value}")
    assert kubeadm(windows, "join", *given).code == 0
    assert (windows.host.services.read("kubelet") is None) is is_dry


@pytest.mark.parametrize(("more", "is_dry"), [((), True), (("--dry-run=false",), False)])
def test_an_option_goes_before_the_dry_run_of_a_join_s_file(
    windows: Machine, cluster: Cluster, more: tuple[str, ...], is_dry: bool
) -> None:
    file = configuration(windows, cluster)
    with Path(file).open("a") as text:
        text.write("dryRun: true\n")
    assert kubeadm(windows, "join", "--config", file, *more).code == 0
    assert (windows.host.services.read("kubelet") is None) is is_dry


def test_advice_names_no_option_that_kubeadms_name_does_not_take(bare: Machine, cluster: Cluster) -> None:
    """It names the command of wmcb's own that takes it."""
    bare.put(r"C:\k\kubelet.exe", program())
    own = bare.called
    told = kubeadm(bare, "join", "--config", configuration(bare, cluster))
    assert (told.code, "cannot be asked for its version" in told.err) == (3, True)
    assert f" is assumed ({own} join --kubelet-version V says it)" in told.err
    assert f"; {own} join --runtime-service NAME is for one of another name" in told.err
    told = kubeadm(bare, "upgrade", "node")
    assert f"; {own} --ignition with another --kubelet upgrades a node of an Ignition" in told.err


@pytest.mark.parametrize(
    ("name", "option"), [("kubeadm", "{own} reset --all-hns"), ("wmcb", "--all-hns")], ids=["kubeadm", "wmcb"]
)
def test_advice_on_networks_that_stay(
    windows: Machine, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, name: str, option: str
) -> None:
    assert kubeadm(windows, "join", "--config", configuration(windows, cluster)).code == 0
    monkeypatch.setattr("agent.cli.leaving._networks", lambda _: ["flannel.4096"])
    assert main.run(["reset", "--sandbox", str(windows.place)], name) == 0
    told = windows.output.readouterr().out
    line = f"in HNS stays what others made: flannel.4096; {option.format(own=windows.called)} deletes it"
    assert f"  {line}" in told.splitlines()
