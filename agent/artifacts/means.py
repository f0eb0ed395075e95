"""By which ways artifacts may be had on this machine: mirrors, a folder of files, proxies."""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

_URL = re.compile(r"https?://", re.IGNORECASE)
_SEPARATORS = ("/", "\\")
_WITH_DRIVE = re.compile(r"[A-Za-z]:[\\/]")


class Unusable(Exception):
    """An artifact came, and is not what it is to be, or it does not come. One line for a person."""


class NoMirror(ValueError):
    """The text says why."""


@dataclass(frozen=True, slots=True)
class Mirror:
    """What begins with the one is had from the other."""

    original: str
    instead: str

    def __str__(self) -> str:
        return f"{self.original}={self.instead}"


@dataclass(frozen=True, slots=True)
class Means:
    mirrors: tuple[Mirror, ...] = ()
    folder: str = ""
    """Files that lie ready, under their names or their digests; empty for none."""
    patience: float = 120.0
    """Seconds for which a server is asked again that does not answer."""
    most: float = math.inf
    """Seconds for each URL, from the first question until the last byte."""

    def place(self, source: str) -> str:
        """Where it is really to be had. The longest beginning that fits counts, of whole elements: what is
        said of https://host is not said of https://host.example.
        """
        fitting = [mirror for mirror in self.mirrors if _is_beginning(mirror.original, source)]
        if not fitting:
            return source
        longest = max(fitting, key=lambda mirror: len(mirror.original))
        rest = source[len(longest.original) :]
        if is_url(longest.instead):
            return longest.instead + rest.replace("\\", "/")
        # Below a folder there are no queries.
        return longest.instead + (unquote(rest.partition("?")[0]) if is_url(source) else rest)

    def ready(self, names: Iterable[str]) -> list[str]:
        """Where in the folder it may lie."""
        if not self.folder:
            return []
        separator = "/" if self.folder.startswith("/") else "\\"
        return [f"{self.folder.rstrip(separator)}{separator}{name}" for name in names if name]


def mirror(text: str) -> Mirror:
    """FROM=TO. Raises NoMirror."""
    original, equals, instead = text.partition("=")
    if not equals or not original or not instead:
        raise NoMirror("expected FROM=TO, such as https://dl.k8s.io/=https://mirror.example.com/k8s/")
    if original.endswith(("/", "\\")) != instead.endswith(("/", "\\")):
        raise NoMirror("both sides have to end with a slash, or neither")
    return Mirror(original, instead)


def _is_beginning(original: str, source: str) -> bool:
    rest = source[len(original) :]
    is_whole = not rest or original.endswith(_SEPARATORS) or rest.startswith((*_SEPARATORS, "?", "#"))
    return source.startswith(original) and is_whole


def is_url(place: str) -> bool:
    return _URL.match(place) is not None


def is_on_machine(place: str) -> bool:
    """A path with a drive letter: in a sandbox it is in there."""
    return _WITH_DRIVE.match(place) is not None


def file_name(source: str) -> str:
    """The last of its elements, as a file would have it."""
    return elements(source)[-1]


def elements(source: str) -> list[str]:
    path = unquote(urlsplit(source).path) if is_url(source) else source
    return path.replace("\\", "/").split("/")
