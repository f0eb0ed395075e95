"""Who vouches for a server: this machine's authorities, or those that a document names.

certifi's bundle, which requests would use, is never one of them.
"""

import platform
import ssl
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from agent.fetch.failure import Failed

if sys.platform == "win32":
    # truststore asks while it is imported. platform asks WMI for that: 0.4 s under Wine.
    platform.system = lambda: "Windows"
import truststore

Trust = Callable[[], Sequence[ssl.SSLContext]]
"""Makes the contexts for one connection: a server is trusted if it is by one of them, tried in order."""


def machine() -> ssl.SSLContext:
    """Trust whom this machine trusts. Windows itself judges, and fetches the roots that it has not got yet.

    For one connection: truststore lets one at a time be judged by a context, and Windows may use the network
    for that. Windows judges last: a client certificate has been shown by then.
    """
    return _strict(truststore.SSLContext(ssl.PROTOCOL_TLS_CLIENT))


def only(authorities: Iterable[bytes]) -> ssl.SSLContext:
    """Trust `authorities` (PEM) alone. Raises Failed."""
    context = _strict(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    for text in authorities:
        # Python hands OpenSSL nothing but ASCII; what is none stands in comments, or makes no base64.
        ascii_text = text.decode("ascii", "replace").replace("\ufffd", "?")
        try:
            context.load_verify_locations(cadata=ascii_text)
        except (ssl.SSLError, ValueError):
            raise Failed(
                "one of the certificate authorities to trust is no certificate in PEM form"
            ) from None
    return context


def machine_and(authorities: Sequence[bytes]) -> Sequence[ssl.SSLContext]:
    """Trust whom this machine trusts, and `authorities` (PEM) as well.

    Two contexts, and a second connection where the first refuses: Windows' judgement and OpenSSL's cannot be
    had in one handshake, and Windows' list of roots alone, which OpenSSL could be given, is not whom Windows
    trusts. Those of the document come first, since Windows may ask the network for long about an authority
    that it does not know.
    """
    return (only(authorities), machine()) if authorities else (machine(),)


def unverified() -> ssl.SSLContext:
    """Trust any server: to look at a certificate, or to ask for what is proved in another way. Nothing is to
    be believed, and no secret sent, unless the user wants it so.
    """
    context = _strict(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT))
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def is_machines(context: ssl.SSLContext) -> bool:
    """Return whether it is the machine's trust that judges by this context."""
    return isinstance(context, truststore.SSLContext)


def named_in(contexts: Iterable[ssl.SSLContext]) -> list[bytes]:
    """Return the authorities (DER) that a document names."""
    found: list[bytes] = []
    for context in contexts:
        with suppress(NotImplementedError):  # truststore's has none of its own
            found += context.get_ca_certs(binary_form=True)
    return found


def _strict(context: ssl.SSLContext) -> ssl.SSLContext:
    # Not ssl.create_default_context: it writes the keys of each connection to a file if a variable of the
    # environment says so, and from Python 3.13 on it is stricter with authorities than Go is, on which a
    # cluster's other nodes rely.
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # As Go has it: an authority that is trusted need not be a root, and only alternative names are names.
    # Neither counts where Windows judges.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.hostname_checks_common_name = False
    # Else a connection that is cut looks like the end of an answer that does not tell its length.
    context.options &= ~getattr(ssl, "OP_IGNORE_UNEXPECTED_EOF", 0)
    return context
