"""Whether users could exchange the node's folders where they lie: at the root of a drive."""

from pathlib import PureWindowsPath

from agent.host.errors import NotFound
from agent.host.port import Host
from agent.host.protection import FILE_EXCHANGE, granted_to_others
from agent.preflight.finding import Verdict
from agent.preflight.situation import Situation
from agent.spec import Directory


def drives(situation: Situation) -> tuple[Verdict, str]:
    """A warning: a drive is more than the node's, so its owner has to say who may do what there."""
    wants = situation.specification.wants if situation.specification else ()
    roots = {PureWindowsPath(want.path.anchor) for want in wants if isinstance(want, Directory)}
    opened = [str(root) for root in sorted(roots) if _is_open(situation.host, root)]
    if not opened:
        return Verdict.GOOD, "no user can rename what lies at its root"
    named = ", ".join(opened)
    return Verdict.WARNING, (
        f"users may rename or remove what is in {named}, the node's folders too, and put others there: "
        "take the right to delete there from them, or to say who may"
    )


def _is_open(host: Host, root: PureWindowsPath) -> bool:
    try:
        descriptor = host.files.descriptor(root)
    except NotFound:
        return False  # that there is no such drive is said of the disk
    return bool(granted_to_others(descriptor, host.access.caller()) & FILE_EXCHANGE)
