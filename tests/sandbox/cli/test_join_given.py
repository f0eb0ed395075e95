"""Files and folders that a join is given, by their paths: where these start, and what names a wrong one."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox.cli.given import Answer, Machine, program
from sandbox.cli.test_join import Cluster, cluster, join, windows
from sandbox.cli.test_under_kubeadm import configuration
from sandbox.cli.test_upgrade import OWN
from unit.kube.api_server import ROOT, TOKEN, kubeconfig_of

__all__ = ["cluster", "windows"]

PATCH = "maxPods: 77\n"
FILE = "kubeletconfiguration+merge.yaml"


@pytest.fixture
def here(windows: Machine, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory."""
    monkeypatch.chdir(windows.folder)
    return windows.folder


def discovery(cluster: Cluster, *, apart: bool = False) -> str:
    data = kubeconfig_of(cluster.server.url, ROOT).partition("authority-data: ")[2].partition("\n")[0]
    text = OWN.format(server=cluster.server.url, authority=data, token=TOKEN)
    return (
        text.replace(f"certificate-authority-data: {data}", "certificate-authority: ca.crt")
        if apart
        else text
    )


def by_file(machine: Machine, file: str) -> Answer:
    return machine.wmcb("join", "--discovery-file", file, "--kubelet-version", "1.36")


def max_pods(machine: Machine) -> bool:
    return "maxPods: 77" in machine.read(r"C:\var\lib\kubelet\config.yaml").decode()


@pytest.mark.parametrize("file", ["given/disc.conf", "./given/disc.conf", "{here}/given/disc.conf"])
@pytest.mark.parametrize("apart", [False, True], ids=["whole", "with a path in it"])
def test_a_discovery_file_of_the_current_directory(
    windows: Machine, cluster: Cluster, here: Path, file: str, apart: bool
) -> None:
    windows.give("given/disc.conf", discovery(cluster, apart=apart))
    windows.give("given/ca.crt", ROOT.pem)
    answer = by_file(windows, file.format(here=here))
    assert answer.code == 0, answer.err


def test_a_discovery_file_of_the_machine(windows: Machine, cluster: Cluster) -> None:
    windows.put(r"C:\given\disc.conf", discovery(cluster, apart=True).encode())
    windows.put(r"C:\given\ca.crt", ROOT.pem)
    answer = by_file(windows, r"C:\given\disc.conf")
    assert answer.code == 0, answer.err


@pytest.mark.parametrize("folder", ["patches", "{here}/patches"])
def test_patches_of_the_current_directory(
    windows: Machine, cluster: Cluster, here: Path, folder: str
) -> None:
    windows.give(f"patches/{FILE}", PATCH)
    assert join(windows, cluster, "--patches", folder.format(here=here)).code == 0
    assert max_pods(windows)


@pytest.mark.parametrize("folder", ["/etc/patches", r"C:\etc\patches", r"\etc\patches"])
def test_patches_of_a_document(windows: Machine, cluster: Cluster, folder: str) -> None:
    windows.put(rf"C:\etc\patches\{FILE}", PATCH.encode())
    file = windows.give("patched.yaml", patched(windows, cluster, folder))
    answer = windows.wmcb("join", "--config", file, "--kubelet-version", "1.36")
    assert answer.code == 0, answer.err
    assert max_pods(windows)


def patched(machine: Machine, cluster: Cluster, folder: str) -> str:
    text = Path(configuration(machine, cluster)).read_text()
    return f"{text}patches: {{directory: '{folder}'}}\n"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--discovery-file", "nowhere.conf"), "--discovery-file nowhere.conf: there is no such file"),
        (
            ("--discovery-file", r"C:\no.conf"),
            r"--discovery-file C:\no.conf: cannot read C:\no.conf: it does not exist (Windows error 2)",
        ),
        (("--discovery-file", "."), "--discovery-file .: it is a folder; name a file"),
        (("--patches", "nowhere"), "--patches nowhere: there is no such folder"),
        (("--patches", r"C:\nowhere"), r"--patches C:\nowhere: there is no such folder"),
        (("--patches", "join.yaml"), "--patches join.yaml: it is no folder"),
    ],
    ids=str,
)
def test_what_is_not_there_is_told_by_its_option(
    windows: Machine, cluster: Cluster, words: tuple[str, ...], says: str
) -> None:
    windows.give("join.yaml", "")
    before = windows.picture()
    answer = by_file(windows, words[1]) if words[0] == "--discovery-file" else join(windows, cluster, *words)
    assert (answer.code, answer.error_lines[-1]) == (2, f"wmcb: {says}")
    assert windows.picture() == before


NO_KUBECONFIGS = {
    "another document": (
        "kind: ConfigMap\n",
        " line 1, column 7: kind: it has to be Config: a kubeconfig is exp",
    ),
    "no document": ("a: [b\n", " line 2, column 1: it is not YAML: a comma is missing before this"),
    "without a cluster": ("current-context: x\n", ": current-context: there is no context of that name"),
}


@pytest.mark.parametrize(("content", "says"), NO_KUBECONFIGS.values(), ids=NO_KUBECONFIGS)
def test_a_discovery_file_that_is_no_kubeconfig(windows: Machine, content: str, says: str) -> None:
    file = windows.give("discovery.conf", content)
    answer = by_file(windows, file)
    assert (answer.code, answer.out) == (2, "")
    assert answer.error_lines[-1].startswith(f"wmcb: --discovery-file {file}{says}")


def test_what_is_not_there_is_told_by_its_place(windows: Machine, cluster: Cluster) -> None:
    file = windows.give("patched.yaml", patched(windows, cluster, "/nowhere"))
    answer = windows.wmcb("join", "--config", file, "--kubelet-version", "1.36")
    assert (answer.code, answer.error_lines[-1]) == (
        2,
        "wmcb: patches.directory C:/nowhere: there is no such folder",
    )


def test_what_is_no_patch_is_not_read(windows: Machine, cluster: Cluster, here: Path) -> None:
    windows.give(f"patches/{FILE}", PATCH)
    (here / "patches/sub").symlink_to(here, target_is_directory=True)
    (here / "patches/gone.txt").symlink_to(here / "nowhere")
    answer = join(windows, cluster, "--patches", "patches")
    assert answer.code == 0, answer.err
    assert "sub: it is left out" in answer.err


def test_a_link_that_is_called_a_patch(windows: Machine, cluster: Cluster, here: Path) -> None:
    windows.give("patches/other.txt", "")
    (here / f"patches/{FILE}").symlink_to(here, target_is_directory=True)
    answer = join(windows, cluster, "--patches", "patches")
    assert (answer.code, answer.error_lines[-1]) == (
        2,
        f"wmcb: --patches patches/{FILE}: it leads to a folder, where a file has to be",
    )


def test_patches_that_are_not_there_cannot_be_ignored(windows: Machine, cluster: Cluster) -> None:
    file = windows.give("patched.yaml", patched(windows, cluster, "/etc/nowhere"))
    text = Path(file).read_text().replace("patches:", "skipPhases: [preflight]\npatches:")
    words = ("--kubeadm-config", windows.give("skipping.yaml", text), "--kubelet-version", "1.36")
    windows.put(r"C:\k\kubelet.exe", program())
    assert windows.wmcb("plan", *words).code == 2
    answer = windows.wmcb("preflight", *words)
    assert answer.code == 3
    assert "patches.directory C:/etc/nowhere: there is no such folder" in answer.out
