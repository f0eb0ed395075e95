"""Parts of Windows that can be switched on, by the DISM API."""

from contextlib import AbstractContextManager

from agent.host import winerror
from agent.host.errors import Unsupported
from agent.host.port import Clock, FeatureState
from agent.host.windows.failure import Advices, Win32Error, telling

_ADVICES: Advices = {
    Unsupported: "it has no dismapi.dll",
    winerror.ERROR_ELEVATION_REQUIRED: "run this as an administrator",
    winerror.CBS_E_SOURCE_MISSING: (
        "its files are not on this machine: add it by Windows' installation medium"
    ),
    0x800F_0902: "Windows installs something else just now; try again later",
    0xC004_000D: "what it is part of is not enabled; say withParents: true",
}
_STATES = {
    0: FeatureState.DISABLED,  # not present
    1: FeatureState.DISABLE_PENDING,
    2: FeatureState.DISABLED,  # staged
    3: FeatureState.REMOVED,
    4: FeatureState.ENABLED,
    5: FeatureState.ENABLE_PENDING,
    6: FeatureState.DISABLED,  # superseded
    7: FeatureState.DISABLED,  # in part
}


_JUST_NOW_SECONDS = 5.0
"""A look starts a program of Windows' and takes seconds itself, and a run looks several times."""


class WindowsFeatures:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seen: dict[str, tuple[float, FeatureState | None]] = {}

    def state(self, name: str) -> FeatureState | None:
        seen = self._seen.get(name.lower())
        if seen is None or self._clock.monotonic() > seen[0] + _JUST_NOW_SECONDS:
            state = self._state(name)
            self._seen[name.lower()] = seen = self._clock.monotonic(), state
        return seen[1]

    def _state(self, name: str) -> FeatureState | None:
        with _telling("read", name):
            from agent.host.windows.api import dism  # noqa: PLC0415 - loads dismapi.dll, where there is one

            try:
                with dism.session() as session:
                    return _STATES[dism.state(session, name)]
            except Win32Error as failure:
                if failure.winerror == winerror.DISMAPI_E_UNKNOWN_FEATURE:
                    return None
                raise

    def enable(self, name: str, *, with_parents: bool) -> bool:
        self._seen.clear()
        with _telling("enable", name):
            from agent.host.windows.api import dism  # noqa: PLC0415 - loads dismapi.dll, where there is one

            with dism.session() as session:
                return dism.enable(session, name, with_parents=with_parents)

    def disable(self, name: str) -> bool:
        self._seen.clear()
        with _telling("disable", name):
            from agent.host.windows.api import dism  # noqa: PLC0415 - loads dismapi.dll, where there is one

            with dism.session() as session:
                return dism.disable(session, name)


def _telling(action: str, name: str) -> AbstractContextManager[None]:
    return telling(action, f"Windows feature {name}", advices=_ADVICES)
