"""`wmcb prepare`: a bare machine gets what every node needs, an image nothing that is one machine's alone."""

from __future__ import annotations

import hashlib
import pathlib
from contextlib import suppress
from pathlib import PureWindowsPath

import pytest

from agent import log_runner
from agent.cli import main, prepare
from agent.release import RELEASE
from sandbox.cli.given import Machine, program
from sandbox.cli.test_node_config import CONTAINERD, HEAD, NOTE, given
from sandbox.cli.test_node_config import picture as but_state
from sandbox.engine.world import Killed, Power, powered

VERSION = ("prepare", "--kubernetes-version", "v1.36.3")
KUBELET = r"C:\k\kubelet.exe"
PLACE = rf"C:\Program Files\wmcb\{RELEASE}"
OWN = (rf"{PLACE}\wmcb.exe", rf"{PLACE}\kubeadm.exe")


def put_kubelet(folder: pathlib.Path, tail: bytes) -> None:
    """As the Kubernetes project publishes it."""
    folder.mkdir(parents=True, exist_ok=True)
    content = program(tail=tail)
    (folder / "kubelet.exe").write_bytes(content)
    (folder / "kubelet.exe.sha256").write_text(hashlib.sha256(content).hexdigest())


@pytest.fixture
def mirror(bare: Machine) -> tuple[str, str]:
    """A folder that has what the project's server has."""
    folder = bare.folder / "mirror"
    for version, tail in (("v1.36.3", b""), ("v1.36.4", b"newer")):
        put_kubelet(folder / version / "bin" / "windows" / "amd64", tail)
    return ("--mirror", f"https://dl.k8s.io/={folder}/")


def picture(machine: Machine) -> dict[str, object]:
    """But for what `daemon uninstall` takes away."""
    seen = but_state(machine)
    return {name: seen[name] for name in seen if r"C:\Program Files\wmcb" not in name}


def test_a_bare_machine_is_prepared_and_again_nothing_changes(bare: Machine, mirror: tuple[str, str]) -> None:
    before = bare.picture()
    answer = bare.wmcb(*VERSION, *mirror)
    assert (answer.code, answer.out.splitlines()[0]) == (
        0,
        "this machine is prepared: join it, or give it a document, and it is a node",
    ), answer.err
    assert bare.read(KUBELET) == program()
    host = bare.host
    assert [rule.local_ports for rule in host.firewall.rules("wmcb kubelet")] == [("10250",)]
    path = host.environment.get("Path") or ""
    assert path.endswith(rf"C:\k;{PLACE}")
    for name in OWN:
        assert host.files.observe(PureWindowsPath(name)) is not None, name
    made = bare.picture()
    elsewhere = ("--mirror", "https://dl.k8s.io/=https://127.0.0.1:9/")
    answer = bare.wmcb(*VERSION, *elsewhere)
    assert answer.out == "nothing to do: this machine is prepared as is wanted\n", answer.err
    assert but_state(bare) == {name: made[name] for name in but_state(bare)}
    answer = bare.wmcb("reset")
    uninstall = f"{bare.called} daemon uninstall"
    assert f"wmcb itself stays in C:\\Program Files\\wmcb: {uninstall} removes it" in answer.out
    bare.wmcb("daemon", "uninstall")
    assert bare.picture() == before


def test_another_build_of_the_release_stays_where_it_is_laid_out(
    bare: Machine, mirror: tuple[str, str]
) -> None:
    bare.wmcb(*VERSION, *mirror)
    build = (*VERSION, *mirror, "--sandbox-run")  # whose stand-in for the exe has another content
    (remark,) = bare.wmcb(*build, "--dry-run", "-o", "json").document["remarks"]
    assert remark.startswith(rf"wmcb.exe and kubeadm.exe are laid out in {PLACE}-")
    assert bare.wmcb(*build).code == 0
    folder = remark.rpartition(" laid out in ")[2]
    home = PureWindowsPath(PLACE).parent
    for _ in range(2):
        assert bare.host.files.list(home) == [PureWindowsPath(folder).name]
        assert (bare.host.environment.get("Path") or "").endswith(rf"C:\k;{folder}")
        assert bare.wmcb(*build).out == "nothing to do: this machine is prepared as is wanted\n"


UNASKED = "nothing of this machine is asked for"
NOT_FOR_IT = {"empty": "", "for another node": f"nodes: {{names: [another]}}\n{CONTAINERD}"}


@pytest.mark.parametrize("text", NOT_FOR_IT.values(), ids=NOT_FOR_IT)
def test_a_document_that_asks_for_nothing_prepares_nothing(bare: Machine, text: str) -> None:
    answer = bare.wmcb("prepare", *given(bare, text))
    assert (answer.code, answer.out) == (0, f"nothing to do: {UNASKED}\n")
    bare.wmcb("prepare", *given(bare, CONTAINERD))
    answer = bare.wmcb("prepare", *given(bare, text))
    assert answer.code == 0
    assert answer.out.startswith(f"{UNASKED} any more: what was asked for before is taken away\n")
    assert bare.host.services.read("containerd") is None


