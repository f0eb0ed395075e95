"""What a node is made of: which document says it, and what has to be true when it is made."""

from collections.abc import Callable

from agent.cli import options, values
from agent.cli.arguments import Option, Request
from agent.cli.asking import Asking
from agent.cli.checking import ignored_checks
from agent.cli.command_line import called
from agent.cli.failure import BadUsage, Refused
from agent.cli.given import given_file
from agent.cli.joined_node import title_of
from agent.hashing import new_sha256
from agent.host.port import Host
from agent.sources.kubelet.folders import ARGUMENTS_FILE

_SCRIPT_OF_CLUSTER_API = b"/etc/kubeadm.sh"


def given_document(request: Request) -> Option | None:
    """Raises BadUsage for more than one."""
    given = [option for option in options.DOCUMENTS if request.has(option)]
    if len(given) > 1:
        names = " and ".join(option.name for option in given)
        text = f"{names} do not go together: each says what the whole node is"
        raise BadUsage(text, where=given[-1].name)
    return given[0] if given else None


def not_foreseen(look: str) -> BadUsage:
    text = f"{look} does not go with {options.USER_DATA.name}"
    why = "what comes after its commands is not known before they have run"
    return BadUsage(f"{text}: {why}", where=options.USER_DATA.name)


def asking_for(request: Request, host: Host) -> Asking:
    """Raises BadUsage for what cannot be meant, and for more than one document."""
    values.check(request)
    if request.has(options.META_DATA):
        why = "nothing else has templates"
        raise options.META_DATA.misused(f" goes with {options.USER_DATA.name} alone: {why}")
    given_document(request)
    if not options.upgrades(request) and not options.joins(request):
        _refuse_what_has_joined(request, host)
        return Asking(ignored_checks(request))
    from agent.cli import join  # noqa: PLC0415 - requests, 0.3 s under Wine

    return (
        join.asking_to_upgrade(request, host)
        if options.upgrades(request)
        else join.asking_to_join(request, host)
    )


def _refuse_what_has_joined(request: Request, host: Host) -> None:
    """The kubelet of an Ignition would go on with the credentials that the join's has."""
    if host.files.observe(ARGUMENTS_FILE) is not None and (title := title_of(host)):
        reset = f"{called(request)} reset takes it out of that first"
        text = f"this machine has joined a cluster already ({title}); {reset}"
        raise Refused(text, where=str(ARGUMENTS_FILE))


def is_said(request: Request, asking: Asking) -> bool:
    """What the node is to be."""
    return asking.join is not None or request.has(asking.ignition)


def require_document(request: Request, asking: Asking) -> None:
    """Raises BadUsage where nothing says what the node is to be."""
    if not is_said(request, asking) and asking.ignition in options.DOCUMENTS:
        listed = request.command.options if request.command else ()
        alone = (options.NODE_CONFIG,) if request.command and request.command.name == "plan" else ()
        wanted = " or ".join(
            f"{option.name} {option.placeholder}"
            for option in (*options.DOCUMENTS, *alone)
            if option in listed
        )
        fault = f"{wanted} is needed"
        if request.has(options.NODE_CONFIG):
            fault += f"; {called(request)} prepare {options.NODE_CONFIG.name} makes what that says alone"
        raise BadUsage(fault, where=asking.ignition.name)


def first_look(request: Request, host: Host) -> tuple[str, Request | None]:
    """The Ignition's hash; and, where it is what Cluster API's provider writes in that format, the same by
    --user-data. A block at a time: it may be large, and is read again if it has to be.
    """
    digest, names_script, end = new_sha256(), False, b""
    for block in given_file(request, options.IGNITION, host).blocks():
        digest.update(block)
        over_the_edge = end + block[: len(_SCRIPT_OF_CLUSTER_API)]
        names_script = names_script or any(_SCRIPT_OF_CLUSTER_API in part for part in (over_the_edge, block))
        end = block[-len(_SCRIPT_OF_CLUSTER_API) :]
    return digest.hexdigest(), _by_user_data(request) if names_script else None


def _by_user_data(request: Request) -> Request:
    others = {name: value for name, value in request.values.items() if name != options.IGNITION.name}
    named = {**others, options.USER_DATA.name: request.value(options.IGNITION, "")}
    return request.with_values(named)


def confirmation(request: Request, host: Host, asking: Asking) -> Callable[[], None] | None:
    """What the engine calls before it calls a node done."""
    if asking.join is None:
        return None
    from agent.cli import join  # noqa: PLC0415 - requests, 0.3 s under Wine

    return join.confirmation(request, host, asking)
