"""Rows of the table of feature gates, made of Kubernetes' lists."""

from __future__ import annotations

import sys

import pytest

if sys.platform == "win32":
    pytest.skip("the lab runs on Linux", allow_module_level=True)

from agent.sources.kubelet.node import NEWEST
from lab import feature_gates, kubernetes

ALPHA_28 = {"version": "1.28", "default": False, "lockToDefault": False}
LOCKED_32 = {"version": "1.32", "default": True, "lockToDefault": True}
LOCKED_31 = {"version": "1.31", "default": False, "lockToDefault": True}
BEFORE = {"version": "1.0", "default": True, "lockToDefault": False}
OFF_31 = {"version": "1.31", "default": False, "lockToDefault": False}

ROWS = {
    "still known": ({32: [ALPHA_28], 33: [ALPHA_28]}, [28, 33]),
    "gone": ({32: [ALPHA_28]}, [28, 32]),
    "new, and listed as if it were older": ({33: [ALPHA_28]}, [33, 33]),
    "locked before the oldest list": ({32: [ALPHA_28, LOCKED_31], 33: [LOCKED_31]}, [28, 33, 31, "false"]),
    "locked by a later list for an older release": (
        {32: [ALPHA_28], 33: [ALPHA_28, LOCKED_32]},
        [28, 33, 33, "true"],
    ),
    "a way out of what was always so": ({32: [BEFORE, OFF_31], 33: [BEFORE, OFF_31]}, [31, 33]),
    "nothing but what was always so": ({33: [BEFORE]}, [33, 33]),
    "older than the oldest kubelet": ({32: [{**ALPHA_28, "version": "1.7"}]}, [16, 32]),
}  # fmt: skip


@pytest.mark.parametrize(("listed", "expected"), ROWS.values(), ids=ROWS)
def test_a_row(listed: dict[int, feature_gates.Specs], expected: list[object]) -> None:
    lists = {minor: {"A": listed[minor]} if minor in listed else {} for minor in (32, 33)}
    assert feature_gates.row("A", lists) == ["A", *expected]


def test_a_row_whose_beginning_the_oldest_list_has_wrong() -> None:
    lists = {32: {"LoggingBetaOptions": [{**ALPHA_28, "version": ""}]}}
    assert feature_gates.row("LoggingBetaOptions", lists) == ["LoggingBetaOptions", 25, 32]


def test_each_release_that_is_known_has_its_list() -> None:
    releases = [*feature_gates.OLDER_RELEASES, kubernetes.RELEASE]
    minors = [int(release.split(".")[1]) for release in releases]
    assert minors == list(range(feature_gates.OLDEST_LISTED, NEWEST + 1))
