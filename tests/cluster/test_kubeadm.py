"""What kubeadm.exe writes, kept as data that the product is compared with."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from lab import kubernetes, repository
from lab.cluster.cluster import Cluster
from lab.cluster.kubelet_node import KubeletNode

_MINOR = kubernetes.RELEASE.rpartition(".")[0]
DATA = repository.ROOT / "tests" / "data" / f"kubeadm-join-v{_MINOR}"
CASES = ("joined", "usual", "arguments")

FOLDERS = ("etc/kubernetes", "var/lib/kubelet")
# The kubelet's own, new each time.
LEFT_OUT = "var/lib/kubelet/pki"


def marks(cluster: Cluster, token: str) -> dict[str, str]:
    certificate = cluster.ca_certificate
    return {
        "@TOKEN@": token,
        "@CA_HASH@": cluster.ca_hash,
        "@CA_DATA@": base64.b64encode(certificate.encode()).decode(),
        "@CA_CERTIFICATE@\n": certificate,
    }


def files(drive: Path) -> dict[str, Path]:
    found = [path for folder in FOLDERS for path in (drive / folder).rglob("*") if path.is_file()]
    names = {path.relative_to(drive).as_posix(): path for path in found}
    return {name: path for name, path in names.items() if not name.startswith(LEFT_OUT)}


@pytest.mark.parametrize("case", CASES)
def test_what_kubeadm_writes(bare_node: KubeletNode, case: str, request: pytest.FixtureRequest) -> None:
    kept = DATA / case
    values = marks(bare_node.cluster, bare_node.cluster.fresh_bootstrap_token())
    configuration = (kept / "join.yaml").read_text()
    for mark, value in values.items():
        configuration = configuration.replace(mark, value)
    if case == "joined":
        done = bare_node.join(configuration)
    else:
        bare_node.machine.delete_service("kubelet")
        done = bare_node.join(configuration, "kubelet-start")
    assert done.code == 0, done.err

    written = {}
    for name, path in files(bare_node.machine.c).items():
        written[name] = path.read_bytes().decode()
        for mark, value in values.items():
            written[name] = written[name].replace(value, mark)
    if request.config.getoption("--keep-kubeadm-files"):
        keep(kept, written)
    assert written == {name: path.read_bytes().decode() for name, path in files(kept).items()}


def keep(place: Path, written: dict[str, str]) -> None:
    for path in files(place).values():
        path.unlink()
    for name, text in written.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(text.encode())