def test_it_makes_a_node_then_without_another_kubelet(bare: Machine, mirror: tuple[str, str]) -> None:
    bare.wmcb(*VERSION, *mirror, *given(bare, CONTAINERD))
    answer = bare.wmcb(*bare.node[:2], "--kubelet", KUBELET, "--kubelet-version", "1.36")
    assert answer.code == 0, answer.err
    assert bare.host.services.status("kubelet").state.name == "RUNNING"
    made = picture(bare)
    assert bare.wmcb(*VERSION, *mirror).out.startswith("nothing to do")
    assert picture(bare) == made


def test_the_kubelet_of_a_node_is_not_exchanged(bare: Machine, mirror: tuple[str, str]) -> None:
    bare.wmcb(*VERSION, *mirror, *given(bare, CONTAINERD))
    bare.wmcb(*bare.node[:2], "--kubelet", KUBELET, "--kubelet-version", "1.36")
    answer = bare.wmcb("prepare", "--kubernetes-version", "1.36.4", *mirror)
    assert answer.code == 2
    assert rf"file {KUBELET} is wanted otherwise (sha256) than by" in answer.err
    assert bare.read(KUBELET) == program()


def test_another_release_takes_the_place_of_the_first(bare: Machine, mirror: tuple[str, str]) -> None:
    bare.wmcb(*VERSION, *mirror)
    assert bare.wmcb("prepare", "--kubernetes-version", "1.36.4", *mirror).code == 0
    assert bare.read(KUBELET) == program(tail=b"newer")


def test_a_plan_shows_all_of_it_and_changes_nothing(bare: Machine) -> None:
    before = bare.picture()
    plan = bare.wmcb(*VERSION, "--dry-run", *given(bare), "-o", "json").document
    created = [tuple(change["resource"]) for change in plan["changes"]]
    assert len(created) == len(set(created))
    assert {("artifact", "kubelet.exe"), ("firewall_rule", "wmcb kubelet"), ("file", NOTE)} <= set(created)
    assert plan["remarks"] == [f"wmcb.exe and kubeadm.exe are laid out in {PLACE}"]
    assert bare.picture() == before


def test_a_document_alone_is_made_so_on_any_machine(machine: Machine) -> None:
    machine.wmcb(*machine.node)
    assert machine.wmcb("prepare", *given(machine)).code == 0
    assert machine.read(NOTE) == b"one"
    assert machine.host.files.observe(PureWindowsPath(OWN[0])) is None


def test_what_writes_a_services_output_is_brought_before_the_document_needs_it(
    bare: Machine, mirror: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_runner, "bundled_file", {"wmcb-log.exe": b"MZ"}.get)
    text = "services: [{name: a, program: 'C:\\a.exe', output: {path: 'C:\\a.log'}, running: false}]\n"
    document = given(bare, text)
    answer = bare.wmcb(*VERSION, *mirror, *document, "--sandbox-run")
    assert answer.code == 0, answer.err
    assert bare.read(r"C:\k\wmcb-log.exe") == b"MZ"


WRONG = [
    pytest.param((), "--kubernetes-version V or --node-config FILE is needed", 2, id="nothing"),
    pytest.param(
        ("--kubernetes-version", "latest"),
        "--kubernetes-version latest: expected something like v1.36.0",
        2,
        id="no version",
    ),
    pytest.param(
        ("--kubernetes-version", "1.36.9", "--artifacts", "{folder}"),
        "--kubernetes-version v1.36.9: its content cannot be fetched from "
        "https://dl.k8s.io/v1.36.9/bin/windows/amd64/kubelet.exe: ",
        1,
        id="not to be had",
    ),
]


@pytest.mark.parametrize(("words", "told", "code"), WRONG)
def test_what_cannot_be_is_told_in_a_line_and_nothing_changes(
    bare: Machine, words: tuple[str, ...], told: str, code: int
) -> None:
    before = but_state(bare)
    mirror = ("--mirror", f"https://dl.k8s.io/={bare.folder}/nowhere/") if code == 1 else ()
    answer = bare.wmcb("prepare", *(word.format(folder=bare.folder) for word in words), *mirror)
    assert answer.code == code
    assert answer.error_lines[-1].startswith(f"wmcb: {told}")
    assert but_state(bare) == before


