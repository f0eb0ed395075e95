"""Cluster API's own packages, asked to render: what we keep of them, and whatever else they may render."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.sources import cloudconfig, ignition
from agent.sources.cloudconfig import Command, WrittenFile
from differential.cluster_api import orders, render, rendered_file
from lab.repository import ROOT

_LETTERS = "aZ09 \"'`\\/%&|<>^()!@#$:;,.{}[]~*?=+-_\té☃\N{GRINNING FACE}"
_HARD = (
    "- x",
    "key: value",
    "# remark",
    "yes",
    "0644",
    "''",
    '"',
    "\\",
    "%PATH%",
    "@echo off",
    "---",
    "|",
    "é",
)
_JOIN = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"


def test_what_we_keep_is_what_the_package_renders() -> None:
    known = orders()
    for (name, order), data in zip(known.items(), render(known.values()), strict=True):
        assert rendered_file(name, order).read_bytes() == data, (
            f"{name}: run `PYTHONPATH=tests python -m differential.cluster_api`"
        )


def _command(chance: random.Random) -> str:
    if chance.random() < 0.2:
        return chance.choice(_HARD)
    text = "".join(chance.choices(_LETTERS, k=chance.randint(1, 40)))
    # Two of them would be for the template engine.
    return text.replace("{", "{ ")


def _order(chance: random.Random) -> dict[str, Any]:
    names = [f"/opt/file {number}" for number in range(chance.randint(0, 3))]
    return {
        "format": "cloud-config",
        "machine": "worker",
        "joinConfiguration": _JOIN,
        "input": {
            "BootCommands": [_command(chance) for _ in range(chance.randint(0, 2))],
            "PreKubeadmCommands": [_command(chance) for _ in range(chance.randint(0, 4))],
            "PostKubeadmCommands": [_command(chance) for _ in range(chance.randint(0, 4))],
            "KubeadmVerbosity": chance.choice(("", "--v 0", "--v 10")),
            "AdditionalFiles": [
                {
                    "path": name,
                    "content": "".join(f"x{_command(chance)}\n" for _ in range(chance.randint(1, 3))),
                    "permissions": chance.choice(("", "0600", "0644")),
                }
                for name in names
            ],
        },
    }


def _script(made: tuple[cloudconfig.Step, ...], name: str) -> bytes:
    found = [step.script for step in made if isinstance(step, Command) and step.name == name]
    return b"".join(found).removeprefix(b"@chcp 65001 > nul\r\n")


def _batch(commands: list[str]) -> bytes:
    if not any(command.strip() for command in commands):
        return b""
    return "".join(f"{command}\r\n" for command in commands).encode()


@pytest.mark.parametrize("seed", range(4))
def test_what_goes_in_comes_out(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    wanted = [_order(chance) for _ in range(100)]
    for order, raw in zip(wanted, render(wanted), strict=True):
        outcome = cloudconfig.load("user data", raw, {})
        made, given = outcome.user_data, order["input"]
        assert made, (order, outcome.report)
        assert _script(made.before, "bootcmd") == _batch(given["BootCommands"])
        assert _script(made.before, "runcmd, before the join") == _batch(given["PreKubeadmCommands"])
        assert _script(made.after, "runcmd, after the join") == _batch(given["PostKubeadmCommands"])
        files = {
            step.path.name: b"".join(step.content.blocks())
            for step in made.before
            if isinstance(step, WrittenFile)
        }
        for file in given["AdditionalFiles"]:
            # A block of YAML keeps one line end at its end.
            assert files[file["path"].rpartition("/")[2]] == file["content"].rstrip("\n").encode() + b"\n"
        assert files["kubeadm-join-config.yaml"] == b"---\n" + _JOIN.encode()


@pytest.mark.parametrize("seed", range(2))
def test_the_same_in_ignition(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - not for secrets
    wanted = [_order(chance) | {"format": "ignition"} for _ in range(30)]
    for order in wanted:
        order["input"] |= {"AdditionalFiles": [], "BootCommands": []}
    for order, raw in zip(wanted, render(wanted), strict=True):
        document = ignition.load("user data", raw)
        outcome = cloudconfig.from_ignition(document)
        made, given = outcome.user_data, order["input"]
        assert made, (order, outcome.report)
        pre, post = given["PreKubeadmCommands"], given["PostKubeadmCommands"]
        assert _script(made.before, "commands before kubeadm").split() == _batch(pre).split()
        assert _script(made.after, "commands after kubeadm").split() == _batch(post).split()


_TEMPLATES = sorted((ROOT / "packaging" / "cluster-api").glob("*.yaml"))
_DISCOVERY = {
    "bootstrapToken": {
        "apiServerEndpoint": "10.77.0.1:6443",
        "caCertHashes": [f"sha256:{'0123456789abcdef' * 4}"],
        "token": "abcdef.0123456789abcdef",
    }
}
"""What the provider adds to a template."""


@pytest.mark.parametrize("path", _TEMPLATES, ids=lambda path: path.stem)
def test_a_template_of_ours_makes_user_data_that_can_be_carried_out(path: Path) -> None:
    template = next(iter(yaml.safe_load_all(path.read_text("utf-8"))))
    spec = template["spec"]["template"]["spec"]
    commands = {"PreKubeadmCommands": "preKubeadmCommands", "PostKubeadmCommands": "postKubeadmCommands"}
    assert spec.keys() == {"joinConfiguration", *commands.values()}, "what is not asked for here"
    header = {"apiVersion": "kubeadm.k8s.io/v1beta4", "kind": "JoinConfiguration"}
    join = {**header, "discovery": _DISCOVERY, **spec["joinConfiguration"]}
    order = {
        "format": "cloud-config",
        "machine": "worker",
        "joinConfiguration": yaml.safe_dump(join),
        "input": {name: spec[field] for name, field in commands.items()},
    }
    [raw] = render([order])
    metadata = {"local_hostname": "win-1", "ds": {"meta_data": {"local_hostname": "win-1"}}}
    outcome = cloudconfig.load("user data", raw, metadata)
    made = outcome.user_data
    assert made, outcome.report
    assert made.join
    assert _script(made.before, "runcmd, before the join") == _batch(spec["preKubeadmCommands"])
    assert _script(made.after, "runcmd, after the join") == _batch(spec["postKubeadmCommands"])
    [written] = [
        b"".join(step.content.blocks())
        for step in made.before
        if isinstance(step, WrittenFile) and step.path.name == "kubeadm-join-config.yaml"
    ]
    registration = spec["joinConfiguration"]["nodeRegistration"] | {"name": "win-1"}
    assert yaml.safe_load(written)["nodeRegistration"] == registration


def _retried(version: str) -> dict[str, Any]:
    return {
        "format": "cloud-config-1.8",
        "joinConfiguration": _JOIN,
        "input": {
            "UseExperimentalRetry": True,
            "KubernetesVersion": version,
            "KubeadmVerbosity": "--v 5",
            "PreKubeadmCommands": ["pre"],
            "PostKubeadmCommands": ["post"],
            "AdditionalFiles": [{"path": "/opt/a", "content": "a"}],
        },
    }


@pytest.mark.parametrize("version", ["1.30.0", "1.31.0"])
def test_a_join_that_release_1_8_tries_again(version: str) -> None:
    """By one of two scripts, which we do not keep."""
    [raw] = render([_retried(version)])
    assert b"retry-command kubeadm join phase kubelet-start" in raw
    made = cloudconfig.load("user data", raw, {}).user_data
    assert made
    assert made.join
    assert made.join.arguments == ("--config", "/run/kubeadm/kubeadm-join-config.yaml", "--v", "5")
    files = [step.path.name for step in made.before if isinstance(step, WrittenFile)]
    assert files == ["a", "kubeadm-join-config.yaml", "placeholder"]
    assert _script(made.before, "runcmd, before the join") == b"pre\r\n"
    assert _script(made.after, "runcmd, after the join") == b"post\r\n"


def test_release_1_8_renders_a_worker_as_today() -> None:
    order = {"joinConfiguration": _JOIN, "input": {"KubeadmVerbosity": "--v 5"}}
    old, new = (
        order | {"format": name, "machine": "worker"} for name in ("cloud-config-1.8", "cloud-config")
    )
    assert len(set(render([old, new]))) == 1
