"""The steps of packaging/image that need no PowerShell, taken by the real Packer over SSH."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from lab import repository, ssh, steps
from lab.certificates import Authority
from lab.features import INSTALLED as IS_ON
from lab.features import Features
from lab.fixtures import demand_program
from lab.namespace import ADDRESS
from lab.node import Node
from lab.powershell import PowerShell
from lab.services import State
from lab.standin_kubelet import StandinKubelet
from lab.web import Page, Web
from windows.bare_machine import KUBELET
from windows.exe import SHIPPED
from windows.test_fetching import trust
from windows.test_prepare import HUB, publish_profile

PACKAGING = repository.ROOT / "packaging"
IMAGE = PACKAGING / "image"
RELEASES = "https://dl.k8s.io/"
PUBLISHED = "v1.36.3/bin/windows/amd64/kubelet.exe"
GIVEN, TEMPORARY = r"C:\given", r"C:\windows\Temp"
_STEP = re.compile(r'  provisioner "([\w-]+)" {\n(.*?)\n  }\n', re.DOTALL)
_OF_UPDATES = 'restart_timeout = "2h"'


def test_packer_takes_a_machine_through_the_steps(
    node: Node, secure_web: Web, web_authority: Authority, tmp_path: Path
) -> None:
    """With the restart that Windows' feature takes, to the look whether it may be copied."""
    trust(node, web_authority)
    _publish(node, secure_web)
    PowerShell(node).prints("win1 restarted.")  # by which Packer knows that it is up again
    for folder in (GIVEN, TEMPORARY):
        node.path(folder).mkdir(exist_ok=True)
    with ssh.serving(node, tmp_path) as door:
        code, said = _build(tmp_path, door, secure_web)
    assert code == 0, said
    run = re.findall(r"image: (?:this machine is prepared|restart this machine|0 errors, 0 warnings)", said)
    assert [line.removeprefix("image: ") for line in run] == [
        "restart this machine",
        "this machine is prepared",
        "0 errors, 0 warnings",
    ]
    assert Features(node).state("Containers") == IS_ON
    node.wait_for_service("containerd", State.RUNNING)
    brought = {
        *(rf"{TEMPORARY}\{name}" for name in ("seal.ps1", "close.ps1")),
        *(rf"{GIVEN}\cloudbase-init\{name}" for name in ("cloudbase-init.conf", "join.cmd")),
        rf"{GIVEN}\cloudbase-init\cloudbase-init-unattend.conf",
        r"C:\k\wmcb.exe",
        KUBELET,
    }
    assert {path for path in brought if not node.path(path).is_file()} == set()
    assert node.path(r"C:\k\wmcb.exe").read_bytes() == SHIPPED.read_bytes()


def _publish(node: Node, web: Web) -> None:
    publish_profile(node, web)
    content = StandinKubelet(node, rf"{GIVEN}\kubelet.exe", version="1.36.3").content
    node.path(rf"{GIVEN}\kubelet.exe").unlink()
    web.pages[f"/releases/{PUBLISHED}"] = Page(content)
    web.pages[f"/releases/{PUBLISHED}.sha256"] = Page(hashlib.sha256(content).hexdigest().encode())


def _build(folder: Path, door: ssh.Door, web: Web) -> tuple[int, str]:
    template = folder / "packaging" / "image"
    template.mkdir(parents=True)
    for name in ("cloudbase-init", "profiles"):
        (template.parent / name).symlink_to(PACKAGING / name)
    (template / "scripts").symlink_to(IMAGE / "scripts")
    (template / "variables.pkr.hcl").write_text((IMAGE / "variables.pkr.hcl").read_text())
    (template / "image.pkr.hcl").write_text(_steps() + _source(door))
    given = {
        "name": "image",
        "windows": "2022",
        "wmcb": str(SHIPPED),
        "wmcb_sha256": hashlib.sha256(SHIPPED.read_bytes()).hexdigest(),
        "prepare_options": f"--mirror {HUB}={web.url('/hub/')} --mirror {RELEASES}={web.url('/releases/')}",
    }
    words = [f"-var={name}={value}" for name, value in given.items()]
    environment = {**os.environ, "CHECKPOINT_DISABLE": "1", "HOME": str(folder)}
    packer = demand_program("packer")
    done = steps.run([packer, "build", "-color=false", *words, "."], environment=environment, folder=template)
    return done.returncode, done.stdout


def _steps() -> str:
    """The template's own, of another source; without PowerShell, and without the restarts for updates."""
    text = (IMAGE / "image.pkr.hcl").read_text()
    local, _, build = text.partition("build {\n")
    kept = [
        step[0] for step in _STEP.finditer(build) if step[1] != "powershell" and _OF_UPDATES not in step[2]
    ]
    return f'{local}build {{\n  sources = ["source.null.image"]\n{"".join(kept)}}}\n'


def _source(door: ssh.Door) -> str:
    return f"""
source "null" "image" {{
  communicator             = "ssh"
  ssh_host                 = "{ADDRESS}"
  ssh_port                 = {door.port}
  ssh_username             = "Administrator"
  ssh_private_key_file     = "{door.key}"
  ssh_file_transfer_method = "sftp"
}}
"""
