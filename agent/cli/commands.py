"""All that the program can be asked to do."""

from agent.cli import options
from agent.cli.arguments import OUTPUT, Command

COMMANDS = (
    Command(
        "",
        "make this machine a node, by --ignition and --kubelet",
        run="agent.cli.bootstrap:run",
        options=(
            *(*options.NODE, *options.CONFIGURATION, options.IGNORE, options.ALLOW_REBOOT, options.DRY_RUN),
            options.ROLLBACK,
        ),
        examples=(r"wmcb --ignition worker.ign --kubelet C:\k\kubelet.exe",),
    ),
    Command(
        "join",
        "make this machine a node of a cluster that kubeadm made",
        run="agent.cli.under_kubeadm:join",
        options=options.JOIN,
        unlisted=options.JOIN_UNLISTED,
        operand="HOST:PORT",
        examples=(
            "wmcb join 10.0.0.1:6443 --token T --discovery-token-ca-cert-hash sha256:H",
            "wmcb join --config join.yaml",
        ),
    ),
    Command(
        "prepare",
        "what a bare server or an image needs to become a node",
        run="agent.cli.prepare:run",
        options=(
            *(options.KUBERNETES_VERSION, *options.CONFIGURATION, options.INSTALL_DIRECTORY),
            *(options.NODE_NAME, options.FOR_IMAGE, options.IGNORE, options.MAX_TIME, options.ALLOW_REBOOT),
            *(OUTPUT, options.DRY_RUN),
        ),
        examples=(
            "wmcb prepare --kubernetes-version v1.36.3",
            "wmcb prepare --kubernetes-version v1.36.3 --node-config node.yaml",
        ),
    ),
    Command(
        "upgrade",
        "another kubelet, and the cluster's present configuration",
        run="agent.cli.bootstrap:upgrade",
        options=options.UPGRADE,
        unlisted=(options.KUBERNETES_VERSION,),
        examples=(r"wmcb upgrade --kubelet C:\downloads\kubelet.exe",),
    ),
    Command(
        "plan",
        "show what making a node would do, and do nothing",
        run="agent.cli.bootstrap:plan",
        options=(*options.FORESEEABLE, *options.CONFIGURATION, options.IGNORE),
        unlisted=options.OF_USER_DATA,
        examples=(
            r"wmcb plan --ignition worker.ign --kubelet C:\k\kubelet.exe",
            "wmcb plan --node-config node.yaml",
        ),
    ),
    Command(
        "preflight",
        "whether this machine can be a node; exit code 3 if not",
        run="agent.cli.preflight:show",
        options=(*options.FORESEEABLE, options.IMAGE, options.IGNORE),
        unlisted=options.OF_USER_DATA,
        examples=(
            "wmcb preflight",
            r"wmcb preflight --ignition worker.ign --kubelet kubelet.exe",
            "wmcb preflight --image",
        ),
    ),
    Command(
        "status",
        "whether all is as it was made; exit code 1 if not",
        run="agent.cli.status:show",
        options=(OUTPUT,),
        examples=("wmcb status", "wmcb status --output json"),
    ),
    Command(
        "explain",
        "what a NodeConfiguration can say, field by field",
        run="agent.cli.explain:show",
        options=(options.RECURSIVE, OUTPUT),
        operand="FIELD[.FIELD]",
        examples=("wmcb explain services", "wmcb explain services.restart"),
    ),
    Command(
        "audit",
        "whether the node is as the CIS benchmark has it",
        run="agent.cli.audit:show",
        options=(options.FIX, options.DRY_RUN, OUTPUT),
        examples=("wmcb audit", "wmcb audit --fix --dry-run", "wmcb audit --fix"),
    ),
    Command(
        "support-bundle",
        "what helps to find a fault, in one file without secrets",
        run="agent.cli.support_bundle:write",
        options=(OUTPUT,),
        operand="FILE.zip",
        examples=("wmcb support-bundle", r"wmcb support-bundle C:\Users\Public\node.zip"),
    ),
    Command(
        "reset",
        "take away what wmcb put here, give back what was there",
        run="agent.cli.reset:run",
        options=(
            *(options.DELETE_NODE, options.DELETE_AS, options.END_PODS, options.ALL_HNS, options.FEATURES),
            *(options.KEEP_PREPARED, options.DRY_RUN, options.FORGET, OUTPUT),
        ),
        unlisted=(options.FORCE,),
        examples=("wmcb reset --dry-run", "wmcb reset"),
    ),
    Command(
        "initialize-kubelet",
        "as OpenShift's bootstrapper: make this a node",
        run="agent.cli.bootstrapper:initialize_kubelet",
        options=options.BOOTSTRAPPER,
        examples=(r"wmcb initialize-kubelet --ignition-file worker.ign --kubelet-path kubelet.exe",),
    ),
    Command(
        "uninstall-kubelet",
        "as OpenShift's bootstrapper: remove the kubelet",
        run="agent.cli.bootstrapper:uninstall_kubelet",
        examples=("wmcb uninstall-kubelet",),
    ),
    Command(
        "bootstrap",
        "as OpenShift's daemon: start what comes before the Node",
        run="agent.cli.operator:bootstrap",
        options=(options.DESIRED_VERSION, options.OPERATOR_KUBECONFIG, options.NAMESPACE),
        examples=(r"wmcb bootstrap --desired-version V --kubeconfig C:\k\wicd --namespace NAME",),
    ),
    Command(
        "controller",
        "as OpenShift's daemon: keep the node as its operator says",
        run="agent.cli.operator:controller",
        options=(
            *(options.OPERATOR_KUBECONFIG, options.NAMESPACE, options.WINDOWS_SERVICE, options.LOG_DIR),
            *(options.LOG_SIZE, options.CA_BUNDLE, options.CERT_DIR, options.CERT_DURATION),
        ),
        examples=(r"wmcb controller --kubeconfig C:\k\wicd --namespace NAME",),
    ),
    Command(
        "cleanup",
        "as OpenShift's daemon: remove its services",
        run="agent.cli.operator:cleanup",
        options=(options.OPERATOR_KUBECONFIG, options.NAMESPACE),
        examples=(r"wmcb cleanup --kubeconfig C:\k\wicd --namespace NAME",),
    ),
    Command(
        "version",
        "what this program is and what it was built from",
        run="agent.cli.version:show",
        options=(OUTPUT, options.LICENSES),
        examples=("wmcb version", "wmcb version --output json", "wmcb version --licenses"),
    ),
    Command(
        "daemon install",
        "make this the resident service of the machine",
        run="agent.cli.daemon:install",
        options=(
            *(options.AS_KUBEADM, options.CONFIG_MAP, options.PUBLIC_KEY, options.UNFOLLOW),
            *(options.METRICS_PORT, options.START, *options.OF_CONTENTS),
        ),
        examples=(
            "wmcb daemon install --start",
            "wmcb daemon install --config-map kube-system/windows-nodes",
        ),
    ),
    Command(
        "daemon uninstall",
        "stop the resident service and remove it",
        run="agent.cli.daemon:uninstall",
        examples=("wmcb daemon uninstall",),
    ),
    Command(
        "daemon pause",
        "have it repair nothing while you work on the machine",
        run="agent.cli.daemon:pause",
        options=(options.FOR,),
        examples=("wmcb daemon pause --for 2h",),
    ),
    Command(
        "daemon resume",
        "have it repair again, and what was changed meanwhile",
        run="agent.cli.daemon:resume",
        examples=("wmcb daemon resume",),
    ),
    Command(
        "daemon run",
        "be the resident service; Windows calls this",
        run="agent.cli.service_process:run",
        options=(options.CONFIG_MAP, options.PUBLIC_KEY, options.METRICS_PORT, *options.OF_CONTENTS),
        examples=("sc.exe start wmcb",),
    ),
    Command(
        "daemon hand-over",
        "give way to another wmcb.exe; Windows calls this, once",
        run="agent.cli.daemon:hand_over",
        examples=("sc.exe start wmcb-hand-over",),
    ),
    Command(
        "continue",
        "go on after a restart; Windows calls this, once",
        run="agent.cli.restarting:go_on",
        examples=("sc.exe start wmcb-continue",),
    ),
)

