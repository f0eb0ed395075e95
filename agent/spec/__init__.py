"""What a node should be: an ordered set of resources, typed, immutable, without any input or output.

Sources make specifications, the engine carries them out; neither knows the other.
"""

from agent.spec.files import (
    Artifact,
    Certificates,
    Content,
    Credentials,
    Directory,
    File,
    Inline,
    Lying,
    Signer,
    Unpacking,
)
from agent.spec.machine import EnvironmentVariable, HostName
from agent.spec.services import Command, EventSource, HealthCheck, Restart, Service, Shell, StartType
from agent.spec.specification import Effect, Inconsistent, Key, Note, Protection, Specification, Want

__all__ = [
    "Artifact", "Certificates", "Command", "Content", "Credentials", "Directory", "Effect",
    "EnvironmentVariable", "EventSource", "File", "HealthCheck", "HostName", "Inconsistent", "Inline", "Key",
    "Lying", "Note", "Protection", "Restart", "Service", "Shell", "Signer", "Specification", "StartType",
    "Unpacking", "Want",
]  # fmt: skip
