"""What our actions share: the machine that a task is about, and how they fail."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ansible import constants
from ansible.errors import AnsibleActionFail, AnsibleError
from ansible.plugins.action import ActionBase

from ansible_collections.wmcb.windows.plugins.module_utils import sources
from ansible_collections.wmcb.windows.plugins.module_utils.certificate_requests import Expected
from ansible_collections.wmcb.windows.plugins.module_utils.cluster import Cluster, Unanswered
from ansible_collections.wmcb.windows.plugins.module_utils.machine import Machine, Unfit
from ansible_collections.wmcb.windows.plugins.module_utils.shells import Unquotable
from ansible_collections.wmcb.windows.plugins.module_utils.sources import Unusable

CLUSTER: dict[str, Any] = {
    "kubectl": {"type": "str", "default": "kubectl"},
    "kubeconfig": {"type": "path"},
}

NAMES: dict[str, Any] = {"type": "list", "elements": "str"}
NODE: dict[str, Any] = {
    "node_name": {"type": "str", "required": True},
    "addresses": {**NAMES, "required": True},
    "names": {**NAMES, "default": []},
}


def expected(node: Mapping[str, Any], requestors: Sequence[str]) -> Expected:
    return Expected(node["node_name"], node["addresses"], node["names"], requestors)


class Acting(ActionBase):  # type: ignore[misc] # Ansible has no types
    """An action that needs nothing on the machine but its shell."""

    _supports_check_mode = True
    _supports_async = False
    options: ClassVar[dict[str, Any]] = {}

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        result: dict[str, Any] = super().run(tmp, task_vars)
        _, given = self.validate_argument_spec(argument_spec=self.options)
        try:
            result.update(self.act(given))
        except (Unfit, Unquotable, Unusable, Unanswered) as fault:
            raise AnsibleActionFail(str(fault)) from None
        # Ansible shows one once, whoever else has it too, and does not say whose it is.
        assert task_vars is not None
        name = task_vars["inventory_hostname"]
        return {**result, "warnings": [f"{name}: {text}" for text in result.get("warnings", ())]}

    @abstractmethod
    def act(self, given: dict[str, Any]) -> dict[str, Any]:
        """Does it; what Ansible is to know of it."""

    @property
    def checking(self) -> bool:
        return bool(self._task.check_mode)

    @property
    def folder(self) -> Path:
        """On the control host: for this run of Ansible and its owner alone, and removed after it."""
        return Path(constants.DEFAULT_LOCAL_TMP)

    def machine(self) -> Machine:
        family = self._connection._shell.SHELL_FAMILY
        if family not in ("cmd", "powershell"):
            text = "this host is not reached as Windows is: set ansible_shell_type to cmd (SSH) or powershell"
            raise Unfit(text)
        return Machine(self._connection, self._low_level_execute_command, family)

    def cluster(self, given: Mapping[str, Any]) -> Cluster:
        return Cluster(given["kubectl"], given["kubeconfig"])

    def fetched(self, machine: Machine, path: str) -> Path | None:
        """A copy of a file of the machine's; None where it cannot be had."""
        copy = sources.private_file(b"", self.folder)
        try:
            machine.fetch(path, copy)
        except AnsibleError:
            return None
        return copy
