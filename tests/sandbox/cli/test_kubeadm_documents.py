"""`kubeadm reset` and `kubeadm upgrade node` with --config: what of a file is done, refused or told."""

from __future__ import annotations

import json
from pathlib import PureWindowsPath

import pytest

from agent.cli import join
from agent.cli.arguments import parse
from agent.cli.kubeadm_commands import COMMANDS, COMMON
from agent.host.errors import InUse
from agent.sources.kubeadm.model import Timeouts
from sandbox.cli.given import Answer, Machine
from sandbox.cli.test_join import Cluster, cluster, windows
from sandbox.cli.test_node_config import given
from sandbox.cli.test_under_kubeadm import configuration, kubeadm
from sandbox.cli.test_upgrade import joined

__all__ = ["cluster", "joined", "windows"]

RESET = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ResetConfiguration\n"
UPGRADE = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: UpgradeConfiguration\n"
TMP = r"C:\etc\kubernetes\tmp"


@pytest.fixture
def node(windows: Machine, cluster: Cluster) -> Machine:
    windows.host.services.start("containerd")
    assert kubeadm(windows, "join", "--config", configuration(windows, cluster)).code == 0
    return windows


def reset(machine: Machine, text: str, *more: str) -> Answer:
    return kubeadm(machine, "reset", "--config", machine.give("reset.yaml", RESET + text), *more)


def upgrade_node(machine: Machine, text: str, *more: str) -> Answer:
    return kubeadm(machine, "upgrade", "node", "--config", machine.give("up.yaml", UPGRADE + text), *more)


def is_node(machine: Machine) -> bool:
    return machine.host.services.read("kubelet") is not None


def has_tmp(machine: Machine) -> bool:
    return machine.host.files.observe(PureWindowsPath(TMP)) is not None


@pytest.mark.parametrize(
    ("text", "more", "stays"),
    [
        ("dryRun: true\n", (), True),
        ("dryRun: true\nforce: true\n", ("--v=5",), True),
        ("dryRun: false\n", ("--dry-run",), True),
        ("dryRun: true\n", ("--dry-run=false",), False),
        ("dryRun: true\n", ("--dry-run=False",), False),
        ("", (), False),
        ("force: false\nskipPhases: [remove-etcd-member]\n", (), False),
    ],
)
def test_a_reset_by_its_file(node: Machine, text: str, more: tuple[str, ...], stays: bool) -> None:
    before = node.picture()
    answer = reset(node, text, *more)
    assert answer.code == 0, answer.err
    assert is_node(node) is stays
    assert (node.picture() == before) is stays
    assert ("- remove    service kubelet" in answer.out) is stays


