"""What the node is called.

In this order: `hostname-override` of nodeRegistration.kubeletExtraArgs, nodeRegistration.name (or
--node-name), the machine's own DNS host name. Each in lower case, as the kubelet makes it. Windows cuts the
NetBIOS name to 15 characters, but not the DNS host name: that one counts, without the DNS suffix.
"""

from agent.redaction import register_name
from agent.sources.kubeadm.model import NodeRegistration
from agent.sources.node_names import canonical


def node_name(registration: NodeRegistration, host_name: str) -> str:
    override = registration.extra_argument("hostname-override")
    name = canonical(override or "") or registration.name or canonical(host_name)
    register_name(name)
    return name
