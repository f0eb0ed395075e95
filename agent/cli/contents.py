"""Contents that a document names by URL: fetched and checked before a run begins, which may stop services."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from agent.engine.state_folder import StateFolder
from agent.host.errors import AlreadyExists, NotFound
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE
from agent.spec import File
from service.contents import Fetched, checked_blocks

if TYPE_CHECKING:
    from agent.engine.planning import Plan
    from agent.host.port import Host
    from agent.sources.node_configuration import Source


class Contents:
    def __init__(self, host: Host) -> None:
        self._host = host
        self._state = StateFolder.of(host)
        self._folder = self._state.given

    def obtain(self, source: Source) -> Fetched:
        return Fetched(self._host, self._folder / source.sha256, source)

    def fetch_for(self, plan: Plan) -> None:
        """Those of files that do not hold them yet. Raises Failed, HostError."""
        from agent.fetch.proxies import of_environment

        needed = [
            content
            for change in plan.changes
            if isinstance(change.target.want, File)
            and isinstance(content := change.target.want.content, Fetched)
        ]
        if not needed:
            return
        self._state.ensure()
        with suppress(AlreadyExists):
            self._host.files.make_directory(self._folder, PRIVATE_DIRECTORY)
        proxies = of_environment({**os.environ, **self._host.environment.list()})
        for content in needed:
            if self._host.files.observe(content.path) is None:
                self._host.files.write(content.path, checked_blocks(content.source, proxies), PRIVATE_FILE)

    def clear(self) -> None:
        """Nothing of it is needed any more."""
        from agent.resources.trees import remove_tree

        with suppress(NotFound):
            remove_tree(self._host.files, self._folder)
