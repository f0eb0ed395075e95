"""The phases of kubeadm's commands, and which of them a command here cannot do without."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agent.sources.kubeadm.model import PHASES
from agent.sources.kubeadm.validation import Fault
from agent.sources.report import Place, quoted


@dataclass(frozen=True, slots=True)
class Phases:
    """Of one command."""

    names: Sequence[str]
    needed: str
    """The one that is done whatever is skipped."""
    reason: str

    def fault(self, phase: str) -> str | None:
        """Return why this phase cannot be skipped."""
        # Of phases inside of phases kubeadm has names such as addon/coredns.
        if phase.partition("/")[0] not in self.names:
            return f"there is no such phase; kubeadm has {', '.join(self.names)}"
        if phase == self.needed:
            return f"this phase cannot be left out here: {self.reason}"
        return None

    def faults(self, skipped: Iterable[str], place: Place) -> Iterator[Fault]:
        """Yield a fault for each phase of the list at this place that cannot be skipped."""
        for number, phase in enumerate(skipped):
            if fault := self.fault(phase):
                yield (*place, number), f"{quoted(phase)}: {fault}"


PREFLIGHT = "preflight"
_ALL = "it is all that is done"
OF_JOIN = Phases(PHASES, "kubelet-start", "all else comes of it")
OF_RESET = Phases((PREFLIGHT, "remove-etcd-member", "cleanup-node"), "cleanup-node", _ALL)
OF_UPGRADE = Phases(
    (PREFLIGHT, "control-plane", "kubeconfig", "kubelet-config", "addon", "post-upgrade"),
    "kubelet-config",
    _ALL,
)