_START = "sc.exe start wmcb starts the resident service"
_STOP = "sc.exe stop wmcb stops the resident service, wmcb daemon pause what it repairs"
_RESTART = "sc.exe stop wmcb, then sc.exe start wmcb restarts the resident service"
_REPAIR = (
    "wmcb status says which command makes the node right again, wmcb daemon install keeps it so;"
    " wmcb audit --fix puts right what the audit finds"
)
_UNDO = "wmcb reset takes back all that was made, wmcb --rollback a run that was interrupted"
_REMOVE = "wmcb reset takes back all that was made, wmcb daemon uninstall removes the resident service"
ELSEWHERE = {
    "daemon status": "wmcb status says how the machine is, sc.exe query wmcb whether the service runs",
    "daemon start": _START,
    "daemon stop": _STOP,
    "daemon restart": _RESTART,
    "start": _START,
    "stop": _STOP,
    "restart": _RESTART,
    "repair": _REPAIR,
    "fix": _REPAIR,
    "undo": _UNDO,
    "rollback": _UNDO,
    "uninstall": _REMOVE,
    "remove": _REMOVE,
    "join phase": "a join is done as a whole; kubeadm.exe, which is the same program, has its phases",
    "kubeadm": "leave it out: wmcb join, wmcb upgrade and wmcb reset stand in the place of its commands",
    "logs": "wmcb status shows the last lines of each, wmcb support-bundle gathers all of them",
}
"""What people try, and what does it: the service is Windows' to start and to stop. A name that only looks
like another leads nowhere: a restart is no reset.
"""
