"""The real cloudbase-init on a node, and the metadata service that it asks: a cloud, as a machine sees it.

It runs on the lab's Windows Python, out of a folder of its own beside it. Left out is what has no wheel for
that Python (pymi: WMI), what that Python has already (pywin32), and what nothing here imports (lock.sh).
"""

from __future__ import annotations

import json
import ntpath
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from lab import cache, toolchains, windows_python
from lab.repository import LOCKS
from lab.running import Result
from lab.web import Page, Web

if TYPE_CHECKING:  # a node's machine mounts what is here
    from lab.node import Node

PLACE = "/cloudbase-init"
"""Where it is mounted in the root."""
ON_WINDOWS = r"Z:\cloudbase-init"
LOG = r"C:\log\cloudbase-init.log"

_CONFIGURATION = r"C:\conf\cloudbase-init.conf"
_METADATA = "/openstack/latest/meta_data.json"
_USER_DATA = "/openstack/latest/user_data"


def folder() -> Path:
    """Its packages, as they are for Windows (packaging/locks/windows-cloudbase-init.txt)."""
    lock = LOCKS / "windows-cloudbase-init.txt"

    def install(into: Path) -> None:
        version = f"--python-version={windows_python.VERSION}"
        options = ["--only-binary=:all:", "--platform=win_amd64", version, "--require-hashes", "--no-deps"]
        toolchains.pip("install", *options, "--target", str(into), "-r", str(lock))

    return cache.built("windows-cloudbase-init", cache.digest(lock, install), install)


def serve(web: Web, user_data: bytes, instance: str, host_name: str) -> None:
    """As an OpenStack cloud does. What has been done for an instance is not done again for it."""
    metadata = {"uuid": instance, "hostname": host_name}
    web.pages[_METADATA] = Page(json.dumps(metadata).encode())
    web.pages[_USER_DATA] = Page(user_data)


def refuse_user_data(web: Web) -> None:
    """As a cloud that has trouble of its own."""
    web.pages[_USER_DATA] = Page(status=503)


def run(node: Node, web: Web, configuration: str, **changes: str) -> Result:
    """What the service does at a boot, by a configuration as packaging/cloudbase-init has it.

    Left out of that are plugins that need WMI. `changes` are options that have to be others here.
    """
    return node.run(*command(node, web, configuration, **changes))


def command(node: Node, web: Web, configuration: str, **changes: str) -> tuple[str, ...]:
    """The same, to be started by a test itself."""
    said = _options(configuration)
    options = {
        **said,
        "plugins": ",".join(name for name in said["plugins"].split(",") if name.strip() in _PLUGINS),
        "metadata_services": "cloudbaseinit.metadata.services.httpservice.HttpService",
        "log_dir": ntpath.dirname(LOG),
        # With what scripts say.
        "debug": "true",
        # Nobody restarts the machine but a test.
        "allow_reboot": "false",
        "stop_service_on_exit": "false",
        **changes,
    }
    cloud = {"metadata_base_url": web.url("/"), "add_metadata_private_ip_route": "false"}
    path = node.path(_CONFIGURATION)
    for place in (path.parent, node.path(LOG).parent):
        place.mkdir(parents=True, exist_ok=True)
    path.write_text(_section("DEFAULT", options) + _section("openstack", cloud))
    # It runs this before it writes user data anew. Wine has none, and its icacls does nothing as well.
    node.copy_in(node.path(r"C:\windows\system32\icacls.exe"), r"C:\windows\system32\takeown.exe")
    program = f"import sys; sys.path.insert(0, {ON_WINDOWS!r}); from cloudbaseinit.shell import main; main()"
    return (windows_python.PROGRAM, "-c", program, "--config-file", _CONFIGURATION)


_PLUGINS = (
    "cloudbaseinit.plugins.common.userdata.UserDataPlugin",
    "cloudbaseinit.plugins.common.localscripts.LocalScriptsPlugin",
)


def _section(name: str, options: Mapping[str, str]) -> str:
    return f"[{name}]\n" + "".join(f"{option}={value}\n" for option, value in options.items())


def _options(configuration: str) -> dict[str, str]:
    """Lines that begin with a blank belong to the option before."""
    made: dict[str, str] = {}
    name = ""
    for line in configuration.splitlines():
        if line.startswith((" ", "\t")):
            made[name] += line.strip()
        elif "=" in line and not line.startswith("#"):
            name, _, value = line.partition("=")
            made[name] = value
    return made