def test_json_says_the_same(node: Machine) -> None:
    given = {"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "ResetConfiguration", "dryRun": True}
    assert kubeadm(node, "reset", "--config", node.give("reset.json", json.dumps(given))).code == 0
    assert is_node(node)


@pytest.mark.parametrize("command", [("reset", "-f"), ("reset",), ("upgrade", "node")], ids=" ".join)
def test_a_file_that_is_not_there(node: Machine, command: tuple[str, ...]) -> None:
    answer = kubeadm(node, *command, "--config", str(node.folder / "none.yaml"))
    assert (answer.code, len(answer.error_lines)) == (2, 1)
    assert is_node(node)


OF_A_JOIN = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"
DISCOVERED = (
    "discovery: {file: {kubeConfigPath: 'C:\\cluster.conf'}, tlsBootstrapToken: abcdef.0123456789abcdef}\n"
)
OF_RESETS = f"{RESET}dryRun: true\n---\n{RESET}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "there is no ResetConfiguration in it; it is empty"),
        (OF_A_JOIN, 'there is no ResetConfiguration in it, only "JoinConfiguration"'),
        (RESET.replace("v1beta4", "v1beta3"), '"kubeadm.k8s.io/v1beta3" has no ResetConfiguration'),
        (RESET.replace("v1beta4", "v1beta2"), '"kubeadm.k8s.io/v1beta2" is too old'),
        (RESET.replace("v1beta4", "v1"), '"kubeadm.k8s.io/v1" is not known'),
        (RESET.replace("kubeadm.k8s.io", "example.org"), '"example.org/v1beta4" has no ResetConfiguration'),
        (OF_RESETS, "there are two documents of the kind ResetConfiguration"),
        (f'{RESET}dryRun: "true"\n', "true or false was expected"),
        (f"{RESET}ignorePreflightErrors: all\n", "a list was expected"),
        (
            f"{RESET}ignorePreflightErrors: [all, Swap]\n",
            "reset.yaml at $.ignorePreflightErrors: all ignores every check",
        ),
        (f"{RESET}unmountFlags: [MNT_FORCE, MNT_LAZY]\n", '"MNT_LAZY" is none of MNT_FORCE, MNT_DETACH'),
        (f"{RESET}certificatesDir: pki\n", '"pki" is no absolute path'),
        (f"{RESET}criSocket: 'npipe://a b'\n", '"npipe://a b" is no named pipe'),
        (
            f"{RESET}skipPhases: [cleanup-node]\n",
            "reset.yaml at $.skipPhases cleanup-node: this phase cannot be left out",
        ),
        (f"{RESET}skipPhases: [cleanup]\n", "reset.yaml at $.skipPhases cleanup: there is no such phase"),
        (f"{RESET}timeouts: {{kubernetesAPICall: soon}}\n", "a duration such as 5m0s was expected"),
        ("dryRun: [\n", "line 2"),
    ],
)
def test_a_file_that_no_reset_goes_by(machine: Machine, text: str, says: str) -> None:
    answer = kubeadm(machine, "reset", "-v=5", "--config", machine.give("reset.yaml", text))
    assert (answer.code, len(answer.error_lines)) == (2, 1), answer.err
    assert says in answer.err


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("reset", "--force"),
        ("reset", "-f"),
        ("reset", "--force=false"),
        ("reset", "--cri-socket=npipe:////./pipe/containerd-containerd"),
        ("reset", "--cert-dir=C:/pki"),
        ("reset", "--cleanup-tmp-dir"),
        ("upgrade", "--patches=C:/patches"),
        ("upgrade", "--etcd-upgrade=false"),
        ("upgrade", "--certificate-renewal"),
    ],
)
def test_an_option_that_the_file_has_to_say(machine: Machine, command: str, option: str) -> None:
    answer = (reset if command == "reset" else upgrade_node)(machine, "", option)
    name = "--force" if option == "-f" else option.partition("=")[0]
    line = f"error: {name}: it cannot stand beside --config, whose file says this"
    assert (answer.code, answer.error_lines) == (2, [line])


@pytest.mark.parametrize(
    "more",
    [
        ("--ignore-preflight-errors=all",),
        ("--skip-phases", "preflight"),
        ("--dry-run",),
        ("--kubeconfig", r"C:\admin.conf"),
        ("--v=2", "--vmodule=a=1", "--skip-headers"),
    ],
    ids=" ".join,
)
def test_an_option_that_may_stand_beside_a_file(machine: Machine, more: tuple[str, ...]) -> None:
    answer = reset(machine, "", *more)
    assert answer.code == 0, answer.err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("reset", "-f", "--ignore-preflight-errors=all,Swap"), None),
        (("reset", "--ignore-preflight-errors=ALL"), f"{RESET}ignorePreflightErrors: [Swap]\n"),
        (("upgrade", "node", "--ignore-preflight-errors=all", "--ignore-preflight-errors=Mem"), None),
        (
            ("upgrade", "node", "--ignore-preflight-errors=Mem"),
            f"{UPGRADE}node: {{ignorePreflightErrors: [all]}}\n",
        ),
    ],
)
def test_all_checks_and_one_more(machine: Machine, words: tuple[str, ...], text: str | None) -> None:
    file = () if text is None else ("--config", machine.give("file.yaml", text))
    answer = kubeadm(machine, *words, *file)
    says = "error: --ignore-preflight-errors: all ignores every check: name it alone, or leave it out"
    assert (answer.code, answer.error_lines) == (2, [says])


