"""One member of an archive, of whatever form that is."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from agent.records import field, frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Nature(enum.Enum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "device, or something else that no Windows file is"


@frozen
class Member:
    name: str
    """As it was written."""
    nature: Nature
    size: int
    """As the archive says."""
    content: Callable[[], Iterator[bytes]] = field(compared=False, shown=False)
