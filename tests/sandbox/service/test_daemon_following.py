"""A ConfigMap followed by the service as a process of its own: installed, changed, told, taken away."""

from __future__ import annotations

import json
import pathlib
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PureWindowsPath
from typing import Any

import pytest

from agent.cli.main import run
from agent.engine.progress import Silent
from agent.engine.run import make_so
from agent.engine.run import status as status_of
from agent.host.errors import HostError
from agent.host.port import Host
from agent.host.protection import PRIVATE_FILE
from agent.host.sandbox import open_sandbox
from agent.host.services import ServiceState
from agent.spec import Directory, File, Inline, Protection, Service, Specification
from lab.minisign import Signer, trusted_comment
from lab.waiting import until
from sandbox.engine.world import picture
from sandbox.service.follower import HEAD
from sandbox.service.live_api import CONFIG_MAPS, LiveApi
from sandbox.service.test_cluster import CONF, api, write_credentials
from service.installation import arguments
from unit.fetch.authority import issue
from unit.kube.api_server import ROOT, status
from unit.kube.test_token_discovery import pinned

__all__ = ["api"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the exe itself is tested on Windows")

LIMIT_SECONDS = 30
OTHER = issue("other", authority=True)
PROGRAM = PureWindowsPath(r"C:\k\kubelet.exe")
SLEEPER = b"#!/bin/sh\nexec sleep 1000\n"
FILE = PureWindowsPath(r"C:\tools\settings.txt")
SETTINGS = HEAD + "files: [{path: 'C:\\tools\\settings.txt', text: %s}]\n"


@pytest.fixture
def host(tmp_path: pathlib.Path, api: LiveApi) -> Iterator[Host]:
    host = open_sandbox(tmp_path, run_services=True)
    write_credentials(host, api.server.url)
    wants = [
        Directory(PROGRAM.parent, Protection.PROGRAM),
        File(PROGRAM, Inline(SLEEPER), Protection.PROGRAM),
        Service("kubelet", PROGRAM, (f"--kubeconfig={CONF}", "--hostname-override=win1")),
    ]
    make_so(host, Specification.of(wants), Silent())
    yield host
    for name in ("wmcb", "kubelet"):
        with suppress(HostError):
            host.services.stop(name)
            host.services.wait(name, ServiceState.STOPPED, LIMIT_SECONDS)


class Wmcb:
    def __init__(self, folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._words = ["--sandbox", str(folder), "--sandbox-run"]
        self._capsys = capsys

    def __call__(self, *words: str, code: int = 0) -> str:
        self._capsys.readouterr()
        assert run([*self._words, *words]) == code
        captured = self._capsys.readouterr()
        return captured.err if code else captured.out

    def status(self, *words: str) -> str:
        """Also while something is under way, which is no status to be content with."""
        self._capsys.readouterr()
        run([*self._words, "status", *words])
        return self._capsys.readouterr().out

    def following(self) -> Any:
        return json.loads(self.status("--output", "json"))["following"]


@pytest.fixture
def wmcb(tmp_path: pathlib.Path, host: Host, capsys: pytest.CaptureFixture[str]) -> Wmcb:
    del host
    return Wmcb(tmp_path, capsys)


def holds(host: Host, content: bytes | None) -> bool:
    try:
        return host.files.read(FILE) == content
    except HostError:
        return content is None


def has_loaded_cryptography(host: Host) -> bool:
    """The resident service: its process has the library in its memory."""
    return "cryptography" in Path(f"/proc/{host.services.status('wmcb').pid}/maps").read_text()


def test_followed_changed_disconnected_and_taken_away(wmcb: Wmcb, host: Host, api: LiveApi) -> None:
    bare = picture(host)
    told = wmcb("daemon", "install", "--config-map", "nodes/windows")
    assert told.endswith("it follows ConfigMap nodes/windows\n")
    installed = host.services.read("wmcb")
    assert installed is not None
    assert installed.definition.command[-4:] == ("daemon", "run", "--config-map", "nodes/windows")
    assert wmcb.following()["state"] == "waiting"
    api.say(SETTINGS % "one")
    host.services.start("wmcb")
    until(lambda: holds(host, b"one"), "it is made so")
    until(lambda: api.annotations().get("wmcb/state") == "applied", "the cluster is told")
    assert wmcb.following()["applied"] == api.annotations()["wmcb/applied"]
    assert "the resident service follows ConfigMap nodes/windows: applied\n" in wmcb.status()
    assert f"remove    file {FILE}" in wmcb("reset", "--dry-run")

    copy = PureWindowsPath(r"C:\ProgramData\wmcb\made") / Inline(b"one").sha256
    until(lambda: host.files.observe(copy) is not None, "it is put by")
    host.files.write(FILE, b"by hand", PRIVATE_FILE)
    until(lambda: holds(host, b"one"), "it is put right")
    api.say(SETTINGS % "[]")
    until(lambda: wmcb.following()["state"] == "refused", "what cannot be used is refused")
    assert "$.files.0.text" in wmcb.following()["error"]
    assert "refused, and nothing was changed" in wmcb("status"), "and so all is as it was made: code 0"
    assert holds(host, b"one")
    api.say(SETTINGS % "two")
    until(lambda: holds(host, b"two"), "the next one is made so")
    until(lambda: "wmcb/error" not in api.annotations(), "the error is gone")

    wmcb("daemon", "install")
    assert list(arguments(host)) == ["--config-map", "nodes/windows"], "as it was"
    assert wmcb("daemon", "install", "--unfollow").endswith(
        "it follows no ConfigMap; of what one had made, 2 resources were taken away\n"
    )
    assert arguments(host) == ()
    assert api.annotations() == {}
    assert host.files.observe(FILE.parent) is None
    assert status_of(host).is_well
    assert wmcb.following() is None
    assert "stays" not in wmcb("daemon", "uninstall")
    own = (PureWindowsPath(r"C:\ProgramData\wmcb"),)
    now = picture(host, but=own)
    assert now == {name: what for name, what in bare.items() if name in now}
    assert [name for name in bare if name not in now and "ProgramData" not in name] == []


def test_what_need_not_be_signed_is_followed_without_cryptography(
    wmcb: Wmcb, host: Host, api: LiveApi
) -> None:
    """It keeps 11 MB: of the resident service, for as long as that runs."""
    api.say(SETTINGS % "one")
    wmcb("daemon", "install", "--config-map", "nodes/windows", "--start")
    until(lambda: len(api.events) == 1, "it is made so, and told")
    api.say(SETTINGS % "two")
    until(lambda: holds(host, b"two"), "the next one is made so")
    assert api.annotations()["wmcb/state"] == "applied"
    assert not has_loaded_cryptography(host)


def test_what_an_uninstalled_service_leaves_is_told_and_taken_away_later(
    wmcb: Wmcb, host: Host, api: LiveApi, tmp_path: pathlib.Path
) -> None:
    api.say(SETTINGS % "one")
    wmcb("daemon", "install", "--config-map", "nodes/windows", "--start")
    until(lambda: api.annotations().get("wmcb/state") == "applied", "the cluster is told")
    assert wmcb("daemon", "uninstall") == (
        "the service wmcb and its program are gone\n"
        "what ConfigMap nodes/windows made stays, and so do its Node's annotations wmcb/...; "
        f"wmcb --sandbox {tmp_path} --sandbox-run daemon install --unfollow takes both away\n"
    )
    assert holds(host, b"one")
    wmcb("daemon", "install", "--unfollow")
    assert (api.annotations(), host.files.observe(FILE)) == ({}, None)
    assert "stays" not in wmcb("daemon", "uninstall")


def test_status_says_what_allows_a_node_to_read_it(wmcb: Wmcb, host: Host, api: LiveApi) -> None:
    api.server.at(CONFIG_MAPS, status(403, "Forbidden", "configmaps is forbidden"))
    wmcb("daemon", "install", "--config-map", "nodes/windows")
    host.services.start("wmcb")
    until(lambda: wmcb.following()["unheard"], "it is told")
    (line,) = [line for line in wmcb.status().splitlines() if "follows" in line]
    assert "follows ConfigMap nodes/windows: nothing of it has been seen yet; nothing is heard" in line
    assert line.endswith("; packaging/manifests/following, with its namespace and name in it, allows it")


def test_a_signed_one_by_a_key_that_is_given_as_a_file(
    wmcb: Wmcb, host: Host, api: LiveApi, tmp_path_factory: pytest.TempPathFactory
) -> None:
    signer = Signer()
    key = tmp_path_factory.mktemp("key") / "minisign.pub"
    key.write_text(f"untrusted comment: minisign public key 1\n{signer.public_key}\n")
    wmcb("daemon", "install", "--config-map", "nodes/windows", "--public-key", str(key))
    assert list(arguments(host)) == ["--config-map", "nodes/windows", "--public-key", signer.public_key]
    api.say(SETTINGS % "one")
    host.services.start("wmcb")
    until(lambda: wmcb.following()["state"] == "refused", "it is not signed")
    text = SETTINGS % "two"

    def say(*pins: str) -> None:
        now = time.time()
        trusted = trusted_comment("nodes/windows", *pins, signed=now, expires=now + 3600)
        data = {"node.yaml": text, "node.yaml.minisig": signer.signature(text, trusted)}
        api.config_maps.put("windows", data=data)

    say(pinned(OTHER))
    until(lambda: "signed for another cluster" in wmcb.following()["error"], "it is another cluster's")
    assert f"cluster={pinned(ROOT)} signed=" in wmcb.following()["error"]
    say(pinned(OTHER), pinned(ROOT))
    until(lambda: holds(host, b"two"), "it is made so")
    assert wmcb.following()["is_signed"]
    assert has_loaded_cryptography(host)


REFUSED = {
    "no namespace": (["--config-map", "windows"], "--config-map windows: expected its namespace and name"),
    "no name": (["--config-map", "A/B"], "--config-map A/B: expected its namespace and name"),
    "a key alone": (["--public-key", "RWQ="], "--public-key goes with --config-map"),
    "no key": (
        ["--config-map", "a/b", "--public-key", __file__],
        f"--public-key {__file__}: it is no public key of minisign's",
    ),
    "neither a key nor a file": (
        ["--config-map", "a/b", "--public-key", "abc"],
        "--public-key abc: there is no such file, and it is no public key of minisign's itself",
    ),
    "both": (["--config-map", "a/b", "--unfollow"], "--unfollow does not go with --config-map"),
}


@pytest.mark.parametrize(("words", "line"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_followed_is_one_line(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str], words: list[str], line: str
) -> None:
    text = Wmcb(tmp_path, capsys)("daemon", "install", *words, code=2)
    assert line in text
    assert len(text.splitlines()) == 1