@pytest.mark.parametrize(
    ("field", "says"),
    [
        (
            "certificatesDir: /etc/pki",
            "at $.certificatesDir: it has no effect here: a node's certificates are in",
        ),
        (
            "unmountFlags: [MNT_FORCE]",
            "at $.unmountFlags: it has no effect here: Windows has no unmount flags",
        ),
        ("timeouts: {etcdAPICall: 1m}", "at $.timeouts: it has no effect here: a worker's reset asks"),
        ("criSocket: npipe:////./pipe/cri-dockerd", 'at $.criSocket: "npipe:////./pipe/cri-dockerd" has no'),
        ("criSocket: unix:///run/containerd.sock", 'at $.criSocket: "unix:///run/containerd.sock" has no'),
        ("dryrun: false", 'at $.dryrun: kubeadm knows no field "dryrun" here; it is ignored'),
        ("---\napiVersion: a/v1\nkind: B", 'a document of the kind "B" ("a/v1") has no part in a reset'),
    ],
)
def test_what_of_a_file_has_no_effect(machine: Machine, field: str, says: str) -> None:
    answer = reset(machine, field)
    assert answer.code == 0, answer.err
    (line,) = answer.error_lines
    assert line.startswith("wmcb: warning: ")
    assert says in line


@pytest.mark.parametrize(
    "field",
    [
        r"criSocket: npipe:////./pipe/containerd-containerd",
        r"criSocket: \\.\pipe\containerd-containerd",
        "certificatesDir: /etc/kubernetes/pki",
        r"certificatesDir: C:\etc\kubernetes\pki",
        "force: true",
        "unmountFlags: []",
    ],
)
def test_what_of_a_file_needs_no_word(machine: Machine, field: str) -> None:
    answer = reset(machine, field)
    assert (answer.code, answer.err) == (0, "")


def test_an_option_names_a_runtime_that_is_not_containerd(machine: Machine) -> None:
    answer = kubeadm(machine, "reset", "--cri-socket", "npipe:////./pipe/cri-dockerd")
    assert answer.code == 0
    assert answer.error_lines[0].startswith(
        'wmcb: warning: --cri-socket: "npipe:////./pipe/cri-dockerd" has no'
    )


@pytest.mark.parametrize(
    ("text", "more", "stays"),
    [
        ("cleanupTmpDir: true\n", (), False),
        ("cleanupTmpDir: true\n", ("--dry-run",), True),
        ("cleanupTmpDir: false\n", (), True),
        (None, ("--cleanup-tmp-dir",), False),
        (None, ("--cleanup-tmp-dir", "--dry-run"), True),
        (None, ("--cleanup-tmp-dir=false",), True),
    ],
)
def test_kubeadms_temporary_folder(
    windows: Machine, cluster: Cluster, text: str | None, more: tuple[str, ...], stays: bool
) -> None:
    """In a folder that was there before wmcb, and stays."""
    windows.put(rf"{TMP}\kubeadm-kubelet-config\config.yaml", b"x")
    assert kubeadm(windows, "join", "--config", configuration(windows, cluster)).code == 0
    answer = kubeadm(windows, "reset", *more) if text is None else reset(windows, text, *more)
    assert answer.code == 0, answer.err
    assert has_tmp(windows) is stays
    assert (f"would remove {TMP}" in answer.out) is ("--dry-run" in more)
    assert (f"  {TMP} is removed" in answer.out.splitlines()) is not stays


