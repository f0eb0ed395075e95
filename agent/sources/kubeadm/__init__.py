"""A kubeadm JoinConfiguration, compiled into what a Windows node should be.

`read` takes a file's bytes, `from_options` a command line's options; both judge as kubeadm does.
`read_cluster` and `read_patches` take what the cluster and the machine have beside it; `compile_join` puts it
all together.
"""

from agent.sources.kubeadm.cluster import Cluster, ClusterOutcome, read_cluster
from agent.sources.kubeadm.compiling import KUBELET_CONF, Found, Join, compile_join
from agent.sources.kubeadm.from_options import JoinOptions, from_options, with_options
from agent.sources.kubeadm.model import PHASES, JoinConfiguration
from agent.sources.kubeadm.naming import node_name
from agent.sources.kubeadm.patches import Patches, read_patches
from agent.sources.kubeadm.reading import Outcome, read

__all__ = [
    "KUBELET_CONF",
    "PHASES",
    "Cluster",
    "ClusterOutcome",
    "Found",
    "Join",
    "JoinConfiguration",
    "JoinOptions",
    "Outcome",
    "Patches",
    "compile_join",
    "from_options",
    "node_name",
    "read",
    "read_cluster",
    "read_patches",
    "with_options",
]
