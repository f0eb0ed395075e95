"""What Windows says of a symbolic link: REPARSE_DATA_BUFFER."""

import struct

_SYMBOLIC_LINK = 0xA000_000C
_HEADER = struct.Struct("<IH2xHHHHI")
"""Tag, length of what follows; where the name to go on with lies, and its length; the same of the name to be
shown, which may be empty; flags. Then the names.
"""
_LONGER_THAN = 8
"""Bytes that its length does not count."""
_OF_THE_KERNEL = "\\??\\"


def symbolic_target(data: bytes) -> str | None:
    """Where it leads, as it says itself; None for another kind of reparse point, or one that is damaged."""
    if len(data) < _HEADER.size:
        return None
    tag, length, start, size, _, _, _ = _HEADER.unpack_from(data)
    name = data[_HEADER.size + start : _HEADER.size + start + size]
    if tag != _SYMBOLIC_LINK or len(data) < _LONGER_THAN + length or len(name) != size or size % 2:
        return None
    return name.decode("utf-16-le", "surrogatepass").removeprefix(_OF_THE_KERNEL)
