"""A part of Windows that can be switched on."""

from contextlib import suppress

from agent.host.errors import HostError
from agent.host.port import FeatureState, Host
from agent.resources.kind import Kept, Kind, State
from agent.spec.machine import WindowsFeature

TAKEN_BACK = "taken_back"
"""In a feature's manner, where somebody has asked that it goes with the rest."""

_FIELD = "feature"
"""Not `state`: that is what a service does just now, to the engine."""
_ON = FeatureState.ENABLED.value
_AFTER_RESTART = {
    FeatureState.ENABLE_PENDING: FeatureState.ENABLED,
    FeatureState.DISABLE_PENDING: FeatureState.DISABLED,
}


class WindowsFeatureResource(Kind[WindowsFeature]):
    firm = frozenset({_FIELD})

    def wanted(self, want: WindowsFeature) -> State:  # noqa: ARG002 - of all alike
        return {_FIELD: _ON}

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - it has one field
        state = host.features.state(name)
        return None if state is None else {_FIELD: _AFTER_RESTART.get(state, state).value}

    def awaits_restart(self, host: Host, name: str) -> str | None:
        with suppress(HostError):  # who wants to know more of it asks for its state, and is told
            state = host.features.state(name)
            if state in _AFTER_RESTART:
                return (
                    f"Windows feature {name} is {_AFTER_RESTART[state].value} when Windows has been restarted"
                )
        return None

    def obstacle(self, want: WindowsFeature, found: State | None) -> str | None:
        if found is None:
            return f"this Windows has no feature {want.name}; mind its spelling, and which edition has it"
        return None

    def apply(self, host: Host, want: WindowsFeature, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - whatever it was
        host.features.enable(want.name, with_parents=want.with_parents)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        if before is not None and before[_FIELD] == _ON:
            host.features.enable(name, with_parents=True)
        elif not manner.get(TAKEN_BACK):
            return f"Windows feature {name} stays enabled: others may rely on it by now"
        else:
            host.features.disable(name)
        return self.awaits_restart(host, name)


KIND = WindowsFeatureResource()
