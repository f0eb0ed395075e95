"""When another wmcb.exe is begun, and when not: by the ConfigMap, the node's turn, what it says itself."""

from __future__ import annotations

import hashlib
import json
import pathlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PureWindowsPath
from typing import Any

import pytest

from agent.host.errors import TimedOut
from agent.host.port import Completed, Host, SigningCertificate
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE
from agent.release import RELEASE
from sandbox.service.follower import HEAD, Follower
from service import installation, pausing, succession
from service.program_folder import INTERNAL, hand_over_folder
from service.standing import State
from service.succession import Refusal, Stage, Succession
from service.telling import Event

FILE = PureWindowsPath(r"C:\tools\settings.txt")
SETTINGS = f"files: [{{path: '{FILE}', text: %s}}]\n"
SHIPPED = b"MZ shipped"
SHA256 = hashlib.sha256(SHIPPED).hexdigest()
GIVEN = PureWindowsPath(r"C:\given\wmcb.exe")
SELF = f"self: {{source: '{GIVEN}', sha256: {SHA256}}}\n"
ROLLOUT = "rollout: {start: '2040-01-01T00:00:00Z', window: 2h}\n"
START = 2208988800.0


class Fleet(Follower):
    """Of one node. What is fetched says of itself what `says` says, when it is asked."""

    def __init__(self, folder: pathlib.Path, host: Host, **ports: dict[str, Any]) -> None:
        self.says: Completed | Exception = Completed(0, b'{"release": "9.9.9", "commit": "abc"}', b"")
        self.asked: list[Sequence[str]] = []
        super().__init__(folder, host, None, processes={"run": self._run}, **ports)
        unpacked = PureWindowsPath(r"C:\Windows\Temp\unpacked")
        for each in (unpacked, unpacked / INTERNAL, GIVEN.parent):
            host.files.make_directory(each, PRIVATE_DIRECTORY)
        host.files.write(unpacked / "wmcb.exe", b"MZ", PRIVATE_FILE)
        installation.install(host, unpacked / "wmcb.exe", ("--config-map", "nodes/windows"))
        self.ships(SHIPPED)
        self.make_node()
        self.wants(SETTINGS % "one")
        self.told()

    def _run(self, command: Sequence[str], **_: Any) -> Completed:
        self.asked.append(command)
        if isinstance(self.says, Exception):
            raise self.says
        return self.says

    def ships(self, content: bytes) -> None:
        self.host.files.write(GIVEN, content, PRIVATE_FILE)

    def wants(self, wanted: str, head: str = "") -> None:
        super().wants(wanted, head)
        if self._adopting._succeeding is not None:
            self.contents = self.own_contents
            self.until_fetched()

    @property
    def _adopting(self) -> Any:
        return self.keeping._wishes

    @property
    def known(self) -> Succession:
        return succession.read(self.host)

    @property
    def is_begun(self) -> bool:
        return self.host.services.read(succession.SERVICE) is not None


@pytest.fixture
def fleet(tmp_path: pathlib.Path, host: Host) -> Fleet:
    return Fleet(tmp_path, host)


def test_nothing_of_it_is_there_where_no_document_wants_it(fleet: Fleet) -> None:
    assert fleet._adopting._succeeding is None
    assert fleet.host.files.observe(hand_over_folder(fleet.host)) is None