@pytest.mark.parametrize(
    "words", [("reset", "--keep-prepared"), ("uninstall-kubelet",), ("kubeadm", "reset", "-f")], ids=" ".join
)
def test_it_may_stay_when_the_node_goes(
    bare: Machine, mirror: tuple[str, str], words: tuple[str, ...]
) -> None:
    bare.wmcb(*VERSION, *mirror, *given(bare, CONTAINERD))
    made = picture(bare)
    assert bare.wmcb(*bare.node[:2], "--kubelet", KUBELET, "--kubelet-version", "1.36").code == 0
    plan = bare.wmcb("reset", "--keep-prepared", "--dry-run", "-o", "json").document
    assert ["service", "kubelet"] in [change["resource"] for change in plan["changes"]]
    assert ["service", "containerd"] not in [change["resource"] for change in plan["changes"]]
    if words[0] == "kubeadm":
        assert main.run(["--sandbox", str(bare.place), *words[1:]], "kubeadm") == 0
    else:
        told = ("the machine is as it was before wmcb made it a node", "kubelet uninstalled successfully")
        assert bare.wmcb(*words).out.startswith(told)
    assert picture(bare) == made
    assert bare.wmcb("status").code == 0
    assert bare.wmcb("reset").out.startswith("the machine is as it was before wmcb\n")


# Images


def test_an_image_keeps_nothing_of_the_machine_that_it_was_made_on(
    bare: Machine, mirror: tuple[str, str]
) -> None:
    assert bare.wmcb(*VERSION, *mirror, *given(bare), "--for-image").code == 0
    name = bare.host.facts.host_name().lower()
    for path, content in files(bare.place / "ProgramData" / "wmcb").items():
        assert name not in content.lower(), path
    assert not (bare.place / "ProgramData" / "wmcb" / "logs").exists()
    assert bare.wmcb("status").code == 0, "each copy goes on from there"
    assert bare.wmcb(*VERSION, *mirror).out.startswith("nothing to do")


def files(folder: pathlib.Path) -> dict[pathlib.Path, str]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    assert found
    return {path: path.read_bytes().decode("latin-1") for path in found}


def test_no_image_is_made_of_a_node(machine: Machine, mirror: tuple[str, str]) -> None:
    machine.wmcb(*machine.node)
    answer = machine.wmcb(*VERSION, *mirror, "--for-image")
    assert answer.code == 3
    assert answer.err.startswith("wmcb: this machine is a node already (")


def test_nor_of_a_machine_that_was_one(bare: Machine, mirror: tuple[str, str]) -> None:
    bare.put(r"C:\etc\kubernetes\kubelet.conf", b"{}")
    answer = bare.wmcb(*VERSION, *mirror, "--for-image")
    assert answer.code == 3
    assert answer.err == (
        "wmcb: C:\\etc\\kubernetes\\kubelet.conf is of a node that this machine was; remove it, or an image"
        " has it\n"
    )


def test_an_image_gets_no_name(bare: Machine, mirror: tuple[str, str]) -> None:
    file = bare.give("node.yaml", f"{HEAD}hostName: win-1\n")
    answer = bare.wmcb(*VERSION, *mirror, "--node-config", file, "--for-image")
    assert answer.code == 2
    assert answer.err == (
        f"wmcb: {file} line 3, column 11 at $.hostName: an image has no name: each of its copies gets one\n"
    )


PASSWORDS = {
    "of a proxy": "proxy: {http: 'http://user:swordfish@proxy.example:3128'}\n",
    "of a server": f"""\
artifacts:
- name: cni
  source: https://user:swordfish@files.example/cni.zip
  sha256: {"a" * 64}
  path: C:\\k\\cni.zip
""",
}


@pytest.mark.parametrize("text", PASSWORDS.values(), ids=PASSWORDS)
def test_an_image_gets_no_password(bare: Machine, mirror: tuple[str, str], text: str) -> None:
    file = bare.give("node.yaml", HEAD + text)
    answer = bare.wmcb(*VERSION, *mirror, "--node-config", file, "--for-image")
    assert answer.code == 2, answer.err
    assert "its password is sealed by a key of this machine" in answer.err
    assert "swordfish" not in answer.err + answer.out
    assert not (bare.place / "ProgramData" / "wmcb").exists()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")  # a thread that is killed
@pytest.mark.parametrize("changes", range(0, 150, 13))
def test_cut_off_anywhere_it_is_finished_by_the_next_run(
    bare: Machine, mirror: tuple[str, str], changes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = (*VERSION, *mirror, *given(bare, CONTAINERD))
    opened = bare.host
    with monkeypatch.context() as patched:
        patched.setattr(prepare, "open_machine", lambda _: powered(opened, Power(changes)))
        with suppress(Killed):
            bare.wmcb(*words)
    answer = bare.wmcb(*words)
    assert answer.code == 0, answer.err
    assert bare.wmcb("status").code == 0
    for name in (KUBELET, *OWN):
        assert bare.host.files.observe(PureWindowsPath(name)) is not None, name
