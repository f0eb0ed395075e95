"""What of the wanted kubelet its machine has to make room for: ports and the pipe of its runtime."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent.spec import File, Key, Service, Specification

_NAME = "kubelet"
_PORT = 10250
_HEALTH_PORT = 10248
_PIPE = "containerd-containerd"
_LARGEST = 4 << 20
_ENDPOINT = re.compile(r"(?:npipe:)?[/\\]{2,4}(?:\.[/\\])?pipe[/\\](?P<name>[^/\\]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WantedKubelet:
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
