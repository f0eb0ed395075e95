"""What a cloud's metadata service answers, without the cloud."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from agent.cli import wanted
from agent.fetch.failure import Failed

AWS = {
    "/latest/api/token": b"a-token",
    "/latest/meta-data/local-hostname": b"ip-10-0-1-2.ec2.internal",
    "/latest/meta-data/placement/availability-zone": b"eu-west-1a",
    "/latest/meta-data/instance-id": b"i-0123456789",
}


@dataclass
class Metadata:
    answers: dict[str, bytes] = field(default_factory=dict)

    def install(self, patch: pytest.MonkeyPatch) -> None:
        patch.setattr(wanted, "get_metadata", self._get)

    def _get(self, url: str, headers: object, method: str) -> bytes:  # noqa: ARG002 - as the real one
        answer = self.answers.get(url.removeprefix("http://169.254.169.254"))
        if answer is None:
            raise Failed("169.254.169.254:80 answers 404 Not Found", status=404)
        return answer
