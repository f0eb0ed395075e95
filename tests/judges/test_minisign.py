"""What minisign itself signs, by the commands that people are shown: whether a node counts it."""

from __future__ import annotations

import base64
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from agent.kube.answers import Object
from agent.sources.node_configuration.reading import DATA_KEY
from agent.sources.signatures import SUFFIX
from documentation import blocks
from lab.fixtures import demand_installed
from service.arguments import Followed
from service.desired import Desired, check_time, desired
from service.errors import Refused
from service.standing import Standing
from unit.fetch.authority import issue
from unit.kube.api_server import ROOT
from unit.kube.test_token_discovery import pinned

PAGE = "packaging/manifests/README.md"
SHOWN = ("kubectl config view", "openssl x509", "minisign -Sm")
"""How the commands begin that sign."""
PLACE = ("kube-system", "windows-nodes")
DOCUMENT = "apiVersion: wmcb.internal/v1beta1\nkind: NodeConfiguration\n"
OWN = frozenset({pinned(ROOT)})
KUBECTL = "#!/bin/sh\necho {authority}\n"
DAYS = 86_400


class Administrator:
    """With a key pair, and a kubectl that knows the cluster's authority."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        programs = folder / "bin"
        programs.mkdir()
        kubectl = programs / "kubectl"
        kubectl.write_text(KUBECTL.format(authority=base64.b64encode(ROOT.pem).decode()))
        kubectl.chmod(0o755)
        (folder / DATA_KEY).write_text(DOCUMENT)
        self.does("minisign -GW")  # without a password, which it would ask for at a terminal

    def does(self, *lines: str) -> None:
        environment = {
            **os.environ,
            "HOME": str(self._folder),
            "PATH": f"{self._folder}/bin:{os.environ['PATH']}",
        }
        subprocess.run(
            ["bash", "-ec", "\n".join(lines)],
            cwd=self._folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
        )

    def config_map(self) -> Object:
        names = (DATA_KEY, f"{DATA_KEY}{SUFFIX}")
        return {"metadata": {}, "data": {name: (self._folder / name).read_text() for name in names}}

    def followed(self, name: str = PLACE[1]) -> Followed:
        return Followed(PLACE[0], name, (self._folder / "minisign.pub").read_text())


@pytest.fixture
def administrator(tmp_path: Path) -> Administrator:
    demand_installed("minisign")
    return Administrator(tmp_path)


def shown() -> list[str]:
    commands = blocks.steps(blocks.of_page(PAGE), blocks.Place.CLUSTER)
    texts = [each.text for each in commands if isinstance(each, blocks.Command)]
    return [text for text in texts if text.startswith(SHOWN)]


def seen(
    administrator: Administrator, *, name: str = PLACE[1], pins: frozenset[str] = OWN, days: float = 0
) -> Desired:
    """By a node that knows its cluster by these pins, so many days later. Raises Refused."""
    followed = administrator.followed(name)
    found = desired(followed, administrator.config_map(), "win1", {}, pins)
    check_time(followed, found, Standing(), time.time() + days * DAYS)
    return found


def test_the_documented_commands_sign_what_counts(administrator: Administrator) -> None:
    assert len(shown()) == len(SHOWN)
    administrator.does(*shown())
    found = seen(administrator)
    assert found.binding is not None
    assert (found.binding.place, found.binding.clusters) == ("/".join(PLACE), OWN)
    assert seen(administrator, days=89).binding == found.binding


ELSEWHERE = {
    "another ConfigMap": ({"name": "others"}, "it is signed for ConfigMap 'kube-system/windows-nodes'"),
    "another cluster": (
        {"pins": frozenset({pinned(issue("other", authority=True))})},
        f"it is signed for another cluster, {pinned(ROOT)}",
    ),
    "after its time": ({"days": 91}, "its signature expired at"),
    "before its time": ({"days": -1}, "one of the two clocks is wrong"),
}


@pytest.mark.parametrize(("circumstances", "says"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_they_sign_counts_nowhere_else(
    administrator: Administrator, circumstances: dict[str, object], says: str
) -> None:
    administrator.does(*shown())
    with pytest.raises(Refused, match=says):
        seen(administrator, **circumstances)  # type: ignore[arg-type] # each is one of its parameters


def test_a_refusal_names_the_command_that_signs_it(administrator: Administrator) -> None:
    administrator.does("minisign -Sm node.yaml")
    with pytest.raises(Refused, match="its trusted comment does not say for which ConfigMap") as refused:
        seen(administrator)
    command = str(refused.value).partition("; sign it by: ")[2]
    for field, offset in (("signed", "now"), ("expires", "+1 hour")):
        moment = f"$(date -u -d '{offset}' +%Y-%m-%dT%H:%M:%SZ)"
        command = re.sub(rf"{field}=[-YMDTHSZ:]+", f"{field}={moment}", command)
    administrator.does(command)
    assert seen(administrator).binding is not None
