"""The fields of kubeadm's configurations for a node, version by version, and what each may hold."""

from __future__ import annotations

import datetime
import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass

from agent.documents import Value
from agent.sources.durations import seconds
from agent.sources.kubelet.documents import Document
from agent.sources.report import Entry, Place, Severity, quoted_key

GROUP = "kubeadm.k8s.io"


class Shape(enum.Enum):
    TEXT = "text"
    FLAG = "true or false"
    WHOLE = "a whole number"
    DURATION = "a duration such as 5m0s"
    TIME = "a time such as 2030-01-02T03:04:05Z"
    ANYTHING = "anything"


@dataclass(frozen=True, slots=True)
class ListOf:
    item: Form


@dataclass(frozen=True, slots=True)
class MapOf:
    value: Form


@dataclass(frozen=True, slots=True)
class Fields:
    forms: Mapping[str, Form]


Form = Shape | ListOf | MapOf | Fields

_TEXTS = ListOf(Shape.TEXT)


def _each(names: str, form: Form) -> dict[str, Form]:
    """Fields of one form."""
    return dict.fromkeys(names.split(), form)


_HEAD = _each("apiVersion kind", Shape.TEXT)
_PATCHES = Fields({"directory": Shape.TEXT})
_TAINT = Fields({**_each("key value effect", Shape.TEXT), "timeAdded": Shape.TIME})
_NODE_REGISTRATION: dict[str, Form] = {
    **_each("name criSocket imagePullPolicy", Shape.TEXT),
    "taints": ListOf(_TAINT),
    "ignorePreflightErrors": _TEXTS,
}
_BOOTSTRAP_TOKEN: dict[str, Form] = {
    **_each("token apiServerEndpoint", Shape.TEXT),
    "caCertHashes": _TEXTS,
    "unsafeSkipCAVerification": Shape.FLAG,
}
_DISCOVERY: dict[str, Form] = {
    "bootstrapToken": Fields(_BOOTSTRAP_TOKEN),
    "file": Fields({"kubeConfigPath": Shape.TEXT}),
    "tlsBootstrapToken": Shape.TEXT,
}
_JOIN: dict[str, Form] = {
    **_HEAD,
    "caCertPath": Shape.TEXT,
    "controlPlane": Shape.ANYTHING,
    "skipPhases": _TEXTS,
    "patches": _PATCHES,
}
_TIMEOUTS = Fields(
    _each(
        "controlPlaneComponentHealthCheck kubeletHealthCheck kubernetesAPICall etcdAPICall tlsBootstrap"
        " discovery upgradeManifests",
        Shape.DURATION,
    )
)

VERSIONS: Mapping[str, Fields] = {
    "v1beta3": Fields(
        {
            **_JOIN,
            "nodeRegistration": Fields({**_NODE_REGISTRATION, "kubeletExtraArgs": MapOf(Shape.TEXT)}),
            "discovery": Fields({**_DISCOVERY, "timeout": Shape.DURATION}),
        }
    ),
    "v1beta4": Fields(
        {
            **_JOIN,
            "nodeRegistration": Fields(
                {
                    **_NODE_REGISTRATION,
                    "kubeletExtraArgs": ListOf(Fields(_each("name value", Shape.TEXT))),
                    "imagePullSerial": Shape.FLAG,
                }
            ),
            "discovery": Fields(_DISCOVERY),
            "timeouts": _TIMEOUTS,
            "dryRun": Shape.FLAG,
        }
    ),
}
DEPRECATED = "v1beta3"

RESET_VERSIONS: Mapping[str, Fields] = {
    "v1beta4": Fields(
        {
            **_HEAD,
            **_each("certificatesDir criSocket", Shape.TEXT),
            **_each("cleanupTmpDir dryRun force", Shape.FLAG),
            **_each("ignorePreflightErrors skipPhases unmountFlags", _TEXTS),
            "timeouts": _TIMEOUTS,
        }
    )
}

