"""Where wmcb keeps what is its own."""

from contextlib import suppress
from pathlib import PureWindowsPath

from agent.hashing import new_sha256
from agent.host.errors import AlreadyExists, NotEmpty, NotFound
from agent.host.port import Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE


def own_folder(host: Host) -> PureWindowsPath:
    return host.facts.program_data() / "wmcb"


class OwnFile:
    """What is remembered of one resource: a file in a folder of ours, called by the hash of its name."""

    def __init__(self, host: Host, folder: str, name: str) -> None:
        self._files = host.files
        self.folder = own_folder(host) / folder
        self.id = new_sha256(name.upper().encode()).hexdigest()[:16]
        self.path = self.folder / f"{self.id}.json"

    def write(self, text: str) -> None:
        with suppress(AlreadyExists):
            self._files.make_directory(self.folder, PRIVATE_DIRECTORY)
        self._files.write(self.path, text.encode(), PRIVATE_FILE)

    def remove(self) -> None:
        """With the folder, where it was the last."""
        with suppress(NotFound):
            self._files.remove(self.path)
        with suppress(NotFound, NotEmpty):
            self._files.remove_directory(self.folder)
