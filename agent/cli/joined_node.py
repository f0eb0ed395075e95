"""A machine that has joined a cluster, as its own files tell it."""

from agent.cli.failure import Failure
from agent.documents import NotReadable, read_document
from agent.host.port import Host
from agent.sources import node_names
from agent.sources.kubeadm.arguments_file import VARIABLE, NoArguments, OpenQuote, arguments_in
from agent.sources.kubeadm.model import INSTANCE_CONFIGURATION, Argument, NodeRegistration, node_name
from agent.sources.kubelet.folders import ARGUMENTS_FILE

_ENDPOINT = "containerRuntimeEndpoint"


def name(host: Host) -> str:
    """Of its Node. Raises Failure where these files cannot be read, or name what cannot be one: somebody has
    edited them, and an API server would take it for something else.
    """
    found = node_name(NodeRegistration(kubelet_extra_args=_arguments(host)), host.facts.host_name())
    if fault := node_names.fault(found):
        raise Failure(f"{ARGUMENTS_FILE}: --hostname-override: {fault}", where=str(ARGUMENTS_FILE))
    return found


def registration(host: Host) -> NodeRegistration:
    """As it is. Raises Failure."""
    return NodeRegistration(
        cri_socket=_runtime_endpoint(host), kubelet_extra_args=_arguments(host), is_whole=True
    )


def _arguments(host: Host) -> tuple[Argument, ...]:
    """Its name is among them: without them it would be another node."""
    try:
        return arguments_in(str(ARGUMENTS_FILE), host.files.read(ARGUMENTS_FILE))
    except NoArguments as fault:
        raise Failure(
            f"{ARGUMENTS_FILE} does not say what this node's kubelet is started with: write {VARIABLE}=... "
            'there, in UTF-8; ="" is for nothing',
            where=str(ARGUMENTS_FILE),
        ) from fault
    except OpenQuote as fault:
        raise Failure(
            f"{ARGUMENTS_FILE}: a quote in it is never closed; close it: no kubelet starts with that",
            where=str(ARGUMENTS_FILE),
        ) from fault


def _runtime_endpoint(host: Host) -> str:
    if host.files.observe(INSTANCE_CONFIGURATION) is None:
        return ""
    try:
        found = read_document(host.files.read(INSTANCE_CONFIGURATION)).value.get(_ENDPOINT)
    except NotReadable as fault:
        raise Failure(f"{INSTANCE_CONFIGURATION}: {fault}", where=str(INSTANCE_CONFIGURATION)) from fault
    return found if isinstance(found, str) else ""
