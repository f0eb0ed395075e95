"""Brings a program to a machine, in a folder named after its checksum."""

from __future__ import annotations

import ntpath
from pathlib import Path
from typing import Any, ClassVar

from ansible_collections.wmcb.windows.plugins.module_utils import sources
from ansible_collections.wmcb.windows.plugins.module_utils.acting import Acting


class ActionModule(Acting):
    options: ClassVar[dict[str, Any]] = {
        "source": {"type": "dict", "required": True},
        "name": {"type": "str", "required": True},
        "cache": {"type": "path", "required": True},
    }

    def act(self, given: dict[str, Any]) -> dict[str, Any]:
        machine = self.machine()
        local = sources.local_file(given["source"], Path(given["cache"]))
        sha256 = sources.digest(local)
        folder = ntpath.join(machine.staging, given["name"])
        path = ntpath.join(folder, sha256, given["name"])
        result = {"path": path, "sha256": sha256}
        if machine.size(path) == local.stat().st_size:
            return {**result, "changed": False}
        # In check mode as well: without it nobody could tell what it would do.
        machine.put(local, path)
        machine.keep_alone(folder, sha256)
        return {**result, "changed": True}
