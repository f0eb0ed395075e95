"""A certificate among those that Windows believes."""

import base64
from contextlib import suppress

from agent.certificates import load_der, printable_name
from agent.host.errors import NotFound
from agent.host.port import ROOT_CERTIFICATES, Host
from agent.resources.kind import NotWell, Setting, State, Value
from agent.spec.machine import TrustedCertificate

_CERTIFICATE = "certificate"
"""The whole of it, in base64: a kilobyte or two, and so it can come back when somebody has removed it."""


class TrustedCertificateResource(Setting[TrustedCertificate]):
    firm = frozenset({_CERTIFICATE})
    common_keys = (ROOT_CERTIFICATES,)

    def wanted(self, want: TrustedCertificate) -> State:
        return _state(want.encoded)

    def observe(self, host: Host, name: str, wanted: State) -> State | None:  # noqa: ARG002 - it has one field
        found = host.roots.read(name)
        return None if found is None else _state(found)

    def shown(self, field: str, value: Value, manner: State) -> str:
        if value is None:
            return super().shown(field, value, manner)
        certificate = load_der(base64.b64decode(str(value)))
        return f"{printable_name(certificate.subject)}, until {certificate.not_valid_after_utc:%Y-%m-%d}"

    def put(self, host: Host, name: str, state: State) -> None:
        """Read back: Windows may say that it has it."""
        encoded = base64.b64decode(str(state[_CERTIFICATE]))
        host.roots.add(encoded)
        if host.roots.read(name) != encoded:
            raise NotWell(
                f"Windows took trusted certificate {name} and does not have it: a policy may keep it from"
                " that; ask for it there"
            )

    def take_away(self, host: Host, name: str) -> str | None:
        with suppress(NotFound):
            host.roots.remove(name)
        if host.roots.read(name) is None:
            return None
        return f"root certificate {name} is still believed: Windows, or a policy, has it from elsewhere, too"


def _state(encoded: bytes) -> State:
    return {_CERTIFICATE: base64.b64encode(encoded).decode()}
