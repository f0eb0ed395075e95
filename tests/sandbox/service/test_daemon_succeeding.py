"""The service as a process, and another release in its place by the ConfigMap; back where it is not well."""

from __future__ import annotations

import hashlib
import pathlib
import shlex
import sys
from pathlib import PureWindowsPath

import pytest

from agent.host.errors import HostError
from agent.host.port import Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE
from agent.host.services import ServiceState
from agent.release import RELEASE
from lab.waiting import until
from sandbox.service import another_release
from sandbox.service.follower import HEAD
from sandbox.service.live_api import LiveApi
from sandbox.service.test_cluster import api
from sandbox.service.test_daemon_following import Wmcb, holds, host, wmcb
from service import succession
from service.program_folder import hand_over_folder

__all__ = ["api", "host", "wmcb"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the exe itself is tested on Windows")

SECONDS = 60.0
GIVEN = PureWindowsPath(r"C:\given\wmcb.exe")
PROGRAM = PureWindowsPath(rf"C:\Program Files\wmcb\{RELEASE}\wmcb.exe")
SELF = "self: {source: '%s', sha256: %s, withinSeconds: %d}\n"
FILE = "files: [{path: 'C:\\tools\\settings.txt', text: %s}]\n"
FAULTS = {
    another_release.ENDS: "was not well: cannot bring service wmcb to RUNNING: the service stopped",
    another_release.STAYS_DEAF: "was not well: it did not come to follow the ConfigMap within 5 seconds",
    another_release.IS_NOT_INSTALLED: "was not well: its installation ended with 5, and said: no room",
    another_release.INSTALLS_NOTHING: "was not well: it did not come to follow",
    another_release.SAYS_NOTHING: "does not say what it is",
}


class Fleet:
    """Of one node, whose service follows the ConfigMap."""

    def __init__(self, folder: pathlib.Path, host: Host, api: LiveApi, wmcb: Wmcb) -> None:
        self._folder = folder
        self.host = host
        self.api = api
        self.wmcb = wmcb
        wmcb("daemon", "install", "--config-map", "nodes/windows")
        self.api.say(HEAD + FILE % "one")
        host.services.start("wmcb")
        until(lambda: self.told("state") == "applied", "the ConfigMap is followed", SECONDS, self.log)
        self.program = host.files.read(PROGRAM)

    def release(self, release: str, fault: str = another_release.NONE) -> str:
        """Lies ready; its sha256."""
        line = [sys.executable, another_release.__file__, release, fault]
        line += ["--sandbox", str(self._folder), "--sandbox-run"]
        content = f'#!/bin/sh\nexec {shlex.join(line)} "$@"\n'.encode()
        if self.host.files.observe(GIVEN.parent) is None:
            self.host.files.make_directory(GIVEN.parent, PRIVATE_DIRECTORY)
        self.host.files.write(GIVEN, content, PRIVATE_FILE)
        return hashlib.sha256(content).hexdigest()

    def wants(self, sha256: str, more: str = "", within: int = 30) -> None:
        self.api.say(HEAD + SELF % (GIVEN, sha256, within) + FILE % "one" + more)

    def told(self, name: str) -> str | None:
        found: str | None = self.api.annotations().get(f"wmcb/{name}")
        return found

    def comes(self, state: str, release: str) -> None:
        until(
            lambda: (self.told("state"), self.told("release")) == (state, release) and not self.is_under_way,
            f"it is {state}, by {release}",
            SECONDS,
            self.log,
        )

    @property
    def is_under_way(self) -> bool:
        return self.host.services.read(succession.SERVICE) is not None

    def log(self) -> str:
        path = PureWindowsPath(r"C:\ProgramData\wmcb\logs\wmcb.log")
        return self.host.files.read(path).decode() + str(self.api.annotations())


@pytest.fixture
def fleet(tmp_path: pathlib.Path, host: Host, api: LiveApi, wmcb: Wmcb) -> Fleet:
    return Fleet(tmp_path, host, api, wmcb)


def test_another_release_takes_its_place_and_goes_on(fleet: Fleet) -> None:
    assert fleet.told("release") == RELEASE
    fleet.wants(fleet.release("9.9.9"))
    fleet.comes("applied", "9.9.9")
    assert b"9.9.9" in fleet.host.files.read(PROGRAM.parents[1] / "9.9.9" / "wmcb.exe")
    assert fleet.host.files.observe(PROGRAM) is None, "nothing runs from there"
    assert fleet.host.services.status("wmcb").state is ServiceState.RUNNING
    assert fleet.told("error") is None
    assert holds(fleet.host, b"one")
    left = fleet.host.files.list(hand_over_folder(fleet.host))
    assert left == ["former", "succession.json"]
    fleet.api.say(HEAD + FILE % "two")
    until(lambda: holds(fleet.host, b"two"), "the new one follows", SECONDS, fleet.log)
    fleet.wmcb("daemon", "uninstall")
    assert fleet.host.files.observe(hand_over_folder(fleet.host)) is None


@pytest.mark.parametrize("fault", FAULTS)
def test_one_that_is_not_well_is_taken_back_and_not_tried_again(fleet: Fleet, fault: str) -> None:
    before = fleet.host.services.read("wmcb")
    sha256 = fleet.release("9.9.9", fault)
    fleet.wants(sha256, within=5)
    fleet.comes("failed", RELEASE)
    assert FAULTS[fault] in (fleet.told("error") or "")
    assert fleet.host.files.read(PROGRAM) == fleet.program
    assert fleet.host.services.read("wmcb") == before
    assert fleet.host.services.status("wmcb").state is ServiceState.RUNNING
    known = succession.read(fleet.host)
    assert known.refusal is not None
    assert (known.refusal.sha256, known.trial) == (sha256, None)

    fleet.host.services.stop("wmcb")
    fleet.host.services.wait("wmcb", ServiceState.STOPPED, SECONDS)
    fleet.host.services.start("wmcb")
    fleet.api.say(HEAD + FILE % "two")
    until(lambda: fleet.told("state") == "applied", "without it all is well", SECONDS, fleet.log)
    with pytest.raises(HostError):
        fleet.host.services.status(succession.SERVICE)
