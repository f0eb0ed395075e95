"""Another wmcb.exe by the ConfigMap that a Ready Node follows: kept where it is well, else the one before."""

from __future__ import annotations

import hashlib

from agent.release import RELEASE
from cluster.conftest import Figure
from cluster.test_following import FILE, HEAD, Follower, follower
from lab.fixtures import web
from lab.web import Page, Web
from windows.exe import SERVICE, installed, of_release

__all__ = ["follower", "web"]

HAND_OVER = "wmcb-hand-over"
SELF = "self: {source: '%s', sha256: %s, withinSeconds: %d}\n"
ENDS = ("service.keeping", b"sweep", b"swept")
"""The resident service does not find what it imports out of a module."""
STAYS_DEAF = ("service.cluster", b"metadata.name=", b"metadata.nope=")
"""It selects objects by a field that no API server knows, and so hears nothing of its Node and ConfigMap."""


class Fleet:
    """Of one node."""

    def __init__(self, follower: Follower, web: Web) -> None:
        self.follower = follower
        self._web = web

    def wants(self, program: bytes, within: int = 60) -> None:
        self._web.pages["/wmcb.exe"] = Page(program)
        sha256 = hashlib.sha256(program).hexdigest()
        self.follower.say(HEAD + SELF % (self._web.url("/wmcb.exe"), sha256, within) + FILE % "one")

    def comes(self, state: str, release: str, error: str = "") -> float:
        """It is so, and nothing is under way."""

        def is_so() -> bool:
            told = self.follower.told()
            is_told = (told.get("state"), told.get("release")) == (state, release)
            return is_told and error in told.get("error", "") and not self.is_under_way

        seconds = self.follower.comes(is_so, f"it is {state}, by {release}")
        assert self.follower.runs(SERVICE)
        version = self.follower.machine.run(installed(release), "version").out.split()[1]
        assert version == release
        return seconds

    @property
    def is_under_way(self) -> bool:
        return self.follower.machine.service(HAND_OVER) is not None


def test_it_is_kept_taken_back_and_finished_after_a_power_cut(
    follower: Follower, web: Web, figure: Figure
) -> None:
    """One test for all, since each Ready Node costs half a minute."""
    fleet = Fleet(follower, web)
    follower.follow()
    follower.say(HEAD + FILE % "one")
    fleet.comes("applied", RELEASE)

    fleet.wants(of_release("9.9.9"))
    figure("another wmcb.exe in a ConfigMap, to kept", fleet.comes("applied", "9.9.9"))
    assert follower.holds("one")

    fleet.wants(of_release("8.8.8", ENDS))
    figure("one that ends, to the one before", fleet.comes("failed", "9.9.9", "was not well"))

    fleet.wants(of_release("8.8.8", STAYS_DEAF), within=6)
    fleet.comes("failed", "9.9.9", "did not come to follow the ConfigMap within 6 seconds")

    fleet.wants(b"MZ, and no more")
    fleet.comes("failed", "9.9.9", "does not say what it is")

    fleet.wants(of_release("7.7.7"))
    follower.comes(lambda: fleet.is_under_way, "it is begun")
    follower.machine.reboot()
    figure("power cut in the middle, to kept", fleet.comes("applied", "7.7.7"))
    follower.wait_until_ready()
    (daemon,) = [each for each in follower.machine.processes("wmcb.exe") if "daemon" in each.command]
    figure("resident memory of the service", daemon.resident_bytes / 1_000_000, "MB")
