"""What monitoring relies on: a number in the Application log never gets another meaning."""

from __future__ import annotations

from agent.cli.run_log import SOURCE, EventId
from service.telling import Event

KNOWN = {
    1: "STARTED",
    2: "DONE",
    3: "FAILED",
    10: "KEEPING",
    11: "STARTED",
    12: "STOPS_AGAIN",
    13: "REPAIRED",
    14: "NOT_REPAIRED",
    15: "AGAIN_AND_AGAIN",
    16: "HUNG",
    17: "PAUSED",
    18: "RESUMED",
    19: "UNFINISHED",
    20: "TROUBLE",
    21: "APPLIED",
    22: "REFUSED",
    23: "FAILED",
    24: "MISSING",
    25: "UNREACHABLE",
    26: "PENDING",
    27: "BEREFT",
    28: "UNROUTED",
    29: "SUCCEEDED",
    30: "WENT_BACK",
}
"""Add what is new; change nothing."""


def test_each_number_means_what_it_always_did() -> None:
    assert SOURCE == "wmcb"
    found = {each.value: each.name for each in (*EventId, *Event)}
    assert {number: found.get(number) for number in KNOWN} == KNOWN
    assert len(found) == len(EventId) + len(Event), "none has two meanings"
