"""Whom this machine trusts, with those that a document names."""

from __future__ import annotations

import ssl
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from agent.fetch.failure import Failed

if TYPE_CHECKING:
    from collections.abc import Iterable


def trusting(additional: Iterable[bytes]) -> ssl.SSLContext:
    """For connections to servers that the system's authorities vouch for, or one of `additional` (PEM)."""
    context = _context()
    if sys.platform == "win32":
        _trust_what_windows_trusts(context)
    else:
        context.load_default_certs(ssl.Purpose.SERVER_AUTH)
    _trust(context, additional)
    return context


def trusting_only(authorities: Iterable[bytes]) -> ssl.SSLContext:
    """For connections to servers that one of `authorities` (PEM) vouches for, and none of the system's."""
    context = _context()
    _trust(context, authorities)
    return context


def trusting_anybody() -> ssl.SSLContext:
    """To look at a server's certificate, or to ask for what is proved in another way. Nothing is to be
    believed, and no secret sent, unless the user wants it so.
    """
    context = _context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _context() -> ssl.SSLContext:
    # Not ssl.create_default_context: it writes the keys of each connection to a file if a variable of the
    # environment says so, and from Python 3.13 on it is stricter with authorities than Go is, on which a
    # cluster's other nodes rely.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # As Go has it: an authority that is trusted need not be a root, and only alternative names are names.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.hostname_checks_common_name = False
    # Else a connection that somebody cuts looks like the end of an answer that does not tell its length.
    context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    return context


if sys.platform == "win32":

    def _trust_what_windows_trusts(context: ssl.SSLContext) -> None:
        # Not load_default_certs: it also takes the store "CA", where Windows keeps what it came upon on its
        # way to some root, and any file that a variable of the environment names.
        refused = {der for der, _, _ in ssl.enum_certificates("Disallowed")}
        for der, encoding, purposes in ssl.enum_certificates("ROOT"):
            for_servers = purposes if isinstance(purposes, bool) else ssl.Purpose.SERVER_AUTH.oid in purposes
            if encoding == "x509_asn" and for_servers and der not in refused:
                # One that OpenSSL cannot read vouches for nobody; the others still do.
                with suppress(ssl.SSLError):
                    context.load_verify_locations(cadata=der)


def _trust(context: ssl.SSLContext, authorities: Iterable[bytes]) -> None:
    for text in authorities:
        # Python hands OpenSSL nothing but ASCII; what is none stands in comments, or makes no base64.
        ascii_text = text.decode("ascii", "replace").replace("\ufffd", "?")
        try:
            context.load_verify_locations(cadata=ascii_text)
        except (ssl.SSLError, ValueError):
            raise Failed(
                "one of the certificate authorities to trust is no certificate in PEM form"
            ) from None