def test_one_that_says_what_it_is_is_begun_and_then_all_else_waits(fleet: Fleet) -> None:
    fleet.wants(SELF + SETTINGS % "two")
    trial = fleet.known.trial
    assert trial is not None
    assert (trial.sha256, str(trial.version), trial.stage) == (SHA256, "9.9.9 (abc)", Stage.PUTTING)
    assert trial.arguments == ("--config-map", "nodes/windows")
    assert fleet.is_begun
    assert fleet.asked == [[str(succession.successor(fleet.host)), "version", "--output", "json"]]
    fleet.wants(SELF + SETTINGS % "three")
    assert fleet.host.files.read(FILE) == b"two", "the other one makes it, or this one when it is back"
    assert (fleet.standing.state, fleet.standing.error) == (State.PENDING, "wmcb 9.9.9 (abc) is tried")

    fleet.host.services.stop(succession.SERVICE)
    fleet.host.services.delete(succession.SERVICE)
    fleet.pass_time(10)
    assert fleet.is_begun, "whoever killed it has it started again"
    succession.write(fleet.host, Succession(installed=SHA256))
    fleet.pass_time(10)
    assert fleet.host.files.read(FILE) == b"three"
    assert fleet.stands(State.APPLIED)
    assert len(fleet.asked) == 1


def test_one_of_this_release_is_here_already(fleet: Fleet) -> None:
    own = {"release": RELEASE, "commit": None, "python": "3.13"}
    fleet.says = Completed(0, json.dumps(own).encode(), b"")
    fleet.wants(SELF + SETTINGS % "two")
    assert (fleet.known, fleet.is_begun) == (Succession(installed=SHA256), False)
    assert fleet.host.files.read(FILE) == b"two"
    assert fleet.stands(State.APPLIED)
    assert fleet.host.files.observe(succession.successor(fleet.host)) is None


FAULTS = {
    "it ends at once": Completed(0xC000007B, b"", b""),
    "it is another program": Completed(0, b"Microsoft Windows\r\n", b""),
    "it says half of it": Completed(0, b'{"release": "1"}', b""),
    "it says a list": Completed(0, b"[]", b""),
    "it never ends": TimedOut("run", "wmcb.exe", 1460),
}


@pytest.mark.parametrize("says", FAULTS.values(), ids=FAULTS)
def test_one_that_does_not_say_what_it_is_is_refused_before_anything_is_stopped(
    fleet: Fleet, says: Completed | Exception
) -> None:
    fleet.says = says
    fleet.wants(SELF + SETTINGS % "two")
    assert not fleet.is_begun
    assert "does not say what it is" in fleet.standing.error
    assert fleet.stands(State.FAILED)
    assert fleet.host.files.read(FILE) == b"two", "all else is as it is wanted"
    assert [event for event, _ in fleet.told()] == [Event.APPLIED, Event.WENT_BACK]
    fleet.begin()
    fleet.pass_time(700)
    assert len(fleet.asked) == 1
    assert fleet.reported()[-1][0] == "failed"


def test_what_was_refused_is_tried_again_with_another_config_map(fleet: Fleet) -> None:
    fleet.wants(SELF + SETTINGS % "one")
    trial = fleet.known.trial
    assert trial is not None
    succession.write(fleet.host, Succession(refusal=Refusal(SHA256, trial.content, "it was not well")))
    fleet.host.services.stop(succession.SERVICE)
    fleet.host.services.delete(succession.SERVICE)
    fleet.pass_time(700)
    assert not fleet.is_begun
    assert (fleet.standing.state, fleet.standing.error) == (State.FAILED, "it was not well")
    fleet.wants(SELF + SETTINGS % "two")
    assert fleet.is_begun


def test_it_waits_for_the_nodes_turn_and_nothing_else_does(fleet: Fleet) -> None:
    fleet.said(f"{HEAD}{ROLLOUT}{SELF}---\n{HEAD}{SETTINGS % 'two'}")
    assert fleet.host.files.read(FILE) == b"two"
    assert fleet.asked == []
    assert fleet.stands(State.PENDING)
    turn = fleet.standing.turn
    assert turn is not None
    assert START <= turn <= START + 7200
    fleet.contents = fleet.own_contents
    fleet.clock.time += turn - fleet.clock.now() - 5
    fleet.pass_time(1)
    fleet.until_fetched()
    assert not fleet.is_begun
    fleet.pass_time(10)
    fleet.until_fetched()
    assert fleet.is_begun


