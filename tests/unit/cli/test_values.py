"""Values of options that may be meant; what may not is in tests/sandbox/cli/test_bad_input.py."""

from __future__ import annotations

import pytest

from agent.cli import options, values
from agent.cli.arguments import Option, Request
from agent.preflight.situation import _pipe


def asked(option: Option, given: str) -> Request:
    return Request((), None, {option.name: given})


ENDPOINTS = [
    ("npipe:////./pipe/containerd-containerd", "containerd-containerd"),
    ("npipe://./pipe/containerd", "containerd"),
    ("npipe:///pipe/containerd", "containerd"),
    ("NPIPE:////./pipe/x", "x"),
    ("tcp://127.0.0.1:3735", None),
    ("tcp://[::1]:3735", None),
    ("tcp://runtime.example:1", None),
]


@pytest.mark.parametrize(("given", "pipe"), ENDPOINTS)
def test_an_endpoint_that_a_kubelet_takes(given: str, pipe: str | None) -> None:
    """And preflight knows which pipe to look for."""
    assert values.endpoint(asked(options.RUNTIME_ENDPOINT, given), options.RUNTIME_ENDPOINT, "") == given
    assert _pipe(given) == pipe


ADDRESSES = [
    ("192.0.2.7", ("192.0.2.7",)),
    ("192.0.2.7, FD00::5", ("192.0.2.7", "fd00::5")),
    ("fd00::5,192.0.2.7", ("fd00::5", "192.0.2.7")),
    ("::", ("::",)),
]


@pytest.mark.parametrize(("given", "found"), ADDRESSES)
def test_addresses_of_a_node(given: str, found: tuple[str, ...]) -> None:
    assert values.node_addresses(asked(options.NODE_IP, given), options.NODE_IP) == found


@pytest.mark.parametrize("given", ["winworker", "ip-10-0-1-2.ec2.internal", "WINWORKER", "7"])
def test_names_of_a_node(given: str) -> None:
    assert values.node_name(asked(options.NODE_NAME, given), options.NODE_NAME, "") == given


def test_what_is_not_given_is_not_judged() -> None:
    nothing = Request((), None, {})
    assert values.node_addresses(nothing, options.NODE_IP) == ()
    assert values.endpoint(nothing, options.RUNTIME_ENDPOINT, "anything") == "anything"
    assert values.seconds(nothing, options.MAX_TIME, 0.0) == 0.0
    assert values.node_name(nothing, options.NODE_NAME, "") == ""


@pytest.mark.parametrize(("given", "seconds"), [("5", 5.0), ("0.5", 0.5), ("99999", 99999.0)])
def test_seconds(given: str, seconds: float) -> None:
    assert values.seconds(asked(options.MAX_TIME, given), options.MAX_TIME, 1.0) == seconds
