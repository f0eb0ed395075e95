"""What a node should be: an ordered set of resources, typed, immutable, without any input or output.

Sources make specifications, the engine carries them out; neither knows the other.
"""

from agent.spec.artifact import Artifact, Signer, Unpacking
from agent.spec.certificates import Certificates
from agent.spec.command import Command, Shell
from agent.spec.contents import Content, Inline, Lying
from agent.spec.credentials import Credentials
from agent.spec.directory import Directory
from agent.spec.environment_variable import EnvironmentVariable
from agent.spec.event_source import EventSource
from agent.spec.file import File
from agent.spec.host_name import HostName
from agent.spec.service import HealthCheck, Restart, Service, StartType
from agent.spec.specification import Effect, Inconsistent, Note, Specification
from agent.spec.want import Key, Protection, Want

__all__ = [
    "Artifact", "Certificates", "Command", "Content", "Credentials", "Directory", "Effect",
    "EnvironmentVariable", "EventSource", "File", "HealthCheck", "HostName", "Inconsistent", "Inline", "Key",
    "Lying", "Note", "Protection", "Restart", "Service", "Shell", "Signer", "Specification", "StartType",
    "Unpacking", "Want",
]  # fmt: skip
