"""What servers of Ignition documents and of their files are asked with, as they see it."""

from __future__ import annotations

import json

import pytest

from sandbox.cli.given import WORKER, Machine
from unit.fetch.servers import Server, answer, ok

ACCEPT = "application/vnd.coreos.ignition+json;version=3.6.0, */*;q=0.1"
WITH = ("--kubelet-version", "1.31", "--allow-plain-http", "--ignition")
CA = "/etc/kubernetes/kubelet-ca.crt"


def fields(head: str) -> dict[str, str]:
    return dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if line)


@pytest.mark.parametrize("of", ["configuration", "file"])
def test_ignition_asks_as_coreos_does_and_a_redirect_gets_no_header_of_the_document(
    machine: Machine, of: str
) -> None:
    document = json.loads(WORKER.read_bytes())
    named = {"httpHeaders": [{"name": "X-Token", "value": "swordfish"}]}
    if of == "configuration":
        content = json.dumps(document).encode()
    else:
        content = b"-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"
    with Server(ok(content)) as other:
        to_itself = answer("302 Found", b"", "Location: /a")
        to_another = answer("302 Found", b"", f"Location: {other.url('/c')}")
        server = Server(to_itself, to_another)
        source = {"source": server.url("/"), **named}
        if of == "configuration":
            document = {"ignition": {"version": "3.4.0", "config": {"merge": [source]}}}
        else:
            (file,) = [each for each in document["storage"]["files"] if each["path"] == CA]
            file["contents"] = source
        given = machine.give("pointer.ign", json.dumps(document))
        with server:
            done = machine.wmcb(*WITH, given, "--kubelet", machine.kubelet)
        assert done.code == 0, done.err
    first, *redirected = map(fields, (*server.heads, *other.heads))
    assert (first["Accept"], first["User-Agent"]) == (ACCEPT, "Ignition/2.26.0")
    assert first["X-Token"] == "swordfish"
    assert [each["Accept"] for each in redirected] == [ACCEPT] * len(redirected)
    assert not any("X-Token" in each for each in redirected)
    assert len(redirected) == 2
