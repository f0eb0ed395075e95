"""A control plane as kubeadm makes it: its certificates, kubeconfigs, manifests, ConfigMaps and add-ons.

Where kubeadm would have a kubelet run the static pods that it wrote, their commands are run here as they
stand, but for the few changes in CHANGES. Nodes reach the API server through a proxy at the address that
kubeadm advertises; the control plane itself and the lab go straight to it, and so can neither be cut off nor
counted with the nodes.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path

from lab import namespace, wine
from lab.certificates import Authority
from lab.cluster.api import Api, Refused
from lab.cluster.audit import POLICY, AuditLog
from lab.cluster.program import Program
from lab.cluster.proxy import Proxy
from lab.kubernetes import RELEASE
from lab.waiting import until

HOST = namespace.ADDRESS
PORT = 6443
DIRECT = "127.0.0.1"

# It stays kubeadm's default, since that path goes into the kubelet-config that every node reads.
KUBERNETES = Path("/etc/kubernetes")
PKI = KUBERNETES / "pki"
MANIFESTS = KUBERNETES / "manifests"

CONFIGURATION = f"""\
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {{advertiseAddress: {HOST}, bindPort: {PORT}}}
nodeRegistration: {{name: control-plane}}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v{RELEASE}
controlPlaneEndpoint: {HOST}:{PORT}
# Room for 32768 nodes of 254 pods each.
networking: {{podSubnet: 10.128.0.0/9, serviceSubnet: 10.96.0.0/12}}
"""

# What is not as kubeadm's manifests have it, for each program; and the API server keeps an audit log.
CHANGES = {
    # The advertised address belongs to the proxy.
    "kube-apiserver": {"bind-address": DIRECT},
    # A program that was killed would else wait until the lease of its former self has run out.
    "kube-controller-manager": {
        "leader-elect": "false",
        # Its default of 20 requests in a second would keep a thousand new Nodes waiting for a minute.
        "kube-api-qps": "500",
        "kube-api-burst": "1000",
        # A Node whose kubelet is silent is given up after 20 seconds and not after 50: tests wait for that.
        "node-monitor-grace-period": "20s",
    },
    "kube-scheduler": {"leader-elect": "false"},
}


_CONTROLLERS = ("kube-controller-manager", "kube-scheduler")


class ControlPlane:
    def __init__(self, programs: Path) -> None:
        self.programs = programs
        self.folder = wine.outside("/lab/cluster")
        self.proxy = Proxy((HOST, PORT), (DIRECT, PORT))
        self.authority = Authority(PKI)
        self.admin = self.folder / "direct.conf"
        self._etcd = Program("etcd", _etcd_command(self.folder / "etcd"), self._log("etcd"))
        self._programs: dict[str, Program] = {}
        self._api: Api | None = None
        self.started_in = 0.0  # seconds
        self.audit = AuditLog(self.folder / "audit.log")

    @property
    def api(self) -> Api:
        assert self._api is not None, "the control plane was not started"
        return self._api

    def start(self) -> None:
        """From nothing to a cluster that nodes can join."""
        began = time.monotonic()
        self._furnish()
        self._kubeadm("certs all")
        self._etcd.start()
        with ThreadPoolExecutor() as pool:
            list(pool.map(self._kubeadm, ("kubeconfig all", "control-plane all")))
        self._prepare_programs()
        self.start_api_server()
        for phase in ("upload-config all", "bootstrap-token", "addon kube-proxy"):
            self._kubeadm(phase, kubeconfig=KUBERNETES / "super-admin.conf")
        self.started_in = time.monotonic() - began

    def stop(self) -> None:
        """Ends everything. What was written stays, for whoever wants to look."""
        self.proxy.close()
        for program in (*reversed(self._programs.values()), self._etcd):
            program.kill()  # asked to end, the API server would first wait for those who watch

    # The API server alone

    def start_api_server(self) -> None:
        """Starts it if need be, waits until it says that it is ready, and lets the nodes through.

        Controllers that have lost it come back after half a minute, or not at all, which on a real machine
        its kubelet sees to: they are started anew.
        """
        server = self._programs["kube-apiserver"]
        is_anew = not server.running
        server.start()
        until(self._ready, "the API server is ready", 120, server.last_words)
        for name in _CONTROLLERS if is_anew else ():
            self._programs[name].kill()
            self._programs[name].start()
        self.proxy.open()

    @property
    def api_server(self) -> int:
        """Its process."""
        return self._programs["kube-apiserver"].pid

    def stop_api_server(self) -> None:
        """Ends it in good order; nodes are refused as if nobody listened."""
        self.proxy.close()
        self._programs["kube-apiserver"].stop(patience=2)  # with watches open it would take its time

    def kill_api_server(self) -> None:
        self._programs["kube-apiserver"].kill()
        self.proxy.close()

    def restart_api_server(self) -> None:
        self.stop_api_server()
        self.start_api_server()

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """What kubectl prints, as the cluster's highest administrator and past the proxy."""
        return self._run("kubectl", f"--kubeconfig={self.admin}", *arguments, stdin=stdin)

    def _ready(self) -> bool:
        if not self._programs["kube-apiserver"].running:
            raise AssertionError(self._programs["kube-apiserver"].last_words())
        try:
            return bool(self.api.get("/readyz") == "ok")
        except (OSError, HTTPException, Refused):
            return False

    # Making it

    def _furnish(self) -> None:
        """Folders of its own, in memory. /etc/kubernetes is there for this mount namespace only."""
        self.folder.mkdir(exist_ok=True)
        if not KUBERNETES.is_mount():
            _mount_over_etc()
        (self.folder / "init.yaml").write_text(CONFIGURATION)
        (self.folder / "audit.yaml").write_text(POLICY)

    def _kubeadm(self, phase: str, kubeconfig: Path | None = None) -> None:
        options = [f"--kubeconfig={kubeconfig}"] if kubeconfig else []
        self._run(
            "kubeadm", "init", "phase", *phase.split(), f"--config={self.folder / 'init.yaml'}", *options
        )

    def _run(self, name: str, *arguments: str, stdin: str | None = None) -> str:
        done = subprocess.run(
            [self.programs / name, *arguments], input=stdin, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise RuntimeError(
                f"{name} {' '.join(arguments)} ended with {done.returncode}: {done.stderr.strip()}"
            )
        return done.stdout

    def _prepare_programs(self) -> None:
        for kubeconfig in ("controller-manager.conf", "scheduler.conf"):
            (KUBERNETES / kubeconfig).write_text(_past_the_proxy((KUBERNETES / kubeconfig).read_text()))
        self.admin.write_text(_past_the_proxy((KUBERNETES / "super-admin.conf").read_text()))
        for name, changes in CHANGES.items():
            options = {**changes, **(self._audit_options() if name == "kube-apiserver" else {})}
            command = _changed(_command_in((MANIFESTS / f"{name}.yaml").read_text()), options)
            self._programs[name] = Program(
                name, [str(self.programs / command[0]), *command[1:]], self._log(name)
            )
        pair = self.folder / "lab.pem"
        pair.write_text(self.authority.client("lab", ["system:masters"]))
        self._api = Api(DIRECT, PORT, HOST, self.authority.certificate, pair)

    def _audit_options(self) -> dict[str, str]:
        return {"audit-policy-file": f"{self.folder}/audit.yaml", "audit-log-path": f"{self.audit.path}"}

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"


def _etcd_command(data: Path) -> list[str]:
    """Debian's etcd may be older than the flags that kubeadm gives to its own."""
    url, pki = f"https://{DIRECT}:2379", PKI / "etcd"
    return [
        "etcd",
        f"--data-dir={data}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--cert-file={pki / 'server.crt'}",
        f"--key-file={pki / 'server.key'}",
        f"--trusted-ca-file={pki / 'ca.crt'}",
        "--client-cert-auth=true",
    ]


def _command_in(manifest: str) -> list[str]:
    """The command of a static pod's only container. What kubeadm writes is read here as kubeadm writes it."""
    listed = re.search(r"^  - command:\n((?:    - .+\n)+)", manifest, re.MULTILINE)
    assert listed is not None, f"no command in this manifest of kubeadm's:\n{manifest}"
    return [line.removeprefix("    - ") for line in listed[1].splitlines()]


def _changed(command: list[str], options: dict[str, str]) -> list[str]:
    kept = [word for word in command if word.removeprefix("--").partition("=")[0] not in options]
    return [*kept, *(f"--{name}={value}" for name, value in options.items())]


def _past_the_proxy(kubeconfig: str) -> str:
    return kubeconfig.replace(
        f"server: https://{HOST}:{PORT}", f"server: https://{DIRECT}:{PORT}\n    tls-server-name: {HOST}"
    )


def _mount_over_etc() -> None:
    """Makes /etc/kubernetes without making it on this machine's disk."""
    layers = Path(tempfile.mkdtemp(dir=wine.outside("/lab")))
    for name in ("changes", "work"):
        (layers / name).mkdir()
    options = f"lowerdir=/etc,upperdir={layers / 'changes'},workdir={layers / 'work'}"
    subprocess.run(["mount", "-t", "overlay", "-o", options, "overlay", "/etc"], check=True)
    KUBERNETES.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", str(KUBERNETES)], check=True)
