"""`wmcb upgrade`: another kubelet, and the configuration that the cluster has for it now.

A node is upgraded by joining it once more, as it is: by its own credentials, under its name, with the
arguments that stand in its kubeadm-flags.env. What user data has made there stays. One that is not well
afterwards is what it was before.
"""

from collections.abc import Mapping
from pathlib import PureWindowsPath

from agent.cli import bootstrap, joined_node, options, vacating
from agent.cli.arguments import Request
from agent.cli.failure import BadUsage
from agent.cli.machine import open_machine, open_or_imagine
from agent.cli.run_log import RunLog
from agent.cli.streams import tell
from agent.host.port import Host
from agent.sources.kubeadm.model import KUBELET_CONF
from agent.sources.kubelet.folders import ARGUMENTS_FILE

_KUBELET = "kubelet"


def run(request: Request) -> int:
    if request.has(options.KUBERNETES_VERSION):
        text = (
            f"upgrade has no option {options.KUBERNETES_VERSION.name}, since it fetches nothing: bring the "
            f"kubelet.exe of that release, and name it by {options.KUBELET.name} FILE"
        )
        raise BadUsage(text, where=options.KUBERNETES_VERSION.name)
    is_look = request.has(options.DRY_RUN)
    host = open_or_imagine(request) if is_look else open_machine(request)
    code = bootstrap.run(request.with_values({**_as_it_is(host), **request.values}))
    if request.has(options.ROLLBACK):
        _give_back(host)
    return code


def _give_back(host: Host) -> None:
    """What was taken back may have been a first join, of which nothing is left."""
    if host.files.observe(KUBELET_CONF) is None or host.files.observe(ARGUMENTS_FILE) is None:
        return
    log = RunLog(host)

    def notice(line: str) -> None:
        tell(f"wmcb: {line}")
        log.write(line)

    vacating.give_back(host, joined_node.name(host), notice)


def _as_it_is(host: Host) -> Mapping[str, str]:
    """Where its programs are, and which service has to run before it."""
    installed = host.services.read(_KUBELET)
    if installed is None:
        return {}
    folder = PureWindowsPath(installed.definition.command[0]).parent
    needed = installed.definition.dependencies
    return {
        options.INSTALL_DIRECTORY.name: str(folder),
        options.CONTAINER_RUNTIME.name: needed[0] if needed else "none",
    }
