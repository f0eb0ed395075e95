"""Why nothing came, in words that say what to do: by type and code alone."""

from __future__ import annotations

import enum
import errno
import socket
import ssl
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agent.certificates import host_names, is_valid_at, load_der, printable_name

if TYPE_CHECKING:
    from cryptography.x509 import Certificate


# OpenSSL's X509_V_ERR_*, for which Python has no names, and what CryptoAPI answers instead.
_CERT_E_EXPIRED = 0x800B0101
_CERT_E_UNTRUSTEDROOT, _CERT_E_CHAINING, _TRUST_E_CERT_SIGNATURE = 0x800B0109, 0x800B010A, 0x80096004
_CERT_E_CN_NO_MATCH, _CERT_E_WRONG_USAGE = 0x800B010F, 0x800B0110
_NOT_IN_TIME = {9, 10, _CERT_E_EXPIRED}
_NOT_KNOWN = {2, 7, 18, 19, 20, 21, _CERT_E_UNTRUSTEDROOT, _CERT_E_CHAINING, _TRUST_E_CERT_SIGNATURE}
"""Among them a wrong signature: an authority of that name is known, but it was another that signed."""
_NOT_FOR_SERVERS = {26, _CERT_E_WRONG_USAGE}
_NOT_THIS_NAME = {62, 64, _CERT_E_CN_NO_MATCH}
_TOO_WEAK = {66, 67, 68}
_CRYPTOAPI = 0x80000000
"""From here on a code is CryptoAPI's."""

# The last is all that OpenSSL 3.5 says, Python 3.14's, of one that speaks before it is spoken to.
_NOT_TLS = {
    *("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "PACKET_LENGTH_TOO_LONG"),
    "RECORD_LAYER_FAILURE",
}
_OLD_TLS = {"UNSUPPORTED_PROTOCOL", "TLSV1_ALERT_PROTOCOL_VERSION"}
_WANTS_CERTIFICATE = {"TLSV13_ALERT_CERTIFICATE_REQUIRED", "SSLV3_ALERT_BAD_CERTIFICATE"}

_MOST_NAMES = 8

_REMEDY = (
    "if that is right, add it to the authorities to trust, or to this machine's trusted root certificates"
)


class Failed(Exception):
    """Nothing came, or not all of it.

    The text is one line for a person. It names hosts, and nothing else of a URL: the rest may be secret.
    """

    def __init__(
        self, text: str, *, transient: bool = False, status: int | None = None, wait: float = 0.0
    ) -> None:
        super().__init__(text)
        self.transient = transient
        """The same may succeed a little later."""
        self.status = status
        """What the server answered, where it did."""
        self.wait = wait
        """Seconds that the server asks to be left alone for."""


class Doubt(enum.Enum):
    TIME = "it is not valid yet, or no longer: it may be the clock of this machine that is wrong"
    AUTHORITY = "nobody who is trusted vouches for it"
    NAME = "it is another host's"
    OTHER = "anything else"


class NotTrusted(Failed):
    """The server's certificate is not believed."""

    def __init__(self, text: str, doubt: Doubt, place: str, signer: str = "") -> None:
        super().__init__(text)
        self.doubt = doubt
        self.place = place
        """Whose it is, as the text has it."""
        self.signer = signer
        """Who vouches for it, where nobody who is trusted does."""


_UNREACHABLE = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EADDRNOTAVAIL, errno.ENETDOWN}
_FORBIDDEN = {errno.EACCES, errno.EPERM}
_WSAEACCES = 10013


def of_name(host: str, fault: socket.gaierror) -> Failed:
    if fault.errno == socket.EAI_AGAIN:
        text = (
            f"the name {host} cannot be looked up: no name server answers; check this machine's DNS settings"
        )
    else:
        text = f"the name {host} has no address; check the name, and this machine's DNS settings"
    # A name that is not there is asked for again too: while a machine starts, its network is not all there.
    return Failed(text, transient=True)


def of_connection(place: str, fault: OSError) -> Failed:
    """Of one that could not be made."""
    if isinstance(fault, ConnectionRefusedError):
        return Failed(f"{place} refuses the connection: nothing listens there", transient=True)
    if fault.errno in _UNREACHABLE:
        return Failed(f"{place} cannot be reached from this machine: there is no route to it", transient=True)
    if fault.errno in _FORBIDDEN or getattr(fault, "winerror", 0) == _WSAEACCES:
        return Failed(f"this machine's firewall forbids the connection to {place}")
    return broken(place, "while it is made", fault)


