"""What the checks are about, a machine and what it is to become, and what they find."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from agent.host.errors import HostError
from agent.host.port import Host
from agent.spec import File, Key, Service, Specification

Subject = TypeVar("Subject")


class Verdict(enum.Enum):
    GOOD = "ok"
    WARNING = "warning"
    ERROR = "error"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found."""

    check: str
    """Its id."""
    verdict: Verdict
    text: str
    """One line. Of a warning or an error it says what to do."""

    @property
    def is_error(self) -> bool:
        return self.verdict is Verdict.ERROR

    def forgiven(self) -> Finding:
        """An error that somebody knows of and goes on in spite of."""
        return replace(self, verdict=Verdict.WARNING) if self.is_error else self


_NAME = "kubelet"
_PORT = 10250
_HEALTH_PORT = 10248
_PIPE = "containerd-containerd"
_LARGEST = 4 << 20
_ENDPOINT = re.compile(r"(?:npipe:)?[/\\]{2,4}(?:\.[/\\])?pipe[/\\](?P<name>[^/\\]+)", re.IGNORECASE)


def finding(name: str, check: Callable[[Subject], tuple[Verdict, str]], about: Subject) -> Finding:
    """Return what a check of that id finds."""
    try:
        return Finding(name, *check(about))
    except HostError as fault:
        return Finding(name, Verdict.ERROR, str(fault))


@dataclass(frozen=True, slots=True)
class WantedKubelet:
    """What of the wanted kubelet its machine has to make room for: ports and the pipe of its runtime."""

    service: str = _NAME
    port: int = _PORT
    health_port: int | None = _HEALTH_PORT
    """None where nobody is to answer on this machine alone."""
    pipe: str | None = _PIPE
    """Of its container runtime; None where that is reached otherwise."""

    @classmethod
    def of(cls, specification: Specification) -> WantedKubelet:
        """Where nothing is said, what every kubelet has."""
        wants = specification.by_key()
        service = wants.get(Key(Service.kind, _NAME))
        if not isinstance(service, Service):
            return cls()
        flags = _flags(service)
        configured = _configuration(flags.get("config", ""), wants)
        port = _number(flags.get("port", configured.get("port")))
        endpoint = flags.get("container-runtime-endpoint") or configured.get("containerRuntimeEndpoint") or ""
        return cls(
            service.name,
            port or _PORT,
            service.health.port if service.health else None,
            _pipe(str(endpoint)) if endpoint else _PIPE,
        )


def _flags(service: Service) -> Mapping[str, str]:
    """Those of the form that wmcb gives them."""
    found = {}
    for word in service.arguments:
        name, equals, value = word.partition("=")
        if name.startswith("--") and equals:
            found[name.removeprefix("--")] = value
    return found


def _configuration(path: str, wants: Mapping[Key, Any]) -> Mapping[str, Any]:
    file = wants.get(Key(File.kind, path))
    if not isinstance(file, File) or file.content is None or file.content.size > _LARGEST:
        return {}
    try:
        document = json.loads(b"".join(file.content.blocks()))
    except ValueError:
        return {}
    return document if isinstance(document, dict) else {}


def _number(value: object) -> int | None:
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and 0 < int(text) < 1 << 16 else None


def _pipe(endpoint: str) -> str | None:
    found = _ENDPOINT.fullmatch(endpoint)
    return found["name"] if found else None


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
