"""Contents at once, wherever they are: what came with the configuration, or what has to be fetched."""

from collections.abc import Iterable, Mapping

from agent.sources.ignition import compiling, model
from agent.sources.ignition.contents import TooLarge, Unsound

ALLOW_MORE = "if that is right, --max-file-size allows more"

HEADERS = {
    "Accept": "application/vnd.coreos.ignition+json;version=3.6.0, */*;q=0.1",
    "Accept-Encoding": "identity",
    "User-Agent": "Ignition/2.26.0",
}
"""What Ignition itself sends with every request, for a configuration as for a file's contents.

Servers choose by these what they serve: OpenShift's by Accept, before 4.7 by User-Agent. Without, they serve
version 2.
"""


class Unobtainable(Exception):
    """The text says why."""

    def __init__(
        self, why: str, field: str = "source", *, is_too_large: bool = False, is_unserved: bool = False
    ) -> None:
        super().__init__(why)
        self.is_unserved = is_unserved
        """Whether it was asked for, and no server served it."""
        self.is_too_large = is_too_large
        self.field = field
        """Of the contents: what is wrong, or what could be changed."""


def obtained(
    contents: model.Contents,
    network: model.Network,
    fetch: model.Fetch | None,
    limit: int,
    headers: Mapping[str, str] = HEADERS,
) -> bytes:
    """Unpacked and checked; raises Unobtainable. Without `fetch` nothing that is elsewhere can be had."""
    try:
        if isinstance(contents, model.Inline):
            return contents.read(limit)
        blocks = _fetched(contents, network, fetch, headers)
        return b"".join(contents.packing.unpack(blocks, limit))
    except Unsound as fault:
        raise Unobtainable(str(fault), is_too_large=isinstance(fault, TooLarge)) from None
    except model.FetchFailed as fault:
        is_unserved = not isinstance(fault, model.FetchRefused)
        raise Unobtainable(f"it cannot be fetched: {fault}", is_unserved=is_unserved) from None


def _fetched(
    remote: model.Remote, network: model.Network, fetch: model.Fetch | None, headers: Mapping[str, str]
) -> Iterable[bytes]:
    scheme = remote.url.partition(":")[0].lower()
    if scheme not in ("http", "https"):
        raise Unobtainable(f"{scheme} is not fetched by this program; use http or https")
    if fault := compiling.header_fault(remote.headers):
        raise Unobtainable(fault, "httpHeaders")
    if fetch is None:
        raise Unobtainable("it would have to be fetched, and nothing is fetched here")
    own = {name.title(): value for name, value in remote.headers}
    return fetch(model.Request(remote.url, tuple({**headers, **own}.items()), remote.packing, network))