def test_kubeadms_temporary_folder_where_only_what_was_prepared_is_left(bare: Machine) -> None:
    assert bare.wmcb("prepare", *given(bare)).code == 0
    bare.put(rf"{TMP}\x", b"x")
    answer = kubeadm(bare, "reset", "-f", "--cleanup-tmp-dir")
    first = "wmcb has put nothing on this machine but what it was prepared with"
    assert answer.out == f"{first}\n  {TMP} is removed\n"
    assert not has_tmp(bare)


def test_a_reset_that_is_rolled_back_leaves_kubeadms_temporary_folder(
    node: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise RuntimeError("the disk is gone")

    node.put(rf"{TMP}\x", b"x")
    monkeypatch.setattr("agent.engine.run.Making.make_sure", fails)
    answer = kubeadm(node, "reset", "--cleanup-tmp-dir")
    assert answer.code == 1
    assert answer.error_lines[-1].endswith("; the machine is as it was before")
    assert has_tmp(node)


@pytest.mark.parametrize("joins", [True, False])
def test_kubeadms_temporary_folder_that_a_program_has_open(
    windows: Machine, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, joins: bool
) -> None:
    def is_open(_files: object, folder: PureWindowsPath) -> None:
        raise InUse("remove", str(folder), 32)

    windows.put(rf"{TMP}\x", b"x")
    if joins:
        assert kubeadm(windows, "join", "--config", configuration(windows, cluster)).code == 0
    monkeypatch.setattr("agent.cli.leaving.remove_tree", is_open)
    answer = kubeadm(windows, "reset", "--cleanup-tmp-dir")
    assert f"{TMP} is removed" not in answer.out
    assert f"wmcb: warning: {InUse('remove', TMP, 32)}" in answer.error_lines
    assert has_tmp(windows)


def test_a_folder_that_is_said_to_stay_for_kubeadms_temporary_one_stays(windows: Machine) -> None:
    windows.host.services.start("containerd")
    assert windows.wmcb(*windows.node).code == 0
    windows.put(rf"{TMP}\x", b"x")
    answer = kubeadm(windows, "reset", "--cleanup-tmp-dir")
    folder = PureWindowsPath(TMP).parent
    assert f"stays: {folder}, which holds something that is not wmcb's (tmp)" in answer.error_lines
    assert f"  {TMP} is removed" in answer.out.splitlines()
    assert windows.host.files.list(folder) == []


def test_kubeadms_temporary_folder_where_wmcb_made_nothing(machine: Machine) -> None:
    machine.put(rf"{TMP}\x", b"x")
    told = kubeadm(machine, "reset", "--cleanup-tmp-dir")
    assert told.out == (
        f"wmcb has put nothing on this machine but what it was prepared with\n  {TMP} is removed\n"
    )
    assert not has_tmp(machine)


@pytest.mark.parametrize(
    ("text", "more", "changes"),
    [
        ("node: {dryRun: true}\n", (), False),
        ("node: {dryRun: true}\n", ("--dry-run=false",), True),
        ("apply: {dryRun: true}\n", (), True),
        ("", ("--dry-run",), False),
        ("", (), True),
    ],
)
def test_an_upgrade_by_its_file(
    joined: Machine, cluster: Cluster, text: str, more: tuple[str, ...], changes: bool
) -> None:
    cluster.configure("maxPods: 77")
    before = joined.picture()
    answer = upgrade_node(joined, text, *more, *AS_36)
    assert answer.code == 0, answer.err
    assert (joined.picture() != before) is changes


AS_36 = ("--ignore-preflight-errors=kubelet",)


def test_patches_of_a_file(joined: Machine) -> None:
    joined.put(r"C:\etc\patches\kubeletconfiguration+merge.yaml", b"maxPods: 78\n")
    answer = upgrade_node(joined, "node: {patches: {directory: /etc/patches}}\n", *AS_36)
    assert answer.code == 0, answer.err
    assert "maxPods: 78" in joined.read(r"C:\var\lib\kubelet\config.yaml").decode()


def test_a_missing_folder_of_patches_is_named_as_its_file_does(joined: Machine) -> None:
    answer = upgrade_node(joined, "node: {patches: {directory: /nowhere}}\n", *AS_36)
    assert (answer.code, answer.error_lines[-1]) == (
        2,
        "error: node.patches.directory C:/nowhere: there is no such folder",
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Timeouts(60.0, 60.0, 300.0, 300.0)),
        ("timeouts: {kubeletHealthCheck: 7m}\n", Timeouts(420.0, 60.0, 300.0, 300.0)),
        (
            "timeouts: {kubernetesAPICall: 5s, tlsBootstrap: 1m, discovery: 2m}\n",
            Timeouts(60.0, 5.0, 60.0, 120.0),
        ),
    ],
)
def test_how_long_an_upgrade_waits(joined: Machine, text: str, expected: Timeouts) -> None:
    file = joined.give("up.yaml", UPGRADE + text)
    request = parse(["upgrade", "node", "--config", file, "--sandbox", str(joined.place)], COMMANDS, COMMON)
    asking = join.asking_to_upgrade(request, joined.host)
    assert asking.join is not None
    assert asking.join.timeouts == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "node: {patches: {directory: patches}}\n",
            '$.node.patches.directory: "patches" is no absolute path',
        ),
        ("node: {patches: {}}\n", 'node.patches.directory: "" is no absolute path'),
        ("apply: {patches: {directory: p}}\n", 'apply.patches.directory: "p" is no absolute path'),
        ("node: {imagePullPolicy: Sometimes}\n", 'node.imagePullPolicy: "Sometimes" is none of Always'),
        (
            "node: {skipPhases: [kubelet-config]}\n",
            "up.yaml at $.node.skipPhases kubelet-config: this phase cannot be left out",
        ),
        ("node: {skipPhases: [kubelet]}\n", "up.yaml at $.node.skipPhases kubelet: there is no such phase"),
        (
            "node: {ignorePreflightErrors: [all, Swap]}\n",
            "up.yaml at $.node.ignorePreflightErrors: all ignores every check",
        ),
        ("node: {dryRun: 'yes'}\n", "node.dryRun: true or false was expected"),
        ("diff: {contextLines: many}\n", "diff.contextLines: a whole number was expected"),
    ],
)
def test_a_file_that_no_upgrade_goes_by(machine: Machine, text: str, says: str) -> None:
    answer = upgrade_node(machine, text)
    assert (answer.code, len(answer.error_lines)) == (2, 1), answer.err
    assert says in answer.err


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("apply: {forceUpgrade: true}\n", "apply"),
        ("diff: {contextLines: 3}\n", "diff"),
        ("plan: {printConfig: true}\n", "plan"),
        ("node: {etcdUpgrade: true}\n", "node.etcdUpgrade"),
        ("node: {certificateRenewal: false}\n", "node.certificateRenewal"),
        ("node: {imagePullPolicy: Always}\n", "node.imagePullPolicy"),
        ("node: {imagePullSerial: false}\n", "node.imagePullSerial"),
        ("timeouts: {upgradeManifests: 1m}\n", "timeouts.upgradeManifests"),
    ],
)
def test_what_of_a_file_is_about_a_control_plane(joined: Machine, text: str, place: str) -> None:
    answer = upgrade_node(joined, text, *AS_36)
    assert answer.code == 0, answer.err
    told = [line for line in answer.error_lines if "no effect" in line]
    assert len(told) == 1
    assert f"at $.{place}: it has no effect here: it is " in told[0]
    what = "about a control plane's programs" if "." in place else f"for kubeadm upgrade {place}, which"
    assert what in told[0]


