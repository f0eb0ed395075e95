"""What is said over a wire: a request's head, and the answer to it."""

from __future__ import annotations

import re
from base64 import b64encode
from http import HTTPStatus
from typing import TYPE_CHECKING

from agent.fetch.failure import Failed
from agent.fetch.response import CutShort, NoAnswer, NotHttp, Response

if TYPE_CHECKING:
    from collections.abc import Iterable

    from agent.fetch.address import Address
    from agent.fetch.wire import Wire

Headers = tuple[tuple[str, str], ...]

_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_BREAKS = re.compile(r"[\r\n\0]")


def request_head(method: str, target: str, headers: Iterable[tuple[str, str]]) -> bytes:
    """Raises Failed for a header that is none, so that nobody can put a second request into one."""
    lines = [f"{method} {target} HTTP/1.1"]
    for name, value in headers:
        if not _TOKEN.fullmatch(name) or _BREAKS.search(value):
            raise Failed("one of the headers to send has a name or a value that no header can have")
        lines.append(f"{name}: {value.strip()}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")


def begun(wire: Wire, method: str, place: str) -> Response:
    """The answer, as far as its body. Raises Failed, or TimeoutError."""
    try:
        return Response(wire, method)
    except NoAnswer:
        raise Failed(f"{place} ends the connection without an answer", transient=True) from None
    except (NotHttp, CutShort):
        raise Failed(f"what {place} answers is not http") from None


def described(status: int) -> str:
    """A status in the words that belong to it, not in those that the server likes."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def basic(header: str, there: Address) -> Headers:
    """The header with the credentials that a URL had in it, if it had any."""
    if there.credentials is None:
        return ()
    user, _, password = there.credentials.partition(":")
    return ((header, f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"),)
