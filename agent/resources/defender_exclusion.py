"""What Microsoft Defender does not look at."""

from contextlib import suppress

from agent.host.errors import NotFound, NotInstalled
from agent.host.port import Host
from agent.resources.kind import Kept, Kind, NotWell, State
from agent.spec.machine import DefenderExclusion

_KEPT_BY_WINDOWS = r"SOFTWARE\Microsoft\Windows Defender\Exclusions"
_KEYS = {"path": "Paths", "process": "Processes"}
_EXCLUDED: State = {"excluded": True}
_NOBODY_LOOKS: State = {"excluded": False}
"""Where there is no Defender."""


class DefenderExclusionResource(Kind[DefenderExclusion]):
    firm = frozenset({"excluded"})

    def wanted(self, want: DefenderExclusion) -> State:  # noqa: ARG002 - of all alike
        return dict(_EXCLUDED)

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - it has one field
        what, _, path = name.partition(" ")
        try:
            excluded = (_comparable(each) for each in host.defender.exclusions(what))
        except NotInstalled:
            return dict(_NOBODY_LOOKS)
        return dict(_EXCLUDED) if _comparable(path) in excluded else None

    def registry_keys(self, name: str) -> tuple[str, ...]:
        return (rf"{_KEPT_BY_WINDOWS}\{_KEYS[name.partition(' ')[0]]}",)

    def obstacle(self, want: DefenderExclusion, found: State | None) -> str | None:
        if found == _NOBODY_LOOKS:
            return f"this Windows has no Microsoft Defender to exclude {want.key.name} from; leave it out"
        return None

    def apply(self, host: Host, want: DefenderExclusion, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - it was none
        self._exclude(host, want.key.name)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        if before == _EXCLUDED:
            if not self._is_there(host, name):
                self._exclude(host, name)
            return None
        what, _, path = name.partition(" ")
        with suppress(NotFound, NotInstalled):
            host.defender.include(what, path)
        if self._is_there(host, name):
            return f"Microsoft Defender keeps its exclusion of {name}: a policy or tamper protection may"
        return None

    def _exclude(self, host: Host, name: str) -> None:
        what, _, path = name.partition(" ")
        host.defender.exclude(what, path)
        if not self._is_there(host, name):
            # It says that it has done so, also where it does not.
            raise NotWell(
                f"Microsoft Defender took the exclusion of {name} and does not have it: tamper protection or"
                " a group policy does not let it; have it excluded there, or leave it out"
            )

    def _is_there(self, host: Host, name: str) -> bool:
        return self.observe(host, name, _EXCLUDED) == _EXCLUDED


def _comparable(path: str) -> str:
    return path.rstrip("\\").lower()


KIND = DefenderExclusionResource()