def test_checks_by_kubeadms_names(joined: Machine) -> None:
    names = "[IsPrivilegedUser, Swap, kubelet]"
    answer = upgrade_node(joined, f"node: {{ignorePreflightErrors: {names}}}\n")
    assert answer.code == 0, answer.err
    assert "wmcb: warning: --ignore-preflight-errors: no check here is called swap" in answer.error_lines


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (RESET, 0, ""),
        (UPGRADE, 0, ""),
        (f"{RESET}---\n{UPGRADE}", 0, ""),
        (f"{RESET}dryRuns: true\n", 2, 'at $.dryRuns: kubeadm knows no field "dryRuns" here\n'),
        (f"{RESET}dryRun: true\ndryRun: false\n", 2, "this key is there twice"),
        (f"{UPGRADE}node: {{patches: {{directory: p}}}}\n---\n{RESET}", 2, "is no absolute path"),
        (
            f"{RESET}---\napiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n",
            0,
            "is for a control",
        ),
        (f"{RESET}---\napiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n", 0, ""),
        (f"{RESET}---\napiVersion: example.org/v1\nkind: Foo\n", 2, 'kubeadm knows no kind "Foo"'),
        (
            "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n",
            2,
            "there is no JoinConfiguration, Re",
        ),
    ],
)
def test_what_config_validate_finds(machine: Machine, text: str, code: int, says: str) -> None:
    answer = kubeadm(machine, "config", "validate", "--config", machine.give("file.yaml", text))
    assert (answer.code, answer.out) == (code, "" if code else "ok\n"), answer.err
    assert says in answer.err
    assert bool(says) == bool(answer.err)


