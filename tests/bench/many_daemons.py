"""Many resident services in one process: the real code that watches, decides and reports, each on a machine
that is a folder, all against one real API server.

Told a folder with a folder for each machine and a kubeconfig in that; goes on until it is ended.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path, PureWindowsPath

from agent.engine.progress import Silent
from agent.engine.run import make_so
from agent.host.protection import PRIVATE_FILE
from agent.host.sandbox import open_sandbox
from agent.spec import Directory, File, Inline, Protection, Service, Specification
from service.adopting import Adopting
from service.arguments import followed
from service.cluster import Cluster
from service.contents import Contents
from service.keeping import Keeping
from service.reporting import Reports
from service.succeeding import Succeeding
from service.telling import Telling
from service.watching import Watches
from service.work_queue import Signals

VERSION = "simulated"
_STACK_BYTES = 256 * 1024
_K = PureWindowsPath(r"C:\k")
_KUBECONFIG = _K / "kubelet.conf"


class _NoWatches(Watches):
    """A sandbox sees changes by looking twenty times a second: a thousand would do nothing else."""

    def follow(self, *_: object, **__: object) -> bool:
        return False

    def renew(self) -> None: ...


def _resident(folder: Path, config_map: str) -> Keeping:
    """Beside a node that it keeps: called as its folder, in which its kubeconfig lies."""
    host = open_sandbox(folder)
    program = _K / "kubelet.exe"
    wants = [
        Directory(_K, Protection.PROGRAM),
        File(program, Inline(b"MZ"), Protection.PROGRAM),
        Service("kubelet", program, (f"--kubeconfig={_KUBECONFIG}", f"--hostname-override={folder.name}")),
    ]
    make_so(host, Specification.of(wants), Silent())
    host.files.write(_KUBECONFIG, (folder / "kubeconfig").read_bytes(), PRIVATE_FILE)
    signals = Signals()
    telling = Telling(host, lambda _: None)
    wanted = followed(config_map)
    cluster = Cluster(host, wanted, signals)
    contents, reports = Contents(host, signals), Reports(cluster, host.clock)
    adopting = Adopting(
        host,
        wanted,
        cluster,
        contents,
        reports,
        telling,
        lambda: Succeeding(host, contents, telling),
    )
    return Keeping(host, signals, telling, _NoWatches(host, signals), adopting)


def main() -> None:
    folder, config_map = Path(sys.argv[1]), sys.argv[2]
    threading.stack_size(_STACK_BYTES)
    for each in sorted(folder.iterdir()):
        threading.Thread(target=_resident(each, config_map).run, daemon=True).start()
    threading.Event().wait()


main()
