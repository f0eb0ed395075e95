"""Which node this machine is already: by the title of what the engine made here, and by its own files."""

from agent.cli.arguments import Request
from agent.cli.command_line import called
from agent.cli.failure import Failure, Refused
from agent.documents import NotReadable, read_document
from agent.engine import run as engine
from agent.host.port import Host
from agent.sources import node_names
from agent.sources.kubeadm.arguments_file import VARIABLE, NoArguments, OpenQuote, arguments_in
from agent.sources.kubeadm.model import INSTANCE_CONFIGURATION, Argument, NodeRegistration, node_name
from agent.sources.kubelet.folders import ARGUMENTS_FILE
from agent.sources.node_names import USER_DATA, name_in_title

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


def title_of(host: Host) -> str:
    """Return the title of what is on the machine; empty for a user who may not read it."""
    return engine.title(host) if host.access.is_administrator() else ""


def refuse_node_of_ignition(request: Request, host: Host) -> None:
    """Raise Refused on a node of an Ignition: its credentials lie where a join's kubelet looks for them."""
    title = title_of(host)
    if not title or title.startswith(USER_DATA):
        return
    if not name_in_title(title):
        reset = f"run {called(request)} reset first, which takes it out of that"
        raise Refused(f"this machine is a node of {title}; {reset}")