_PLANNED: dict[str, Form] = {
    "kubernetesVersion": Shape.TEXT,
    **_each("allowExperimentalUpgrades allowRCUpgrades dryRun etcdUpgrade printConfig", Shape.FLAG),
    "ignorePreflightErrors": _TEXTS,
}
_OF_A_NODE: dict[str, Form] = {
    **_each("certificateRenewal dryRun etcdUpgrade imagePullSerial", Shape.FLAG),
    **_each("ignorePreflightErrors skipPhases", _TEXTS),
    "patches": _PATCHES,
    "imagePullPolicy": Shape.TEXT,
}
UPGRADE_VERSIONS: Mapping[str, Fields] = {
    "v1beta4": Fields(
        {
            **_HEAD,
            "apply": Fields({**_PLANNED, **_OF_A_NODE, "forceUpgrade": Shape.FLAG}),
            "diff": Fields({"kubernetesVersion": Shape.TEXT, "contextLines": Shape.WHOLE}),
            "node": Fields(_OF_A_NODE),
            "plan": Fields(_PLANNED),
            "timeouts": _TIMEOUTS,
        }
    )
}

_NULL_IN: Mapping[Shape, Value] = {Shape.TEXT: "", Shape.FLAG: False, Shape.WHOLE: 0}
"""In a list or a map, null is the empty value; elsewhere it is none."""

_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)T([01]?\d|2[0-3]):[0-5]\d:[0-5]\d([.,]\d+)?"
    r"(Z|[-+]([01]\d|2[0-4]):([0-5]\d|60))",
    re.ASCII,
)


@dataclass(slots=True)
class Checking:
    """Makes of a document what its version knows of it; what is wrong goes into `entries`."""

    document: Document
    unknown: Severity
    """A warning where kubeadm warns, an error where it validates."""
    entries: list[Entry]

    def of(self, form: Form, value: Value, place: Place) -> Value:
        """None for what is none, or wrong."""
        if value is None:
            return None
        if isinstance(form, Fields) and isinstance(value, dict):
            return self._fields(form, value, place)
        if isinstance(form, ListOf) and isinstance(value, list):
            return [self._inside(form.item, item, (*place, number)) for number, item in enumerate(value)]
        if isinstance(form, MapOf) and isinstance(value, dict):
            return {key: self._inside(form.value, item, (*place, key)) for key, item in value.items()}
        if isinstance(form, Shape):
            if _has_shape(value, form):
                return value
            expected = form.value
        else:
            expected = "a list" if isinstance(form, ListOf) else "a mapping"
        self.entries.append(self.document.entry(Severity.ERROR, place, f"{expected} was expected"))
        return None

    def _fields(self, form: Fields, value: dict[str, Value], place: Place) -> Value:
        made: dict[str, Value] = {}
        for key, inner in value.items():
            here = (*place, key)
            if key not in form.forms:
                ignored = "; it is ignored" if self.unknown is Severity.WARNING else ""
                message = f"kubeadm knows no field {quoted_key(key)} here{ignored}"
                self.entries.append(self.document.entry(self.unknown, here, message))
                continue
            made[key] = self.of(form.forms[key], inner, here)
        return made

    def _inside(self, form: Form, value: Value, place: Place) -> Value:
        if value is None:
            return {} if isinstance(form, Fields) else _NULL_IN[form] if isinstance(form, Shape) else None
        return self.of(form, value, place)


def _has_shape(value: Value, shape: Shape) -> bool:
    if shape is Shape.ANYTHING:
        return True
    if shape is Shape.FLAG:
        return isinstance(value, bool)
    if shape is Shape.WHOLE:
        return isinstance(value, int) and not isinstance(value, bool)
    if not isinstance(value, str):
        return False
    if shape is Shape.DURATION:
        return seconds(value) is not None
    return shape is Shape.TEXT or _is_time(value)


def _is_time(text: str) -> bool:
    found = _TIME.fullmatch(text)
    if found is None:
        return False
    year, month, day = (int(found[number]) for number in (1, 2, 3))
    try:
        # Python knows no year 0, which is a leap year.
        datetime.date(year or 4, month, day)
    except ValueError:
        return False
    return True
