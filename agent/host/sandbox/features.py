"""Parts of Windows that can be switched on, as a document of their states.

features.json may have for a feature its `state`, its `parent`, whether it needs a `restart`, and the error
code that a change of it `refuses` with; for all that it does not have a plausible Windows Server is taken.
"""

from typing import Any

from agent.host import winerror
from agent.host.errors import NotFound, host_error
from agent.host.port import FeatureState
from agent.host.sandbox.state import Document, State

DOCUMENT = "features.json"
_PARENT_IS_OFF = 0xC004_000D

_ON, _OFF = FeatureState.ENABLED.name, FeatureState.DISABLED.name
_AT_INSTALLATION: dict[str, dict[str, Any]] = {
    "Containers": {"state": _ON, "restart": True},
    "Microsoft-Hyper-V": {"state": _OFF, "restart": True},
    "RemoteAccess": {"state": _OFF},
    "RemoteAccessServer": {"state": _OFF, "parent": "RemoteAccess", "restart": True},
    "RasRoutingProtocols": {"state": _OFF, "parent": "RemoteAccessServer"},
    "NetFx3": {"state": FeatureState.REMOVED.name},
    "TelnetClient": {"state": _OFF},
}


class SandboxFeatures:
    def __init__(self, state: State) -> None:
        self._state = state

    def state(self, name: str) -> FeatureState | None:
        features = _all(self._state.read(DOCUMENT))
        key = _key(features, name)
        return None if key is None else FeatureState[features[key]["state"]]

    def enable(self, name: str, *, with_parents: bool) -> bool:
        with self._state.changing(DOCUMENT) as document:
            features = _all(document)
            chain = [_known(features, "enable", name)]
            while parent := features[chain[-1]].get("parent"):
                chain.append(parent)
            for each in reversed(chain):
                if each != chain[0] and not with_parents and not _is_on(features[each]):
                    raise host_error("enable", f"Windows feature {name}", _PARENT_IS_OFF)
                if features[each]["state"] == FeatureState.REMOVED.name:
                    raise host_error("enable", f"Windows feature {name}", winerror.CBS_E_SOURCE_MISSING)
                _turn(features[each], FeatureState.ENABLED, FeatureState.ENABLE_PENDING)
            document.update(features)
            return any(features[each]["state"] == FeatureState.ENABLE_PENDING.name for each in chain)

    def disable(self, name: str) -> bool:
        with self._state.changing(DOCUMENT) as document:
            features = _all(document)
            key = _known(features, "disable", name)
            _turn(features[key], FeatureState.DISABLED, FeatureState.DISABLE_PENDING)
            document.update(features)
            return bool(features[key]["state"] == FeatureState.DISABLE_PENDING.name)


def take_effect(state: State) -> None:
    """What a start of Windows does first."""
    with state.changing(DOCUMENT) as document:
        for feature in document.values():
            if feature["state"] == FeatureState.ENABLE_PENDING.name:
                feature["state"] = _ON
            elif feature["state"] == FeatureState.DISABLE_PENDING.name:
                feature["state"] = _OFF


def _all(document: Document) -> dict[str, dict[str, Any]]:
    return {name: {**_AT_INSTALLATION.get(name, {}), **document.get(name, {})} for name in _names(document)}


def _names(document: Document) -> list[str]:
    return [*_AT_INSTALLATION, *(name for name in document if name not in _AT_INSTALLATION)]


def _key(features: Document, name: str) -> str | None:
    return next((each for each in features if each.lower() == name.lower()), None)


def _known(features: Document, action: str, name: str) -> str:
    key = _key(features, name)
    if key is None:
        raise NotFound(action, f"Windows feature {name}", winerror.DISMAPI_E_UNKNOWN_FEATURE)
    if code := features[key].get("refuses"):
        raise host_error(action, f"Windows feature {name}", code)
    return key


def _is_on(feature: Document) -> bool:
    return feature["state"] in (_ON, FeatureState.ENABLE_PENDING.name)


def _turn(feature: Document, goal: FeatureState, meanwhile: FeatureState) -> None:
    """One that waits for a restart to become another is what it was again at once."""
    if feature["state"] in (goal.name, meanwhile.name):
        return
    was_to_become_another = feature["state"] in (
        FeatureState.ENABLE_PENDING.name,
        FeatureState.DISABLE_PENDING.name,
    )
    waits = feature.get("restart") and not was_to_become_another
    feature["state"] = meanwhile.name if waits else goal.name
