"""Ignition 2.0 to 2.4 and 3.0 to 3.6: bytes in, one merged and checked configuration out.

Nothing here reaches a network or a machine. What must be fetched is asked of the caller.
"""

from agent.sources.ignition.model import (
    Configuration,
    Contents,
    Fetch,
    FetchFailed,
    FetchRefused,
    File,
    Inline,
    Network,
    Owner,
    Remote,
    Request,
    Unsound,
)
from agent.sources.ignition.resolving import LARGEST_FILE, Limits, Outcome, load
from agent.sources.report import Origin

__all__ = [
    "LARGEST_FILE", "Configuration", "Contents", "Fetch", "FetchFailed", "FetchRefused", "File", "Inline",
    "Limits", "Network", "Origin", "Outcome", "Owner", "Remote", "Request", "Unsound", "load",
]  # fmt: skip
