"""What the resident service follows on a machine, by the threads that really wait."""

from agent.host.port import Host
from agent.host.services import ServiceDefinition
from service.watching import Watches
from service.work_queue import Signal, Signals, Source

KUBELET = ServiceDefinition("kubelet", (r"C:\k\kubelet.exe",))
CHANGED = (Signal(Source.SERVICE, "kubelet"),)
SOON = 20.0


def test_a_service_that_goes_while_it_is_followed_is_followed_again_when_it_is_back(host: Host) -> None:
    services, signals = host.services, Signals()
    watches = Watches(host, signals)
    services.create(KUBELET)
    watches.follow(["kubelet"], [])
    services.delete("kubelet")
    assert signals.take(SOON) == CHANGED, "nothing holds it open, and that it goes is told"
    services.create(KUBELET)
    watches.renew()
    assert watches.follow(["kubelet"], [])
    services.delete("kubelet")
    assert signals.take(SOON) == CHANGED
    watches.follow([], [])
