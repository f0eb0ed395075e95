"""A short run; `python -m differential ignition` does long ones."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from differential.ignition.comparing import STRICTER, VERSIONS, compare, ours
from differential.ignition.oracle import IgnitionOracle

_V3 = b'{"ignition":{"version":"3.2.0"}'


@pytest.fixture(scope="module")
def oracle() -> Iterator[IgnitionOracle]:
    with IgnitionOracle() as process:
        yield process


def test_our_reading_is_ignitions_own(oracle: IgnitionOracle) -> None:
    tally = compare(oracle, 1, 250)
    assert not tally.disagreements, "\n".join(tally.disagreements[:5])
    for major, minor in VERSIONS:
        # A comparison of documents that nobody takes, or everybody, would show little.
        assert 75 < tally.compared[f"{major}.{minor} documents taken"] < 225
        assert tally.compared[f"{major}.{minor} pairs"] == 125


@pytest.mark.parametrize(
    ("words", "major", "raw"),
    [
        ("is given twice", 3, _V3 + b',"passwd":{},"passwd":{}}'),
        ("it says the same as", 3, _V3 + b',"passwd":{},"Passwd":{}}'),
        ("it is not UTF-8", 3, _V3 + b',"passwd":{"users":[{"name":"\xff"}]}}'),
        ("half a character", 3, _V3 + b',"passwd":{"users":[{"name":"\\ud83d"}]}}'),
        ("nested too deeply", 3, _V3 + b',"x":' + b"[" * 5000 + b"]" * 5000 + b"}"),
        (
            "size cannot be negative",
            3,
            _V3
            + b',"storage":{"disks":[{"device":"/a","partitions":[%s]}]}}'
            % b'{"number":1,"startMiB":9,"sizeMiB":-1}',
        ),
        ("it is for Ignition 1", 2, b'{"ignitionVersion":1}'),
    ],
)
def test_where_we_are_stricter_on_purpose(oracle: IgnitionOracle, words: str, major: int, raw: bytes) -> None:
    assert words in STRICTER
    assert oracle.ask(major, [raw]).accepted == (True,)
    our = ours(raw)
    assert not our.accepted
    assert any(words in message for message in our.messages)
