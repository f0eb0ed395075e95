"""Why TLS with a server does not come about, in words that say what to do."""

from __future__ import annotations

import ssl
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agent.certificates import host_names, is_valid_at, load_der, printable_name
from agent.fetch.failure import Doubt, Failed, NotTrusted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from cryptography.x509 import Certificate

# OpenSSL's X509_V_ERR_*; Python has no names for them.
_NOT_IN_TIME = {9, 10}
_SIGNED_BY_ITSELF = 18
_NOT_KNOWN = {2, 7, 19, 20, 21}
"""Among them a wrong signature: an authority of that name is known, but it was another that signed."""
_NOT_FOR_SERVERS = 26
_NOT_THIS_NAME = {62, 64}
_TOO_WEAK = {66, 67, 68}

# The last is all that OpenSSL 3.5 says, Python 3.14's, of one that speaks before it is spoken to.
_NOT_TLS = {
    "WRONG_VERSION_NUMBER",
    "HTTP_REQUEST",
    "UNKNOWN_PROTOCOL",
    "PACKET_LENGTH_TOO_LONG",
    "RECORD_LAYER_FAILURE",
}
_OLD_TLS = {"UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION"}
_WANTS_CERTIFICATE = {"TLSV13_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_BAD_CERTIFICATE"}

_MOST_NAMES = 8

_REMEDY = (
    "if that is right, add it to the authorities to trust, or to this machine's trusted root certificates"
)
_PUBLIC_ON_WINDOWS = " (a public one Windows itself adds when Invoke-WebRequest opens the URL in PowerShell)"
"""Many that it trusts it fetches when they are first needed, and only by programs that leave it to judge."""


def of_session(fault: ssl.SSLError, place: str) -> Failed:
    """Not for a certificate that this side refused."""
    # Python 3.11.2, which is Debian 12's, has the reason alone.
    if isinstance(fault, ssl.SSLEOFError) or fault.reason == "UNEXPECTED_EOF_WHILE_READING":
        return Failed(f"{place} breaks off in the middle of TLS", transient=True)
    if fault.reason in _NOT_TLS:
        return Failed(f"{place} does not speak TLS; is the port right, and is https?")
    if fault.reason in _OLD_TLS:
        return Failed(f"{place} speaks no TLS as new as 1.2; nothing older is used")
    if fault.reason in _WANTS_CERTIFICATE:
        return Failed(f"{place} asks for a client certificate, and there is none for it")
    return Failed(f"TLS with {place} fails ({fault.reason or 'no reason given'})")


def of_certificate(
    fault: ssl.SSLCertVerificationError,
    place: str,
    context: ssl.SSLContext,
    look: Callable[[], Sequence[bytes]],
) -> NotTrusted:
    """`look` fetches the certificates that the server shows, its own first; it may fail."""
    try:
        shown = _readable(look())
    except (Failed, OSError):
        shown = []
    known = _readable(context.get_ca_certs(binary_form=True))
    why = _seen(fault.verify_code, shown, known) if shown else None
    doubt = _doubt(fault.verify_code)
    signer = printable_name(shown[-1].issuer) if shown and doubt is Doubt.AUTHORITY else ""
    return NotTrusted(f"the certificate of {place} {why or _unseen(fault)}", doubt, place, signer)


def _doubt(code: int) -> Doubt:
    if code in _NOT_IN_TIME:
        return Doubt.TIME
    if code in _NOT_THIS_NAME:
        return Doubt.NAME
    return Doubt.AUTHORITY if code == _SIGNED_BY_ITSELF or code in _NOT_KNOWN else Doubt.OTHER


def _seen(code: int, shown: Sequence[Certificate], known: Iterable[Certificate]) -> str | None:
    if code in _NOT_IN_TIME:
        return _untimely(shown, known)
    if code in _NOT_THIS_NAME:
        return _misnamed(shown[0])
    if code == _SIGNED_BY_ITSELF:
        return f"is one that it signed itself ({printable_name(shown[0].subject)}); {_REMEDY}"
    if code in _NOT_KNOWN:
        return _unknown(shown, known)
    return None


def _unseen(fault: ssl.SSLCertVerificationError) -> str:
    if fault.verify_code == _NOT_FOR_SERVERS:
        return "is not meant for a server"
    if fault.verify_code in _TOO_WEAK:
        return "or that of its authority has a key or a signature that is too weak"
    return f"is not trusted: {fault.verify_message} (OpenSSL's verify error {fault.verify_code})"


def _untimely(shown: Sequence[Certificate], known: Iterable[Certificate]) -> str:
    now = datetime.now(UTC)
    issuers = {certificate.issuer for certificate in shown}
    chain = [*shown, *(certificate for certificate in known if certificate.subject in issuers)]
    late = next((certificate for certificate in chain if not is_valid_at(certificate, now)), shown[0])
    name = printable_name(late.subject)
    which = "" if late is shown[0] else f"has an authority ({name}) whose own certificate "
    clock = f"this machine's clock says {now:%Y-%m-%d %H:%M} UTC"
    if now < late.not_valid_before_utc:
        first = f"{late.not_valid_before_utc:%Y-%m-%d %H:%M} UTC"
        return f"{which}is not valid before {first}; {clock}: is that right?"
    renew = f"{clock}: if that is right, the certificate must be renewed"
    return f"{which}expired at {late.not_valid_after_utc:%Y-%m-%d %H:%M} UTC; {renew}"


def _misnamed(certificate: Certificate) -> str:
    known = host_names(certificate)
    if not known:
        return "names no host that it is for (no subject alternative name); it must be made anew"
    more = len(known) - _MOST_NAMES
    names = ", ".join(known[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
    return f"is not for that name but for {names}"


def _unknown(shown: Sequence[Certificate], known: Iterable[Certificate]) -> str:
    top = shown[-1]
    missing = f"the authority {printable_name(top.issuer)}"
    if any(certificate.subject == top.issuer for certificate in known):
        return (
            f"is signed by {missing}; an authority of that name is trusted here, but with another key: "
            "perhaps what names it was made for another cluster, or before this one was made anew"
        )
    public = _PUBLIC_ON_WINDOWS if sys.platform == "win32" else ""
    return f"is signed by {missing}, which is not trusted here; {_REMEDY}{public}"


def _readable(found: Iterable[bytes]) -> list[Certificate]:
    read = []
    for der in found:
        try:
            read.append(load_der(der))
        except ValueError:
            continue
    return read
