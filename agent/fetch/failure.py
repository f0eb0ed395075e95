"""Why nothing came."""

import enum
import errno
import socket
from http import HTTPStatus


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


def described(status: int) -> str:
    """Return a status in the words that belong to it, not in those that the server likes."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
