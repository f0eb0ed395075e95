"""What a trusted comment binds a document to, and what becomes of one that is found elsewhere or too late."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.sources.signatures import Binding, Phase, Refused, bound, signing_command

PLACE = "kube-system/windows-nodes"
OWN, OTHER = f"sha256:{'0123456789abcdef' * 4}", f"sha256:{'f' * 64}"
SINCE, UNTIL = "signed=2026-11-20T09:00:00Z", "expires=2027-01-01T00:00:00Z"
TIMES = f"{SINCE} {UNTIL}"
GOOD = f"wmcb {PLACE} cluster={OWN} {TIMES}"
SIGNED = datetime(2026, 11, 20, 9, tzinfo=UTC).timestamp()
EXPIRES = datetime(2027, 1, 1, tzinfo=UTC).timestamp()


def read(comment: str, *pins: str) -> Binding:
    return bound(comment, PLACE, frozenset(pins or (OWN,)))


@pytest.mark.parametrize(
    ("comment", "pins"),
    [
        pytest.param(GOOD, [OWN], id="as documented"),
        pytest.param(GOOD, [OTHER, OWN], id="a node that trusts two authorities"),
        pytest.param(f"wmcb {PLACE} cluster={OTHER} cluster={OWN} {TIMES}", [OWN], id="signed for two"),
        pytest.param(f"wmcb {PLACE} {TIMES} cluster={OWN}", [OWN], id="in another order"),
        pytest.param(GOOD.replace("abcdef", "ABCDEF"), [OWN], id="in capitals"),
        pytest.param(f"wmcb\t{PLACE}  cluster={OWN} {TIMES} ", [OWN], id="other blanks"),
    ],
)
def test_what_is_for_this_place(comment: str, pins: list[str]) -> None:
    binding = read(comment, *pins)
    assert (binding.place, binding.signed, binding.expires) == (PLACE, SIGNED, EXPIRES)


INCOMPLETE = {
    "what minisign writes itself": "timestamp:1795042552\tfile:node.yaml\thashed",
    "nothing": "",
    "a word alone": "wmcb",
    "a place alone": f"wmcb {PLACE}",
    "of another program": GOOD.replace("wmcb", "wmcp"),
    "no cluster": f"wmcb {PLACE} {TIMES}",
    "an empty cluster": f"wmcb {PLACE} cluster= {TIMES}",
    "a cluster by another hash": GOOD.replace("sha256", "sha512"),
    "a good cluster beside a wrong one": f"{GOOD} cluster=sha256:12",
    "no expiry": GOOD.partition(" expires")[0],
    "an expiry without a time": GOOD.replace("2027-01-01T00:00:00Z", "2027-01-01"),
    "an expiry in another zone": GOOD.replace("00:00:00Z", "00:00:00+01:00"),
    "an expiry that no calendar has": GOOD.replace("2027-01-01", "2027-02-30"),
    "two expiries": f"{GOOD} expires=2029-01-01T00:00:00Z",
    "no time of signing": GOOD.replace("signed=2026-11-20T09:00:00Z ", ""),
    "a field of a later release": f"{GOOD} nodes=win1",
}


@pytest.mark.parametrize("comment", INCOMPLETE.values(), ids=INCOMPLETE)
def test_what_does_not_say_where_and_when_it_counts_is_refused(comment: str) -> None:
    with pytest.raises(Refused, match="its trusted comment does not say for which ConfigMap it is, of which"):
        read(comment)


FOREIGN = {
    "another name": (
        GOOD.replace("windows-nodes", "windows-test"),
        [OWN],
        "it is signed for ConfigMap 'kube-system/windows-test'",
    ),
    "another namespace": (
        GOOD.replace("kube-system", "test"),
        [OWN],
        "it is signed for ConfigMap 'test/windows-nodes'",
    ),
    "another cluster": (GOOD, [OTHER], f"it is signed for another cluster, {OWN}"),
    "a node that knows no authority": (GOOD, [], f"it is signed for another cluster, {OWN}"),
}


@pytest.mark.parametrize(("comment", "pins", "says"), FOREIGN.values(), ids=FOREIGN)
def test_what_is_for_another_place_is_refused(comment: str, pins: list[str], says: str) -> None:
    with pytest.raises(Refused) as refused:
        bound(comment, PLACE, frozenset(pins))
    assert str(refused.value) == says


@pytest.mark.parametrize(
    ("now", "phase", "says"),
    [
        (SIGNED, Phase.VALID, ""),
        (SIGNED - 299, Phase.VALID, ""),
        (
            SIGNED - 3600,
            Phase.NOT_YET,
            "it was signed at 2026-11-20T09:00:00Z, and this machine's clock says 2026-11-20T08:00:00Z: one "
            "of the two clocks is wrong; set this machine's, or sign it again on a machine whose clock is "
            "right",
        ),
        (EXPIRES - 1, Phase.VALID, ""),
        (
            EXPIRES,
            Phase.EXPIRED,
            "its signature expired at 2027-01-01T00:00:00Z, and this machine's clock says "
            "2027-01-01T00:00:00Z: if that is right, sign it again with a later expires=",
        ),
    ],
)
def test_the_time_for_it(now: float, phase: Phase, says: str) -> None:
    binding = read(GOOD)
    assert binding.phase(now) is phase
    if not says:
        binding.check_time(now)
        return
    with pytest.raises(Refused) as refused:
        binding.check_time(now)
    assert str(refused.value) == says


def test_one_that_was_signed_before_another() -> None:
    binding = read(GOOD)
    binding.check_order(int(SIGNED))
    with pytest.raises(Refused, match="it was signed 60 seconds before one that was seen already"):
        binding.check_order(int(SIGNED) + 60)


@pytest.mark.parametrize("pins", [(OWN,), (OWN, OTHER)])
def test_the_command_that_is_named_signs_what_counts(pins: tuple[str, ...]) -> None:
    command = signing_command("node.yaml", PLACE, frozenset(pins))
    assert command.startswith('minisign -Sm node.yaml -t "')
    comment = command.partition('"')[2].rstrip('"').replace("signed=YYYY-MM-DDTHH:MM:SSZ", SINCE)
    assert read(comment.replace("expires=YYYY-MM-DDTHH:MM:SSZ", UNTIL)).clusters == set(pins)


@given(st.text(max_size=200))
def test_any_comment_is_refused_or_read(comment: str) -> None:
    with pytest.raises(Refused):
        read(comment)
