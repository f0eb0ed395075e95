"""Microsoft Defender's exclusions, by WMI (MSFT_MpPreference), as its own cmdlets set them."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from contextlib import contextmanager
from typing import TYPE_CHECKING

from agent.host import winerror
from agent.host.errors import AccessDenied, ServiceNotRunning
from agent.host.exclusions import is_refusal
from agent.host.windows.failure import code_of, failed, telling

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from agent.host.windows.api.automation import Automated

_LOCATOR = "{76A64158-CB41-11D1-8B02-00600806D9B6}"  # WbemScripting.SWbemLocator
_NAMESPACE = "root\\Microsoft\\Windows\\Defender"
_CLASS = "MSFT_MpPreference"
_PROPERTIES = {"path": "ExclusionPath", "process": "ExclusionProcess"}


class WindowsDefender:
    def exclusions(self, what: str) -> Sequence[str]:
        with _telling("read", f"Microsoft Defender's exclusions ({what})"):
            found: list[str] = []
            for preference in _services().call("InstancesOf", _CLASS):
                found += preference.get(_PROPERTIES[what]) or ()
            if any(map(is_refusal, found)):
                # Whoever may not see them, even as an administrator, gets that.
                raise AccessDenied(
                    "read", f"Microsoft Defender's exclusions ({what})", winerror.ERROR_ACCESS_DENIED
                )
            return found

    def exclude(self, what: str, path: str) -> None:
        with _telling("exclude", f"{what} {path} from Microsoft Defender"):
            _call("Add", what, path)

    def include(self, what: str, path: str) -> None:
        with _telling("take back", f"Microsoft Defender's exclusion of {what} {path}"):
            _call("Remove", what, path)


def _services() -> Automated:
    from agent.host.windows.api.automation import Automated

    services: Automated = Automated.create(_LOCATOR).call("ConnectServer", ".", _NAMESPACE)
    return services


def _call(method: str, what: str, path: str) -> None:
    of_class = _services().call("Get", _CLASS)
    given = of_class.get("Methods_").call("Item", method).get("InParameters").call("SpawnInstance_")
    given.put(_PROPERTIES[what], (path,))
    given.put("Force", True)
    if result := of_class.call("ExecMethod_", method, given).get("ReturnValue"):
        raise failed(code_of(result), f"{_CLASS}.{method}")


@contextmanager
def _telling(action: str, subject: str) -> Iterator[None]:
    try:
        with telling(action, subject):
            yield
    except ServiceNotRunning as fault:
        raise ServiceNotRunning(fault.action, fault.subject, fault.code, "start WinDefend") from None