def broken(place: str, when: str, fault: OSError) -> Failed:
    if isinstance(fault, ConnectionError):
        return Failed(f"the connection to {place} is cut off {when}", transient=True)
    return Failed(f"the connection to {place} fails {when} (error {fault.errno})", transient=True)


def is_cut_off(fault: ssl.SSLError) -> bool:
    """Return whether the connection ended without a word of TLS."""
    # Python 3.11.2, which is Debian 12's, has the reason alone.
    return isinstance(fault, ssl.SSLEOFError) or fault.reason == "UNEXPECTED_EOF_WHILE_READING"


def of_session(fault: ssl.SSLError, place: str) -> Failed:
    """Explain an error of TLS that is no certificate which this side refused."""
    if is_cut_off(fault):
        return Failed(f"{place} breaks off in the middle of TLS", transient=True)
    if fault.reason in _NOT_TLS:
        return Failed(f"{place} does not speak TLS; is the port right, and is https?")
    if fault.reason in _OLD_TLS:
        return Failed(f"{place} speaks no TLS as new as 1.2; nothing older is used")
    if fault.reason in _WANTS_CERTIFICATE:
        return Failed(f"{place} asks for a client certificate, and there is none for it")
    return Failed(f"TLS with {place} fails ({fault.reason or 'no reason given'})")


def doubt_of(fault: ssl.SSLCertVerificationError) -> Doubt:
    code = _code(fault)
    if code in _NOT_IN_TIME:
        return Doubt.TIME
    if code in _NOT_THIS_NAME:
        return Doubt.NAME
    return Doubt.AUTHORITY if code in _NOT_KNOWN else Doubt.OTHER


def of_certificate(
    fault: ssl.SSLCertVerificationError, place: str, known: Iterable[bytes], shown: Iterable[bytes]
) -> NotTrusted:
    """`known` are the authorities of the document, `shown` what the server shows, its own first; each may be
    empty.
    """
    doubt, chain = doubt_of(fault), _readable(shown)
    why = _seen(doubt, chain, _readable(known)) if chain else None
    signer = printable_name(chain[-1].issuer) if chain and doubt is Doubt.AUTHORITY else ""
    return NotTrusted(f"the certificate of {place} {why or _unseen(fault)}", doubt, place, signer)


def _code(fault: ssl.SSLCertVerificationError) -> int:
    # truststore sets none where the server shows no certificate at all.
    return getattr(fault, "verify_code", 0)


def _seen(doubt: Doubt, shown: Sequence[Certificate], known: Sequence[Certificate]) -> str | None:
    if doubt is Doubt.TIME:
        return _untimely(shown, known)
    if doubt is Doubt.NAME:
        return _misnamed(shown[0])
    if doubt is Doubt.AUTHORITY and shown[0].issuer == shown[0].subject:
        return f"is one that it signed itself ({printable_name(shown[0].subject)}); {_REMEDY}"
    return _unknown(shown, known) if doubt is Doubt.AUTHORITY else None


def _unseen(fault: ssl.SSLCertVerificationError) -> str:
    code = _code(fault)
    if code in _NOT_FOR_SERVERS:
        return "is not meant for a server"
    if code in _TOO_WEAK:
        return "or that of its authority has a key or a signature that is too weak"
    if code >= _CRYPTOAPI:
        return f"is not trusted (Windows' error {code:#x})"
    return f"is not trusted: {fault.verify_message} (OpenSSL's verify error {code})"


def _untimely(shown: Sequence[Certificate], known: Iterable[Certificate]) -> str | None:
    now = datetime.now(UTC)
    issuers = {certificate.issuer for certificate in shown}
    chain = [*shown, *(certificate for certificate in known if certificate.subject in issuers)]
    late = next((certificate for certificate in chain if not is_valid_at(certificate, now)), None)
    if late is None:
        return None  # an authority that only this machine knows
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
        return "names no host that it is for (no subject alternative name); it must be issued again"
    more = len(known) - _MOST_NAMES
    names = ", ".join(known[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
    return f"is not for that name but for {names}"


def _unknown(shown: Sequence[Certificate], known: Iterable[Certificate]) -> str:
    top = shown[-1]
    missing = f"the authority {printable_name(top.issuer)}"
    if any(certificate.subject == top.issuer for certificate in known):
        return (
            f"is signed by {missing}; an authority of that name is trusted here, but with another key: "
            "perhaps what names it was made for another cluster, or before this one was rebuilt"
        )
    return f"is signed by {missing}, which is not trusted here; {_REMEDY}"


def _readable(found: Iterable[bytes]) -> list[Certificate]:
    read = []
    for der in found:
        try:
            read.append(load_der(der))
        except ValueError:
            continue
    return read
