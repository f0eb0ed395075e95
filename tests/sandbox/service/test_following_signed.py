"""A ConfigMap that has to be signed: by whom, for which place, until when."""

from __future__ import annotations

import pathlib
import re

import pytest

from agent.host.port import Host
from lab.minisign import Signer, trusted_comment, written
from sandbox.service.follower import HEAD, PIN, Follower
from sandbox.service.test_following import FILE, SETTINGS
from service.arguments import Followed
from service.standing import State
from service.telling import Event

PLACE = "nodes/windows"
HOUR, DAY = 3600.0, 86_400.0
MOMENT = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"
OTHER_PIN = f"sha256:{'f' * 64}"


@pytest.fixture
def signer() -> Signer:
    return Signer()


@pytest.fixture
def trusting(tmp_path: pathlib.Path, host: Host, signer: Signer) -> Follower:
    follower = Follower(tmp_path, host, Followed("nodes", "windows", signer.public_key))
    follower.make_node()
    return follower


def comment(
    follower: Follower,
    *pins: str,
    place: str = PLACE,
    signed: float = -HOUR,
    expires: float = DAY,
) -> str:
    """From now on."""
    now = follower.clock.now()
    return trusted_comment(place, *(pins or (PIN,)), signed=now + signed, expires=now + expires)


def say(follower: Follower, signer: Signer, text: str, trusted: str) -> None:
    wanted = f"{HEAD}{SETTINGS % text}"
    follower.said(wanted, **{"node.yaml.minisig": signer.signature(wanted, trusted)})


def holds(follower: Follower, content: bytes | None) -> bool:
    if follower.host.files.observe(FILE) is None:
        return content is None
    return follower.host.files.read(FILE) == content


def test_what_is_signed_is_followed_and_nothing_else(trusting: Follower, signer: Signer) -> None:
    say(trusting, signer, "one", comment(trusting))
    assert holds(trusting, b"one")
    say(trusting, Signer(), "two", comment(trusting))
    assert "its signature is refused" in trusting.standing.error
    trusting.wants(SETTINGS % "three")
    assert "it is not signed" in trusting.standing.error
    assert holds(trusting, b"one")
    assert trusting.stands(State.REFUSED)


def test_an_older_one_is_refused_also_after_a_restart(trusting: Follower, signer: Signer) -> None:
    one, two = comment(trusting, signed=-2000), comment(trusting, signed=-1000)
    say(trusting, signer, "two", two)
    trusting.begin()
    say(trusting, signer, "one", one)
    assert holds(trusting, b"two")
    assert trusting.standing.error == (
        "ConfigMap nodes/windows: it was signed 1000 seconds before one that was seen already; to go back to "
        "what it says, sign it again"
    )
    say(trusting, signer, "one", comment(trusting, signed=-500))
    assert holds(trusting, b"one")


FOREIGN = {
    "another ConfigMap": ({"place": "nodes/test"}, (), "it is signed for ConfigMap 'nodes/test'"),
    "another cluster": ({}, (OTHER_PIN,), f"it is signed for another cluster, {OTHER_PIN}"),
    "what minisign writes itself": (None, (), "its trusted comment does not say for which ConfigMap it is"),
}


@pytest.mark.parametrize(("settings", "pins", "says"), FOREIGN.values(), ids=FOREIGN)
def test_one_for_another_place_is_refused_on_a_node_that_has_seen_none(
    trusting: Follower, signer: Signer, settings: dict[str, str] | None, pins: tuple[str, ...], says: str
) -> None:
    standard = "timestamp:1795042552\tfile:node.yaml\thashed"
    bound = standard if settings is None else comment(trusting, *pins, place=settings.get("place", PLACE))
    say(trusting, signer, "one", bound)
    assert trusting.stands(State.REFUSED)
    assert trusting.standing.error.startswith(f"ConfigMap nodes/windows: {says}")
    assert trusting.standing.error.endswith(
        f'; sign it by: minisign -Sm node.yaml -t "wmcb nodes/windows cluster={PIN} '
        'signed=YYYY-MM-DDTHH:MM:SSZ expires=YYYY-MM-DDTHH:MM:SSZ"'
    )
    assert holds(trusting, None)
    assert trusting.standing.signed_at is None, "what is refused is not remembered as the last one"


