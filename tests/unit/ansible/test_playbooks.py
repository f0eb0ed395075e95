"""What the playbooks refuse before they reach for a machine: arguments that cannot be meant."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PLAYBOOKS = Path(__file__).parents[3] / "packaging" / "ansible"
GOOD: dict[str, Any] = {"wmcb_exe": {"file": "wmcb.exe"}, "wmcb_kubelet": {"file": "kubelet.exe"}}
IGNITION = {"wmcb_ignition": {"file": "worker.ign"}}

REFUSED: dict[str, tuple[str, dict[str, Any], str]] = {
    "nothing": ("scaleup.yml", {}, "missing required arguments: wmcb_exe, wmcb_ignition, wmcb_kubelet"),
    "a url without its checksum": (
        "prepare-join.yml",
        {**GOOD, "wmcb_kubelet": {"url": "https://example.com/kubelet.exe"}},
        "missing parameter(s) required by 'url': sha256",
    ),
    "an Ignition from two places": (
        "scaleup.yml",
        {
            **GOOD,
            "wmcb_ignition": {"file": "worker.ign", "machine_config_server": {"url": "", "authority": ""}},
        },
        "parameters are mutually exclusive",
    ),
    "a secret without its key": (
        "scaleup.yml",
        {**GOOD, "wmcb_ignition": {"secret": {"namespace": "a", "name": "b"}}},
        "missing required arguments: key found in wmcb_ignition -> secret",
    ),
    "an exe of a file and of the cluster": (
        "reset.yml",
        {"wmcb_exe": {"file": "wmcb.exe", "config_map": {"namespace": "a", "name": "b"}}},
        "parameters are mutually exclusive: file|url|config_map",
    ),
    "no exe": ("reset.yml", {"wmcb_drain": "perhaps"}, "missing required arguments: wmcb_exe"),
    "a machine that is not reached as Windows is": (
        "scaleup.yml",
        {**GOOD, **IGNITION, "wmcb_exe": {"file": __file__}},
        "set ansible_shell_type to cmd",
    ),
    "another file than was meant": (
        "takeover.yml",
        {**GOOD, "ansible_shell_type": "cmd", "wmcb_exe": {"file": __file__, "sha256": "00"}},
        "not 00",
    ),
}


@pytest.mark.parametrize(("playbook", "variables", "told"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(playbook: str, variables: dict[str, Any], told: str, tmp_path: Path) -> None:
    assert told in failed(playbook, variables, tmp_path)


def test_what_is_secret_in_a_url_is_not_said_where_it_cannot_be_fetched(tmp_path: Path) -> None:
    secret = {"url": "http://me:hunter2@127.0.0.1:9/wmcb.exe?signature=hunter2", "sha256": "00" * 32}
    variables = {**GOOD, "wmcb_exe": secret, "wmcb_cache": str(tmp_path)}
    said = failed("reset.yml", variables, tmp_path)
    assert "TASK [wmcb.windows.wmcb : Fetch what is given by URL]" in said
    assert "hunter2" not in said


def failed(playbook: str, variables: dict[str, Any], folder: Path) -> str:
    """What is said of one that fails, with all details."""
    inventory = folder / "inventory.yml"
    hosts = {"win1": {"ansible_connection": "local", **variables}}
    inventory.write_text(json.dumps({"windows": {"hosts": hosts}}))
    program = Path(sys.executable).parent / "ansible-playbook"
    done = subprocess.run(
        [str(program), "-vvv", "-i", str(inventory), playbook],
        cwd=PLAYBOOKS,
        env={**os.environ, "ANSIBLE_HOME": str(folder / "home")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2, done.stdout
    return done.stdout + done.stderr
