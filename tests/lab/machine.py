"""The whole lab: everything cached that the tests need, and the way in."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from lab import cloudbase_init, namespace, prefix, windows_python

# Set inside: the prepared prefix, outside the root.
PREFIX_VARIABLE = "WMCB_LAB_PREFIX"


def prepare() -> None:
    """Sets up what is not yet there, so that whoever enters next need not wait."""
    prefix.prepared()
    windows_python.folder()
    cloudbase_init.folder()


def enter(
    command: Sequence[str],
    environment: Mapping[str, str] | None = None,
    mounts: Sequence[namespace.Mount] = (),
    checkout: namespace.Mount = namespace.REPOSITORY,
) -> int:
    """Sets up what is not yet there, then runs a command inside; its exit code."""
    usual = [
        checkout,
        namespace.Mount(windows_python.folder(), windows_python.PLACE),
        namespace.Mount(cloudbase_init.folder(), cloudbase_init.PLACE),
    ]
    os.environ.update({PREFIX_VARIABLE: str(prefix.prepared()), **(environment or {})})
    return namespace.enter(command, [*usual, *mounts])


def prepared_prefix() -> Path:
    return Path(os.environ[PREFIX_VARIABLE])
