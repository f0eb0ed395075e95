"""A node of an Ignition: the document read with all that it refers to, and compiled."""

import math
import os
from collections.abc import Callable, Iterator
from functools import cached_property

from agent.cli import options, values
from agent.cli.arguments import Request
from agent.cli.asking import Asking, Wishes, usable
from agent.cli.given import given_file, refuse_another_kind
from agent.fetch import address
from agent.fetch.address import Proxies, of_environment
from agent.fetch.failure import Failed
from agent.fetch.fetching import Fetcher, Limits
from agent.fetch.fetching import Request as FetchRequest
from agent.host.port import Host
from agent.sources import ignition, urls, worker
from agent.sources.ignition import FetchFailed, FetchRefused
from agent.spec import Specification

_PATIENCE_SECONDS = 120.0
"""A machine config server is often started at the same time as its first workers."""
_TOTAL_SECONDS = 1800.0


def node_of_ignition(
    request: Request, host: Host, asking: Asking, wish: Callable[[], Wishes]
) -> tuple[Specification, Wishes]:
    """Return what the document wants of this machine. Raises BadUsage."""
    document = given_file(request, asking.ignition, host)
    fetch = IgnitionFetch(request, asking.notice, asking.fetched)
    refuse_another_kind(document, options.IGNITION, host)
    limits = ignition.Limits.of_files(values.largest_file(request, ignition.LARGEST_FILE))
    outcome = ignition.load(document.shown, document.read(), fetch, limits)
    wished = wish()
    compiled = worker.compiled(outcome, wished.node, wished.release(), wished.placement, fetch)
    return usable(compiled.specification, compiled.report, asking), wished


class IgnitionFetch:
    """Fetches all that an Ignition or user data refers to: documents, authorities, contents of files.

    Most documents carry all that they need: nothing of the network is asked before it is used.
    """

    def __init__(
        self, request: Request, notice: Callable[[str], None], fetched: list[str] | None = None
    ) -> None:
        """`request` limits the seconds that are spent on each URL, and says whether plain http may be used.
        `notice` takes a line for a person. To `fetched` each URL is added that is asked for.
        """
        self._fetched = [] if fetched is None else fetched
        self._notice = notice
        self._most = values.seconds(request, options.MAX_TIME, math.inf)
        self._plain_http = request.has(options.ALLOW_PLAIN_HTTP)

    @cached_property
    def _fetcher(self) -> Fetcher:
        return Fetcher(notice=self._notice)

    def __call__(self, request: ignition.Request) -> Iterator[bytes]:
        self._fetched.append(request.url)
        network = request.network
        limits = Limits(
            patience=min(_PATIENCE_SECONDS, self._most),
            answer=min(network.response_timeout or _TOTAL_SECONDS, self._most),
            total=min(network.total_timeout or _TOTAL_SECONDS, self._most),
        )
        asked = FetchRequest(
            request.url, request.headers, proxies=_proxies(network), authorities=network.authorities
        )
        try:
            is_plain = not address.parse(request.url).secure
        except Failed as fault:
            raise FetchRefused(str(fault)) from fault
        if is_plain and request.packing.wanted is None:
            self._refuse_plain_http(request.url)
        try:
            yield from self._fetcher.blocks(asked, limits)
        except Failed as failure:
            raise FetchFailed(str(failure)) from failure

    def _refuse_plain_http(self, url: str) -> None:
        """What comes so decides what runs as SYSTEM, and anyone on the way could change it."""
        if not self._plain_http:
            raise FetchRefused(
                f"{urls.shown(url)} is plain http without a digest, which anyone on the way can change: use "
                "https, give its digest (verification.hash; #include can have none), or allow it by "
                f"{options.ALLOW_PLAIN_HTTP.name}"
            )


def _proxies(network: ignition.Network) -> Proxies:
    if network.http_proxy or network.https_proxy:
        return Proxies(network.http_proxy, network.https_proxy, network.no_proxy)
    return of_environment(os.environ)
