"""The options that say what node is wanted."""

from __future__ import annotations

from agent.cli.arguments import OUTPUT, Option

IGNITION = Option("--ignition", "the worker Ignition, or the pointer to one", placeholder="FILE")
KUBELET = Option("--kubelet", "kubelet.exe; copied to where programs go", placeholder="FILE")
INSTALL_DIRECTORY = Option("--install-dir", r"where programs go (C:\k)", placeholder="DIR")
KUBELET_VERSION = Option("--kubelet-version", "of a kubelet.exe that cannot be run here", placeholder="V")
NODE_NAME = Option("--node-name", "in place of this machine's host name", placeholder="NAME")
NODE_IP = Option("--node-ip", "the node's address, or two: IPv4,IPv6", placeholder="IP[,IP]")
CLUSTER_DNS = Option("--cluster-dns", "the cluster's name server, or several", placeholder="IP[,IP]")
VERBOSITY = Option("--kubelet-verbosity", "of the kubelet's log", placeholder="N")
CONTAINER_RUNTIME = Option(
    "--runtime-service", "needed by the kubelet (containerd), or none", placeholder="NAME"
)
DRY_RUN = Option("--dry-run", "show what would be done, and do nothing")
ROLLBACK = Option("--rollback", "only take back what an interrupted run did")

NODE = (
    IGNITION,
    KUBELET,
    INSTALL_DIRECTORY,
    KUBELET_VERSION,
    NODE_NAME,
    NODE_IP,
    CLUSTER_DNS,
    VERBOSITY,
    CONTAINER_RUNTIME,
    OUTPUT,
)
