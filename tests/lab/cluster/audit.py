"""Who asked the API server for what, out of its audit log."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

# Every request once it is answered; a watch as soon as it has begun.
POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
"""


@dataclass(frozen=True)
class Request:
    program: str
    user: str
    verb: str
    resource: str
    namespace: str
    name: str
    code: int

    def __str__(self) -> str:
        where = "/".join(part for part in (self.namespace, self.resource, self.name) if part)
        return f"{self.program} as {self.user}: {self.verb} {where} ({self.code})"


class AuditLog:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._from = 0
        self._since = ""

    def forget(self) -> None:
        """Leaves out of `requests` what was asked until now, also what is only answered later."""
        self._from = self.path.stat().st_size if self.path.exists() else 0
        # As the log has it, so that texts compare as their times do.
        self._since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def requests(self) -> list[Request]:
        """What was asked since, in the order of the answers."""
        if not self.path.exists():
            return []
        with self.path.open("rb") as log:
            log.seek(self._from)
            written = log.read()
        # Its last line may be half written.
        events = [json.loads(line) for line in written[: written.rfind(b"\n") + 1].splitlines()]
        return list(_once([each for each in events if each["requestReceivedTimestamp"] >= self._since]))


def _once(events: list[dict[str, object]]) -> Iterator[Request]:
    """A watch has two events, at its beginning and at its end."""
    seen = set()
    for event in events:
        if event["auditID"] not in seen:
            seen.add(event["auditID"])
            yield _request(event)


def _request(event: dict[str, object]) -> Request:
    def part(of: str, name: str) -> str:
        whole = event.get(of)
        return str(whole.get(name, "")) if isinstance(whole, dict) else ""

    status = event.get("responseStatus")
    resource = part("objectRef", "resource") or str(event.get("requestURI", "")).partition("?")[0]
    below = part("objectRef", "subresource")
    return Request(
        program=str(event.get("userAgent", "")).partition("/")[0],
        user=part("user", "username"),
        verb=str(event["verb"]),
        resource=f"{resource}/{below}" if below else resource,
        namespace=part("objectRef", "namespace"),
        name=part("objectRef", "name"),
        code=int(status["code"]) if isinstance(status, dict) and "code" in status else 0,
    )
