"""What a cloud tells its machines about themselves, at an address that only they reach."""

from agent.fetch.address import Headers
from agent.fetch.deadline import Clock
from agent.fetch.fetching import Fetcher, Limits, Request

_LARGEST = 1 << 20


def get(
    url: str, headers: Headers = (), method: str = "GET", seconds: float = 10.0, clock: Clock | None = None
) -> bytes:
    """The body of the answer, past all proxies. Raises Failed, whose `status` tells what was answered.

    Asked again, within `seconds`, where a service that is still starting would answer later.
    """
    request = Request(url, headers, method)
    limits = Limits(
        patience=seconds, answer=seconds, silence=seconds, total=seconds, size=_LARGEST, redirects=0
    )
    return Fetcher(clock).body(request, limits)
