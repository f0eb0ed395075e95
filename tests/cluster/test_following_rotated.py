"""What a cluster exchanges in the course of a year, in one go: the node that follows it goes on following."""

from __future__ import annotations

import base64
import re
from datetime import timedelta
from http import HTTPStatus
from typing import Any

from cluster.conftest import Figure
from cluster.test_following import CONFIG_MAP, CONFIG_MAPS, FILE, HEAD, Follower, follower
from lab.services import State
from lab.waiting import until
from windows.exe import SERVICE

__all__ = ["follower"]

CERTIFICATE = r"C:\var\lib\kubelet\pki\kubelet-client-current.pem"
KUBELET_CONF = r"C:\etc\kubernetes\kubelet.conf"
SHORT = timedelta(seconds=20)


def test_versions_certificates_and_the_authority(follower: Follower, figure: Figure) -> None:
    """One test for all, since each Ready Node costs half a minute."""
    follower.follow()
    follower.say(f"{HEAD}{FILE % 'one'}")
    follower.comes(lambda: follower.holds("one"), "it is made so")

    # The kubelet's certificate is near its end, and the kubelet gets another.
    own = follower.machine.path(CERTIFICATE)
    short = follower.cluster.authority.client(f"system:node:{follower.name}", ["system:nodes"], SHORT)
    own.write_text(short)
    follower.machine.stop_service(SERVICE)
    follower.machine.wait_for_service(SERVICE, State.STOPPED)
    follower.machine.start_service(SERVICE)
    follower.say(f"{HEAD}{FILE % 'two'}")
    follower.comes(lambda: follower.holds("two"), "it is followed by the short one")
    follower.kill()
    # For a moment there is none.
    follower.comes(lambda: own.exists() and own.read_text() != short, "the kubelet has another")

    # The API server has forgotten what was seen last.
    follower.cluster.proxy.close()
    seen = follower.cluster.api.get(CONFIG_MAP)["metadata"]["resourceVersion"]
    follower.say(f"{HEAD}{FILE % 'three'}")
    follower.cluster.forget_requests()
    follower.cluster.restart_api_server()
    assert _watched(follower, seen)["code"] == HTTPStatus.GONE
    seconds = follower.comes(lambda: follower.holds("three"), "it is listed again, and made so")
    figure("410 Gone and the API server back, to caught up", seconds)
    asked = follower.cluster.requests(program="wmcb")
    verbs = [each.verb for each in asked if each.resource == "configmaps"]
    assert verbs[:2] == ["watch", "list"]
    follower.say(f"{HEAD}{FILE % 'four'}")
    follower.comes(lambda: follower.holds("four"), "it is watched further on")

    # By now the kubelet's former certificate counts for nothing.
    until(lambda: not follower.cluster.knows(short), "the short one's time is over", 30)
    follower.cluster.proxy.drop_connections()
    follower.say(f"{HEAD}{FILE % 'five'}")
    seconds = follower.comes(lambda: follower.holds("five"), "it is followed by the other one")
    figure("certificate refused and ConfigMap changed, to the file on the node", seconds)

    # The cluster gets another authority: at first both are trusted.
    with follower.cluster.another_authority() as other:
        _trust_too(follower, other)
        follower.cluster.proxy.drop_connections()
        follower.kill()
        follower.say(f"{HEAD}{FILE % 'six'}")
        seconds = follower.comes(lambda: follower.holds("six"), "who shows the other one is trusted")
        figure("authority exchanged and ConfigMap changed, to the file on the node", seconds)
        follower.comes(lambda: follower.state("applied"), "it is told")
        follower.wait_until_ready()


def _watched(follower: Follower, version: str) -> Any:
    """The status that a watch from this version on begins with."""
    watch = f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1&resourceVersion={version}"
    return follower.cluster.api.get(watch)["object"]


def _trust_too(follower: Follower, authority: str) -> None:
    """In the kubelet's kubeconfig, as an administrator does it."""
    config = follower.machine.path(KUBELET_CONF)
    both = base64.b64encode((follower.cluster.ca_certificate + authority).encode()).decode()
    changed = re.sub(r"(?<=certificate-authority-data: )\S+", both, config.read_text())
    assert both in changed
    config.write_text(changed)
