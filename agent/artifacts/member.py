"""One member of an archive, of whatever form that is."""

import enum
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from agent.secret_fields import registers_secrets


class Nature(enum.Enum):
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    OTHER = "device, or something else that no Windows file is"


@registers_secrets
@dataclass(frozen=True, slots=True)
class Member:
    name: str
    """As it was written."""
    nature: Nature
    size: int
    """As the archive says."""
    content: Callable[[], Iterator[bytes]] = field(compare=False, repr=False)
