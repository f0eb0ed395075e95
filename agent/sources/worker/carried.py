"""The files that an Ignition carries: unpacked or fetched only when somebody looks at them."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain

from agent.hashing import new_sha256
from agent.sources import ignition
from agent.sources.ignition.compiling import ALLOW_MORE, Unobtainable, obtained
from agent.sources.report import Place
from agent.spec import Content, Inline

_LARGEST_READ = 1 << 20
"""Of all that is read here together: units, environment files, configurations."""


class NotToBeHad(Exception):
    """Contents that cannot be fetched, or are not what the document says. The text says why."""

    def __init__(self, why: str, origin: ignition.Origin, below: Place, *, is_unserved: bool = False) -> None:
        super().__init__(why)
        self.is_unserved = is_unserved
        """Whether they were asked for, and no server served them."""
        self.origin = origin
        self.below = below
        """What of it is to blame, from the file's own place on."""


class Carried(Mapping[str, bytes]):
    """By Linux path. What looks into a file, or asks for its content, may raise NotToBeHad."""

    def __init__(
        self,
        configuration: ignition.Configuration,
        fetch: ignition.Fetch | None,
        largest_file: int = ignition.LARGEST_FILE,
    ) -> None:
        """`largest_file` is in bytes, of one that is fetched: it is held in memory."""
        self._largest_file = largest_file
        self._files = configuration.files
        self._network = configuration.network
        self._fetch = fetch
        self._fetched: dict[ignition.Remote, bytes] = {}
        self._room = _LARGEST_READ
        self.looked_into: set[str] = set()

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def __contains__(self, path: object) -> bool:
        return path in self._files

    def __getitem__(self, path: str) -> bytes:
        file = self._files[path]
        made = b"".join(self._bytes(file, place, part, _LARGEST_READ) for place, part in _parts(file))
        if path not in self.looked_into:
            self.looked_into.add(path)
            self._room -= len(made)
            if self._room < 0:
                why = f"with it, what the kubelet is made from is larger than {_LARGEST_READ:,} bytes"
                raise NotToBeHad(why, file.origin, ("contents", "source"))
        return made

    def content(self, path: str) -> Content:
        """All that the file holds, for a file of the node."""
        file = self._files[path]
        parts = [self._content(file, place, part) for place, part in _parts(file)]
        return parts[0] if len(parts) == 1 else Joined(parts)

    def packed_size(self, path: str) -> int | None:
        """How many bytes of the document the file is; None where nothing of it is compressed there."""
        parts = [part for _, part in _parts(self._files[path]) if isinstance(part, ignition.Inline)]
        is_compressed = any(part.packing.compressed for part in parts)
        return sum(len(part.packed) for part in parts) if is_compressed else None

    def _content(self, file: ignition.File, place: Place, part: ignition.Contents) -> Content:
        if isinstance(part, ignition.Remote):
            return Inline(self._bytes(file, place, part, self._largest_file))
        # Its hash and its size were checked when the document was read.
        return Unpacked(part) if part.packing.compressed else Inline(part.packed)

    def _bytes(self, file: ignition.File, place: Place, part: ignition.Contents, limit: int) -> bytes:
        if isinstance(part, ignition.Remote) and part in self._fetched:
            return self._fetched[part]
        try:
            made = obtained(part, self._network, self._fetch, limit)
        except Unobtainable as fault:
            more = f"; {ALLOW_MORE}" if fault.is_too_large and limit == self._largest_file else ""
            below = (*place, fault.field)
            raise NotToBeHad(f"{fault}{more}", file.origin, below, is_unserved=fault.is_unserved) from None
        if isinstance(part, ignition.Remote):
            self._fetched[part] = made
        return made


def _parts(file: ignition.File) -> Iterator[tuple[Place, ignition.Contents]]:
    if file.contents is not None:
        yield ("contents",), file.contents
    for index, contents in enumerate(file.appended):
        yield ("append", index), contents


class _Streamed:
    """Content that nobody holds unpacked. Its hash and size cost going through it once."""

    def blocks(self) -> Iterator[bytes]:
        raise NotImplementedError

    @property
    def sha256(self) -> str:
        return self._measured[0]

    @property
    def size(self) -> int:
        return self._measured[1]

    @cached_property
    def _measured(self) -> tuple[str, int]:
        hasher = new_sha256()
        size = 0
        for block in self.blocks():
            hasher.update(block)
            size += len(block)
        return hasher.hexdigest(), size


class Unpacked(_Streamed):
    """A compressed file of the document. That it can be unpacked, and how large it may be, was checked when
    that was read.
    """

    def __init__(self, packed: ignition.Inline) -> None:
        self._packed = packed

    def blocks(self) -> Iterator[bytes]:
        return (bytes(block) for block in self._packed.blocks(sys.maxsize))


class Joined(_Streamed):
    """One file of several parts, which an Ignition may append to each other; or of none."""

    def __init__(self, parts: Sequence[Content]) -> None:
        self._parts = parts

    def blocks(self) -> Iterator[bytes]:
        return chain.from_iterable(part.blocks() for part in self._parts)
