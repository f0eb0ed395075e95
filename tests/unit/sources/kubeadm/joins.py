"""Joins of a worker, compiled with what a cluster of kubeadm's says."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agent.sources.kubeadm.cluster import Cluster
from agent.sources.kubeadm.compiling import Found, Join, compile_join
from agent.sources.kubeadm.patches import read_patches
from agent.sources.kubeadm.reading import read
from agent.sources.kubelet.folders import ARGUMENTS_FILE, KUBELET_LOG, LogRunner, Placement
from agent.sources.kubelet.node import Kubelet, Node
from agent.spec import File, Inline, Service, Specification

DATA = Path(__file__).parents[3] / "data" / "kubeadm"
OF_KUBEADM = DATA.parent / "kubeadm-join-v1.36"
"""What kubeadm.exe itself writes; its README tells the marks in it."""

SERVER = "https://10.77.0.1:6443"
TOKEN = "abcdef.0123456789abcdef"  # noqa: S105 - of no cluster
CA = b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
HASH = "sha256:" + "0123456789abcdef" * 4
KUBELET_CONFIG = (DATA / "kubelet-config.yaml").read_bytes()
HOST = Node(host_name="WIN1", found_addresses=("10.77.0.1",))
LOG_RUNNER = LogRunner(
    "wmcb-log.exe",
    Inline(b"MZ, too"),
    (f"--log-file={KUBELET_LOG}", f"--arguments-from={ARGUMENTS_FILE}", "--"),
    ARGUMENTS_FILE,
)
PLACEMENT = Placement(Inline(b"MZ, as far as this matters"), LOG_RUNNER)

JOIN = f"""apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken: {{token: {TOKEN}, apiServerEndpoint: 10.77.0.1:6443, caCertHashes: [{HASH}]}}
"""


def joined(
    configuration: str = JOIN,
    *,
    kubelet_config: bytes = KUBELET_CONFIG,
    cluster: Cluster | None = None,
    patches: Mapping[str, bytes] | None = None,
    node: Node = HOST,
    minor: int = 36,
    placement: Placement = PLACEMENT,
) -> Join:
    outcome = read("join.yaml", configuration.encode())
    assert outcome.configuration, [str(entry) for entry in outcome.report.entries]
    found = Found(SERVER, CA, kubelet_config, cluster or Cluster(), {"token": TOKEN})
    return compile_join(
        outcome.configuration, found, read_patches(patches or {}), node, Kubelet(minor), placement
    )


def specification(join: Join) -> Specification:
    assert join.specification, [str(entry) for entry in join.report.entries]
    return join.specification


def files(join: Join) -> dict[str, str]:
    """What is written, by path; programs left out."""
    return {
        str(want.path): b"".join(want.content.blocks()).decode()
        for want in specification(join).wants
        if isinstance(want, File) and want.content is not None and want.path.suffix != ".exe"
    }


def service(join: Join) -> Service:
    return next(want for want in specification(join).wants if isinstance(want, Service))


def notes(join: Join) -> dict[str, str]:
    return {
        note.subject: f"{note.effect.value}: {note.before!r} {note.after!r} {note.reason}"
        for note in specification(join).notes
    }
