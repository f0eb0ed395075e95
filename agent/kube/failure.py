"""Why the API server did not do what was asked. The class, and the status, are what to decide by."""

from agent.fetch.failure import Doubt


class Failed(Exception):
    """The text is one line for a person: what is wrong, where, what to do. It holds no secret."""

    def __init__(self, text: str, *, transient: bool = False, wait: float = 0.0) -> None:
        super().__init__(text)
        self.transient = transient
        """The same may succeed a little later."""
        self.wait = wait
        """Seconds that the server asks to be left alone for."""


class NotUsable(Failed):
    """What was given cannot be used: a kubeconfig, a certificate, a token, a hash."""


class Unreachable(Failed):
    """No answer, or not all of it: names, routes, proxies, time-outs, cut connections."""


class NotAnApiServer(Unreachable):
    """The answer is no object of Kubernetes'."""


class NotTrusted(Failed):
    """Whoever answers does not prove to be the API server. Nothing was sent there."""

    def __init__(self, text: str, doubt: Doubt, place: str, signer: str = "") -> None:
        super().__init__(text)
        self.doubt = doubt
        self.place = place
        """Host and port, or the proxy."""
        self.signer = signer
        """The authority that vouches for it, where that is none of those to trust."""


class NotProven(Failed):
    """Discovery: neither the token's secret nor the hash of an authority's key vouches for what was found."""


class NotSigned(Failed):
    """Discovery: the cluster does not know the token, or not yet."""


class NotInTime(Failed):
    """What was waited for did not come about, though the API server answered all the while."""


class Refused(Failed):
    """The API server's answer was an error."""

    def __init__(
        self, text: str, status: int, reason: str = "", *, transient: bool = False, wait: float = 0.0
    ) -> None:
        super().__init__(text, transient=transient, wait=wait)
        self.status = status
        self.reason = reason
        """Kubernetes' word for it, as AlreadyExists; empty where somebody else answered."""


class Unauthorized(Refused):
    """It does not know who asks."""


class Forbidden(Refused):
    """It knows who asks, and does not allow it."""


class NotFound(Refused):
    """There is none of that name."""


class Conflict(Refused):
    """It is there already, or was changed by somebody else."""


class Gone(Refused):
    """The version to go on from is forgotten: what is there has to be read anew."""


class Invalid(Refused):
    """What was sent makes no sense to it."""


class Busy(Refused):
    """It cannot answer just now, or has more to do than it wants to."""
