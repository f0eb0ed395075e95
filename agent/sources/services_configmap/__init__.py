"""OpenShift's services ConfigMap (`windows-services-<version>`), compiled into what a Windows node should be.

`read` takes its data and judges it as the operator's daemon does. `stages` says in which steps its services
come up, `scripts` what PowerShell has to be asked before a step, `compile_services` what the node is then.
"""

from agent.sources.services_configmap.compiling import (
    POWERSHELL_OPTIONS,
    Compiled,
    Desired,
    Script,
    Scripts,
    compile_services,
    scripts,
    stages,
)
from agent.sources.services_configmap.model import (
    DESIRED_VERSION,
    MANAGED,
    NAME_PREFIX,
    REBOOT_REQUIRED,
    VERSION,
    ExpectedFile,
    ServicesConfigMap,
    WindowsService,
)
from agent.sources.services_configmap.reading import Outcome, read

__all__ = [
    "DESIRED_VERSION",
    "MANAGED",
    "NAME_PREFIX",
    "POWERSHELL_OPTIONS",
    "REBOOT_REQUIRED",
    "VERSION",
    "Compiled",
    "Desired",
    "ExpectedFile",
    "Outcome",
    "Script",
    "Scripts",
    "ServicesConfigMap",
    "WindowsService",
    "compile_services",
    "read",
    "scripts",
    "stages",
]