@pytest.mark.parametrize(
    ("command", "head", "text"),
    [
        (("reset", "-v=1"), RESET, "skipPhases: [nonsense]\n"),
        (("reset",), RESET, "skipPhases: [preflight, cleanup-node]\n"),
        (("reset",), RESET, "ignorePreflightErrors: [DirAvailable, all]\n"),
        (("upgrade", "node"), UPGRADE, "node: {skipPhases: [nonsense]}\n"),
        (("upgrade", "node"), UPGRADE, "node: {skipPhases: [kubelet-config]}\n"),
        (("upgrade", "node"), UPGRADE, "node: {ignorePreflightErrors: [ALL, Swap]}\n"),
        (("join",), OF_A_JOIN, f"{DISCOVERED}skipPhases: [nonsense]\n"),
        (("join",), OF_A_JOIN, f"{DISCOVERED}skipPhases: [kubelet-start]\n"),
        (("join",), OF_A_JOIN, f"{DISCOVERED}nodeRegistration: {{ignorePreflightErrors: [all, Swap]}}\n"),
    ],
)
def test_config_validate_refuses_what_its_command_refuses(
    machine: Machine, command: tuple[str, ...], head: str, text: str
) -> None:
    file = machine.give("file.yaml", head + text)
    refused = kubeadm(machine, *command, "--config", file)
    validated = kubeadm(machine, "config", "validate", "--config", file)
    assert (refused.code, validated.code, validated.out) == (2, 2, ""), validated.err
    (line,) = validated.error_lines
    _, _, reason = line.rpartition(": ")
    assert reason in refused.err


@pytest.mark.parametrize(
    "text",
    [
        f"{RESET}skipPhases: [preflight, remove-etcd-member]\nignorePreflightErrors: [DirAvailable, Swap]\n",
        f"{RESET}ignorePreflightErrors: [all]\n",
        f"{UPGRADE}node: {{skipPhases: [addon/coredns, preflight], ignorePreflightErrors: [Swap]}}\n",
        f"{OF_A_JOIN}{DISCOVERED}skipPhases: [preflight, control-plane-prepare/certs]\n",
    ],
)
def test_config_validate_takes_what_its_command_takes(machine: Machine, text: str) -> None:
    answer = kubeadm(machine, "config", "validate", "--config", machine.give("file.yaml", text))
    assert (answer.code, answer.out, answer.err) == (0, "ok\n", "")