def test_nothing_is_begun_during_a_pause(fleet: Fleet) -> None:
    pausing.pause(fleet.host, None)
    fleet.wants(SELF)
    assert (fleet.asked, fleet.is_begun) == ([], False)


def test_what_cannot_be_fetched_leaves_all_else_and_is_asked_for_again(fleet: Fleet) -> None:
    fleet.ships(b"MZ another")
    fleet.wants(SELF + SETTINGS % "two")
    assert fleet.stands(State.REFUSED)
    assert fleet.standing.error.startswith("ConfigMap nodes/windows, key node.yaml")
    assert fleet.host.files.read(FILE) == b"two"
    fleet.ships(SHIPPED)
    fleet.pass_time(200)
    assert not fleet.is_begun
    fleet.pass_time(200)
    fleet.until_fetched()
    assert fleet.is_begun


def test_what_cannot_be_fetched_again_is_told_again(fleet: Fleet) -> None:
    def refused() -> int:
        return [event for event, _ in fleet.told()].count(Event.REFUSED)

    fleet.ships(b"MZ another")
    fleet.wants(SELF)
    fleet.pass_time(700)
    assert refused() == 1
    fleet.wants(SETTINGS % "two")
    fleet.wants(SELF)
    assert refused() == 1


@pytest.mark.parametrize("signer", ["Example Authors", "Somebody"])
def test_one_that_somebody_else_has_signed_is_refused(
    tmp_path: pathlib.Path, host: Host, signer: str
) -> None:
    signed = SigningCertificate(signer, "0" * 40, "0" * 64)
    fleet = Fleet(tmp_path, host, signatures={"signer": lambda _: signed})
    wanted = SELF.replace("}", ", signer: {commonName: Example Authors}}")
    fleet.wants(wanted)
    assert fleet.is_begun == (signer == "Example Authors")
    if not fleet.is_begun:
        assert fleet.stands(State.REFUSED)
        assert "is signed by Somebody, not by Example Authors" in fleet.standing.error
        assert fleet.asked == [], "it is not even asked what it is"


def test_two_documents_cannot_want_two(fleet: Fleet) -> None:
    other = SELF.replace(SHA256, "0" * 64)
    fleet.said(f"{HEAD}{SELF}---\n{HEAD}{other}")
    assert fleet.stands(State.REFUSED)
    assert "another wmcb.exe is wanted of the same node by" in fleet.standing.error
    assert fleet.asked == []


def test_the_same_twice_is_one(fleet: Fleet) -> None:
    fleet.said(f"{HEAD}{SELF}---\n{HEAD}{SELF}")
    fleet.contents = fleet.own_contents
    fleet.until_fetched()
    assert fleet.is_begun


# Its word


def test_on_trial_it_gives_its_word_when_it_has_heard_the_cluster(fleet: Fleet) -> None:
    fleet.wants(SELF)
    trial = fleet.known.trial
    assert trial is not None
    tried = Succession(trial=replace(trial, stage=Stage.TRYING))
    succession.write(fleet.host, tried)
    heard, fleet.cluster.config_map = fleet.cluster.config_map, None
    fleet.begin()
    fleet.pass_time(20)
    assert succession.word(fleet.host) is None
    fleet.cluster.config_map = heard
    fleet.cluster.trouble = "no route"
    fleet.pass_time(20)
    assert succession.word(fleet.host) is None
    fleet.cluster.trouble = None
    fleet.pass_time(20)
    assert succession.word(fleet.host) == succession.own_version()


def test_a_pause_does_not_keep_it_from_giving_its_word(fleet: Fleet) -> None:
    fleet.wants(SELF)
    trial = fleet.known.trial
    assert trial is not None
    succession.write(fleet.host, Succession(trial=replace(trial, stage=Stage.TRYING)))
    pausing.pause(fleet.host, None)
    fleet.begin()
    fleet.pass_time(20)
    assert succession.word(fleet.host) == succession.own_version()
