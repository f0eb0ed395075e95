"""A certificate among those that Windows believes."""

import base64
from contextlib import suppress

from agent.certificates import load_der, printable_name
from agent.host.errors import NotFound
from agent.host.port import ROOT_CERTIFICATES, Host
from agent.resources.kind import Kept, Kind, NotWell, State, Value
from agent.spec.machine import TrustedCertificate

_CERTIFICATE = "certificate"
"""The whole of it, in base64: a kilobyte or two, and so it can come back when somebody has removed it."""


class TrustedCertificateResource(Kind[TrustedCertificate]):
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

    def apply(self, host: Host, want: TrustedCertificate, found: State | None, kept: Kept) -> None:  # noqa: ARG002 - it was none
        _add(host, want.encoded)

    def restore(self, host: Host, name: str, before: State | None, manner: State, kept: Kept) -> str | None:  # noqa: ARG002
        if before is not None:
            _add(host, base64.b64decode(str(before[_CERTIFICATE])))
            return None
        with suppress(NotFound):
            host.roots.remove(name)
        if host.roots.read(name) is not None:
            return (
                f"root certificate {name} is still believed: Windows, or a policy, has it from elsewhere, too"
            )
        return None


def _state(encoded: bytes) -> State:
    return {_CERTIFICATE: base64.b64encode(encoded).decode()}


def _add(host: Host, encoded: bytes) -> None:
    """Read back: Windows may say that it has it."""
    host.roots.add(encoded)
    key = TrustedCertificate(encoded).key
    if host.roots.read(key.name) != encoded:
        raise NotWell(
            f"Windows took {key} and does not have it: a policy may keep it from that; ask for it there"
        )


KIND = TrustedCertificateResource()
