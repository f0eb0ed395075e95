"""packaging/manifests/installing on a node: its containers' commands, as containerd's shim starts them."""

from __future__ import annotations

from typing import Any

import yaml

from agent.release import RELEASE
from lab import repository
from lab.node import Node
from lab.running import Result
from lab.services import State
from windows.exe import HOME, INSTALLED, SERVICE, SHIPPED, installed, of_release

FOLDER = repository.ROOT / "packaging" / "manifests" / "installing"
MOUNTED = r"C:\hpc"
"""Where a volume of the image's files appears."""
VARIABLE = "CONTAINER_SANDBOX_MOUNT_POINT"
_, DAEMON_SET = yaml.safe_load_all((FOLDER / "daemon-set.yaml").read_text())
POD = DAEMON_SET["spec"]["template"]["spec"]


def run(node: Node, command: list[str]) -> Result:
    program, *arguments = [word.replace(f"%{VARIABLE}%", MOUNTED) for word in command]
    return node.run(program, *arguments, environment={VARIABLE: MOUNTED})


def install(node: Node, image: bytes) -> None:
    """A new pod, of an image with this program."""
    file = node.path(rf"{MOUNTED}\wmcb.exe")
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(image)
    (container,) = POD["initContainers"]
    done = run(node, [*container["command"], *container["args"]])
    assert done.code == 0, done.err


def is_ready(node: Node) -> bool:
    (container,) = POD["containers"]
    return run(node, container["readinessProbe"]["exec"]["command"]).code == 0


def pid(node: Node) -> int | None:
    service = node.service(SERVICE)
    assert service is not None
    assert service.state is State.RUNNING
    return service.pid


def runs(node: Node, release: str) -> bool:
    """Whether the service, and nothing else of ours, runs from this release's folder, the only one there."""
    program = installed(release)
    assert release in node.run(program, "version").out.splitlines()[0]
    assert [path.name for path in node.path(HOME).iterdir()] == [release]
    return {process.command[0] for process in node.processes("wmcb.exe")} == {program}


def test_a_pod_installs_another_one_changes_nothing_and_one_of_another_release_upgrades(node: Node) -> None:
    shipped = SHIPPED.read_bytes()
    install(node, shipped)
    first = pid(node)
    settings = node.service_settings(SERVICE)
    assert settings is not None
    assert settings.data("ImagePath") == rf'"{INSTALLED}" daemon run --metrics-port 9182'
    install(node, shipped)
    assert pid(node) == first, "it was not restarted"
    assert runs(node, RELEASE)

    install(node, of_release("9.9.9"))
    assert pid(node) != first
    assert runs(node, "9.9.9")

    install(node, shipped)
    assert runs(node, RELEASE), "and back"


def test_it_is_ready_while_the_service_runs(node: Node) -> None:
    assert not is_ready(node)
    install(node, SHIPPED.read_bytes())
    assert is_ready(node)
    node.stop_service(SERVICE)
    node.wait_for_service(SERVICE, State.STOPPED)
    assert not is_ready(node)


def test_the_tag_is_this_release() -> None:
    kustomization: dict[str, Any] = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
    assert [image["newTag"] for image in kustomization["images"]] == [RELEASE]
