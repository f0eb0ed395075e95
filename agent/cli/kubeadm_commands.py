"""What kubeadm can be asked to do on a Windows machine, by its own command lines.

Called as kubeadm.exe, the program takes what Cluster API and people's scripts say to kubeadm.
"""

from __future__ import annotations

from agent.cli import join_options, options
from agent.cli.arguments import HELP, SANDBOX, SANDBOX_RUN, Command, Option
from agent.cli.failure import BadUsage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

VERBOSITY = Option("--v", "how much to say", placeholder="N", short="-v")
FORCE = Option("--force", "do not ask; nobody is asked here anyway", short="-f")
CLEAN_TMP = Option("--cleanup-tmp-dir", "there is none here")
CERTIFICATES = Option("--cert-dir", "is always C:\\etc\\kubernetes\\pki", placeholder="DIR")
KUBECONFIG = Option("--kubeconfig", "is always the node's own", placeholder="FILE")
RENEWAL = Option("--certificate-renewal", "of a control plane")
ETCD = Option("--etcd-upgrade", "of a control plane")
FORMAT = Option("--output", "short, yaml or json", choices=("short", "yaml", "json"), short="-o")
IGNORE = Option(
    options.IGNORE.name, "go on in spite of these checks, or all", placeholder="IDS", repeated=True
)
ALLOW_OLD = Option("--allow-deprecated-api", "of an older configuration")
ALLOW_NEW = Option("--allow-experimental-api", "of a newer configuration")

COMMON = (HELP, VERBOSITY, SANDBOX, SANDBOX_RUN)
_JOIN = (
    *join_options.CLUSTER,
    IGNORE,
    options.DRY_RUN,
    join_options.CONTROL_PLANE,
    join_options.CERTIFICATE_KEY,
)

COMMANDS = (
    Command(
        "join",
        "make this machine a node of the cluster",
        run="agent.cli.under_kubeadm:join",
        options=_JOIN,
        operand="HOST:PORT",
        examples=("kubeadm join --config join.yaml", "kubeadm join 10.0.0.1:6443 --token T"),
    ),
    Command(
        "join phase preflight",
        "whether this machine and the cluster are fit for it",
        run="agent.cli.under_kubeadm:preflight",
        options=_JOIN,
        operand="HOST:PORT",
        examples=("kubeadm join phase preflight --config join.yaml",),
    ),
    Command(
        "join phase kubelet-start",
        "write what the kubelet needs, and start it",
        run="agent.cli.under_kubeadm:join",
        options=_JOIN,
        operand="HOST:PORT",
        examples=("kubeadm join phase kubelet-start --config join.yaml",),
    ),
    Command(
        "join phase kubelet-wait-bootstrap",
        "the same, until the node is there",
        run="agent.cli.under_kubeadm:join",
        options=_JOIN,
        operand="HOST:PORT",
        examples=("kubeadm join phase kubelet-wait-bootstrap --config join.yaml",),
    ),
    Command(
        "reset",
        "take this machine out again, and give back what was there",
        run="agent.cli.under_kubeadm:reset",
        options=(
            FORCE,
            options.DRY_RUN,
            join_options.CONFIG,
            join_options.CRI_SOCKET,
            IGNORE,
            CLEAN_TMP,
            CERTIFICATES,
            KUBECONFIG,
            join_options.SKIP_PHASES,
        ),
        examples=("kubeadm reset -f",),
    ),
    Command(
        "upgrade node",
        "take the cluster's present configuration for kubelets",
        run="agent.cli.under_kubeadm:upgrade_node",
        options=(
            options.DRY_RUN,
            join_options.PATCHES,
            join_options.CONFIG,
            join_options.SKIP_PHASES,
            IGNORE,
            KUBECONFIG,
            RENEWAL,
            ETCD,
        ),
        examples=("kubeadm upgrade node",),
    ),
    Command(
        "version",
        "the release of Kubernetes that this node's kubelet is of",
        run="agent.cli.under_kubeadm:version",
        options=(FORMAT,),
        examples=("kubeadm version -o short",),
    ),
    Command(
        "config validate",
        "whether a JoinConfiguration can be meant",
        run="agent.cli.under_kubeadm:validate",
        options=(join_options.CONFIG, ALLOW_OLD, ALLOW_NEW),
        examples=("kubeadm config validate --config join.yaml",),
    ),
)

_ON_THE_CONTROL_PLANE = "it is for a control-plane machine; run kubeadm there, on Linux"
_ELSEWHERE = {
    "init": _ON_THE_CONTROL_PLANE,
    "token": f"{_ON_THE_CONTROL_PLANE}: kubeadm token create --print-join-command",
    "certs": _ON_THE_CONTROL_PLANE,
    "kubeconfig": _ON_THE_CONTROL_PLANE,
    "upgrade apply": _ON_THE_CONTROL_PLANE,
    "upgrade plan": _ON_THE_CONTROL_PLANE,
    "upgrade diff": _ON_THE_CONTROL_PLANE,
    "upgrade node phase": "its phases are not done one by one here; run kubeadm upgrade node",
    "reset phase": "its phases are not done one by one here; run kubeadm reset",
    "config images": _ON_THE_CONTROL_PLANE,
    "config migrate": _ON_THE_CONTROL_PLANE,
    "config print": _ON_THE_CONTROL_PLANE,
    "join phase control-plane-prepare": _ON_THE_CONTROL_PLANE,
    "join phase control-plane-join": _ON_THE_CONTROL_PLANE,
    "join phase wait-control-plane": _ON_THE_CONTROL_PLANE,
    "join phase check-etcd": _ON_THE_CONTROL_PLANE,
    "join phase etcd-join": _ON_THE_CONTROL_PLANE,
}


def refuse_what_is_elsewhere(arguments: Sequence[str]) -> None:
    """Raises BadUsage for what kubeadm does, but on no Windows machine, whatever its options are."""
    words = " ".join(word for word in arguments if not word.startswith("-"))
    for name, reason in _ELSEWHERE.items():
        if f"{words} ".startswith(f"{name} "):
            raise BadUsage(f"kubeadm {name}: {reason}")
