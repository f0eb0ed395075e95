"""What a hostile or broken API server answers with: each is a refusal in a line, within bounds."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agent.kube import failure
from agent.kube.access import Access
from agent.kube.client import Client, node
from agent.kube.transport import Limits
from unit.fetch.quick_clock import QuickClock
from unit.kube.api_server import ROOT, TOKEN, Answer, ApiServer, ok

NODE = node("win1")
ONCE = Limits(patience=0)


def client(of: ApiServer, limits: Limits = ONCE, **more: Any) -> Client:
    return Client(Access(of.url, "kubelet.conf", ROOT.pem, token=TOKEN), limits=limits, **more)


ENDLESS: dict[str, tuple[int, list[Any], str]] = {
    "always another page": (3, [{}], "lists more than 3 pages of objects at /api/v1/nodes"),
    "always an empty page": (3, [], "lists more than 3 pages of objects at /api/v1/nodes"),
    "more objects than a page has": (1, [{}] * 11, "lists more than 10 objects at /api/v1/nodes"),
}


@pytest.mark.parametrize(("pages", "items", "says"), ENDLESS.values(), ids=ENDLESS)
def test_a_list_without_end(server: ApiServer, pages: int, items: list[Any], says: str) -> None:
    server.at("/api/v1/nodes", ok({"metadata": {"continue": "more"}, "items": items}))
    limits = replace(ONCE, pages=3, objects=10)
    with client(server, limits) as asking, pytest.raises(failure.Unreachable) as caught:
        asking.list("/api/v1/nodes")
    assert str(caught.value) == f"{server.place} {says}"
    assert len(server.asked) == pages


MANY_VALUES = {
    "objects": b'{"items":[' + b"{}," * (3 << 20) + b"{}]}",
    "lists": b'{"items":[' + b"[]," * (3 << 20) + b"[]]}",
    "numbers": b'{"items":[' + b"1e9," * (3 << 20) + b"1]}",
}


@pytest.mark.parametrize("body", MANY_VALUES.values(), ids=MANY_VALUES)
def test_an_answer_of_too_many_values(server: ApiServer, body: bytes) -> None:
    """Each takes many times the memory that it takes in the answer."""
    server.at(NODE, Answer(body=body))
    says = f"^what {server.place} answers holds more than 2,000,000 values$"
    with client(server) as asking, pytest.raises(failure.NotAnApiServer, match=says):
        asking.get(NODE)


WAITS = {
    "a great number": ({"Retry-After": "9" * 4000}, {}, 3600.0),
    "a date far away": ({"Retry-After": "Fri, 31 Dec 9999 23:59:59 GMT"}, {}, 3600.0),
    "a date that is none": ({"Retry-After": "Fri, 99 Dec 0000 99:99:99 GMT"}, {}, None),
    "digits of no number": ({"Retry-After": "\xb2\xb3"}, {}, None),
    "a negative number": ({"Retry-After": "-5"}, {}, None),
    "a great number in the body": ({}, {"retryAfterSeconds": 10**4000}, 3600.0),
    "a great negative number in the body": ({}, {"retryAfterSeconds": -(10**4000)}, None),
    "no number in the body": ({}, {"retryAfterSeconds": [float("nan")]}, None),
}


@pytest.mark.parametrize(("headers", "details", "slept"), WAITS.values(), ids=WAITS)
def test_how_long_a_server_may_ask_to_be_left_alone(
    server: ApiServer, headers: dict[str, str], details: dict[str, Any], slept: float | None
) -> None:
    body = json.dumps({"kind": "Status", "details": details}).encode()
    server.at(NODE, Answer(429, body, headers), ok({}))
    clock = QuickClock()
    with client(server, Limits(patience=5000), clock=clock) as asking:
        asking.get(NODE)
    assert [each for each in clock.slept if each >= 1] == ([] if slept is None else [slept])
