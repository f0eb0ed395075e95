"""The kubelet as released judges the arguments and files that the documents of Linux workers become."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

from agent.spec import File, Service
from lab import kubernetes
from lab.cluster.kubelet_node import KubeletNode
from unit.sources.kubelet import worked_examples as units
from unit.sources.worker import worked_examples as documents

_VERSION = f"v{kubernetes.RELEASE}"
_FOLDERS = (r"C:\etc", r"C:\var")
_PLUG_IN = r"C:\k\ecr-credential-provider.exe"
_BOOTSTRAP = "--bootstrap-kubeconfig="
_KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: lab
clusters: [{{name: lab, cluster: {{server: "https://{address}", certificate-authority: '{authority}'}}}}]
users: [{{name: lab, user: {{token: {token}}}}}]
contexts: [{{name: lab, context: {{cluster: lab, user: lab}}}}]
"""
_AUTHORITY = r"C:\etc\kubernetes\the-labs-own.crt"

Example = tuple[str, list[str], dict[str, bytes]]
"""Its name, the kubelet's arguments, and the files that it is given."""


def _examples(endpoint: str) -> Iterator[Example]:
    yield from _of_documents(endpoint)
    for name in units.names():
        made = units.translate(name, _VERSION, endpoint)
        carried = {"C:" + path.replace("/", "\\"): data for path, data in units.carried(name).items()}
        yield name, list(made.arguments), {**carried, **made.files}


def _of_documents(endpoint: str) -> Iterator[Example]:
    for name in documents.names():
        specification = documents.compiled(name, _VERSION, endpoint).specification
        assert specification
        (service,) = (want for want in specification.wants if isinstance(want, Service))
        program = next(at for at, word in enumerate(service.arguments) if word.endswith("kubelet.exe"))
        files = {
            str(want.path): b"".join(want.content.blocks())
            for want in specification.wants
            if isinstance(want, File) and want.content and want.path.suffix != ".exe"
        }
        yield name, list(service.arguments[program + 1 :]), files


def test_the_kubelet_takes_what_workers_documents_become(bare_node: KubeletNode) -> None:
    """It ends where Wine's first gap is; by then it has judged all of it and got its certificate."""
    bare_node.machine.delete_service("kubelet")
    judged = {
        name: _judged(bare_node, arguments, files)
        for name, arguments, files in _examples(bare_node.runtime.endpoint)
    }
    assert "\n".join(f"{name}: {said}" for name, said in judged.items() if said is not None) == ""
    assert len(judged) >= 15


def test_it_would_say_so_if_it_did_not(bare_node: KubeletNode) -> None:
    bare_node.machine.delete_service("kubelet")
    _, arguments, files = next(_examples(bare_node.runtime.endpoint))
    for wrong, said in (
        ("--cgroup-drivers=systemd", "unknown flag"),
        ("--feature-gates=NoSuchGate=true", "NoSuchGate"),
    ):
        assert said in (_judged(bare_node, [*arguments, wrong], files) or "")
    damaged = {path: data.replace(b'"maxPods"', b'"maxPodz"') for path, data in files.items()}
    assert "strict decoding" in (_judged(bare_node, arguments, damaged) or "")


def _here(word: str) -> str:
    """An argument as far as the machine has what it names: the service manager and the address are others."""
    if word == "--windows-service":
        return "--windows-service=false"
    return "--address=0.0.0.0" if word.startswith("--address=") else word


def _judged(node: KubeletNode, arguments: list[str], files: dict[str, bytes]) -> str | None:
    """None if it took all; otherwise the end of what it said."""
    for folder in _FOLDERS:
        shutil.rmtree(node.machine.path(folder), ignore_errors=True)
    bootstrap = next(word for word in arguments if word.startswith(_BOOTSTRAP)).removeprefix(_BOOTSTRAP)
    token = node.cluster.fresh_bootstrap_token()
    kubeconfig = _KUBECONFIG.format(address=node.cluster.address, authority=_AUTHORITY, token=token)
    own = {bootstrap: kubeconfig.encode(), _AUTHORITY: b"", _PLUG_IN: b"MZ"}
    for path, data in {**files, **own}.items():
        file = node.machine.path(path)
        file.parent.mkdir(parents=True, exist_ok=True)
        # What the documents carry in place of authorities are no certificates.
        file.write_bytes(node.cluster.ca_certificate.encode() if path.endswith(".crt") else data)
    ended = node.try_released_kubelet(subprocess.list2cmdline(_here(word) for word in arguments))
    # An unknown field of the configuration is only worth a line in its log to the kubelet.
    taken = ended.code == 1 and "Failed to start ContainerManager" in ended.err
    if taken and "strict decoding" not in ended.err:
        return None
    return "\n".join(
        line for line in ended.err.splitlines() if line.startswith("E") or "strict decoding" in line
    )