@pytest.mark.parametrize("pins", [(OTHER_PIN, PIN), (PIN,)])
def test_during_a_rotation_one_authority_has_to_fit(
    trusting: Follower, signer: Signer, pins: tuple[str, ...]
) -> None:
    trusting.cluster.pins = frozenset({PIN, f"sha256:{'e' * 64}"})
    say(trusting, signer, "one", comment(trusting, *pins))
    assert holds(trusting, b"one")


def test_a_node_that_knows_no_authority_of_its_cluster_says_so(trusting: Follower, signer: Signer) -> None:
    trusting.cluster.pins = frozenset()
    say(trusting, signer, "one", comment(trusting))
    assert trusting.standing.error == (
        "ConfigMap nodes/windows: a signature is for a cluster by its authority, and the kubelet's "
        "kubeconfig names none: put certificate-authority-data there"
    )
    assert holds(trusting, None)


def test_a_node_whose_authority_is_exchanged_looks_again(trusting: Follower, signer: Signer) -> None:
    say(trusting, signer, "one", comment(trusting, OTHER_PIN))
    assert trusting.stands(State.REFUSED)
    trusting.cluster.pins = frozenset({PIN, OTHER_PIN})
    trusting.pass_time(HOUR)
    assert holds(trusting, b"one")


def test_an_expired_one_is_refused_on_a_node_that_has_seen_none(trusting: Follower, signer: Signer) -> None:
    say(trusting, signer, "one", comment(trusting, signed=-DAY, expires=-60))
    assert trusting.stands(State.REFUSED)
    assert re.fullmatch(
        rf"ConfigMap nodes/windows: its signature expired at {MOMENT}, and this machine's clock says {MOMENT}"
        ": if that is right, sign it again with a later expires=",
        trusting.standing.error,
    )
    assert holds(trusting, None)


def test_one_that_expires_later_leaves_the_node_as_it_is(trusting: Follower, signer: Signer) -> None:
    say(trusting, signer, "one", comment(trusting, expires=HOUR))
    trusting.pass_time(HOUR / 2)
    assert trusting.stands(State.APPLIED)
    trusting.reported()
    trusting.pass_time(HOUR)
    assert trusting.stands(State.REFUSED)
    (told,) = trusting.reported()[-1:]
    assert (told[0], "its signature expired at" in told[1]) == ("refused", True)
    assert [event for event, text in trusting.told() if "expired" in text] == [Event.REFUSED]
    assert holds(trusting, b"one")
    trusting.host.files.write(FILE, b"by hand", trusting.host.files.descriptor(FILE))
    trusting.pass_time(HOUR)
    assert holds(trusting, b"one"), "what it made is repaired as before"
    trusting.begin()
    trusting.pass_time(HOUR)
    assert trusting.stands(State.REFUSED)
    assert holds(trusting, b"one")
    say(trusting, signer, "one", comment(trusting))
    assert trusting.stands(State.APPLIED)
    assert trusting.standing.error == ""


def test_a_turn_that_comes_after_the_expiry_is_none(trusting: Follower, signer: Signer) -> None:
    say(trusting, signer, "one", comment(trusting, signed=-2 * HOUR))
    begins = written(trusting.clock.now() + HOUR)
    rollout = f"rollout: {{start: {begins}, window: 1s}}\n"
    wanted = f"{HEAD}{rollout}{SETTINGS % 'two'}"
    signature = signer.signature(wanted, comment(trusting, expires=HOUR / 2))
    trusting.said(wanted, **{"node.yaml.minisig": signature})
    assert trusting.stands(State.PENDING)
    trusting.pass_time(2 * HOUR)
    assert trusting.stands(State.REFUSED)
    assert holds(trusting, b"one")


def test_a_clock_that_is_far_behind_is_named_and_may_be_set(trusting: Follower, signer: Signer) -> None:
    say(trusting, signer, "one", comment(trusting, signed=HOUR))
    assert trusting.stands(State.REFUSED)
    assert "one of the two clocks is wrong; set this machine's" in trusting.standing.error
    assert trusting.standing.signed_at is None
    trusting.pass_time(2 * HOUR)
    assert trusting.stands(State.APPLIED)
    assert holds(trusting, b"one")
