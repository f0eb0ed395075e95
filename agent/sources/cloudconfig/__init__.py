"""User data made for cloud-init and cloudbase-init: bytes in, what it asks of a Windows machine out.

`load` reads cloud-config, scripts and boot hooks, alone or as multipart MIME; `from_ignition` what Cluster
API's kubeadm provider writes for Ignition. Both give steps before the join, the join, steps after it.
"""

from agent.sources.cloudconfig.from_ignition import from_ignition, recognised
from agent.sources.cloudconfig.loading import Outcome, load
from agent.sources.cloudconfig.model import Command, Join, Step, UserData, WrittenFile, wants
from agent.sources.cloudconfig.template import instance_data

__all__ = [
    "Command", "Join", "Outcome", "Step", "UserData", "WrittenFile", "from_ignition", "instance_data", "load",
    "recognised", "wants",
]  # fmt: skip
