"""What the checks are about: a machine, and what it is to become."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agent.host.port import Host
from agent.preflight.kubelet import WantedKubelet
from agent.spec import Service, Specification


@dataclass(frozen=True, slots=True)
class Validity:
    """A span of time that the machine's clock has to lie in."""

    of: str
    """For a person, as the start of a sentence."""
    first: float
    """Seconds since 1970."""
    last: float | None = None


@dataclass(frozen=True, slots=True)
class Situation:
    host: Host
    specification: Specification | None
    """None where no document is at hand: then what a kubelet usually needs is asked for."""
    runtime_service: str = ""
    """Needed by the kubelet, where no specification says so."""
    validities: Sequence[Validity] = ()
    ignored: Collection[str] = ()
    """Checks whose errors nobody heeds, and for which nothing is waited for."""
    runtime_option: str = "--runtime-service"
    """How another one is named in the command that is run."""
    patient: bool = True
    """Whether what may come up any moment is waited for."""

    @property
    def kubelet(self) -> WantedKubelet:
        return WantedKubelet.of(self.specification or Specification())

    def services_needed(self) -> Sequence[str]:
        """Services that are depended on and that nobody here makes."""
        if self.specification is None:
            return [self.runtime_service] if self.runtime_service else []
        services = [want for want in self.specification.wants if isinstance(want, Service)]
        made = {want.key for want in services}
        needed = (key for want in services for key in want.uses if key.kind == Service.kind)
        return list(dict.fromkeys(key.name for key in needed if key not in made))
