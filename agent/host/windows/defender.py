"""Microsoft Defender's exclusions, by WMI (MSFT_MpPreference), as its own cmdlets set them."""

from __future__ import annotations

import sys

assert sys.platform == "win32"

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from agent.host import winerror
from agent.host.errors import AccessDenied, ServiceNotRunning
from agent.host.exclusions import is_refusal
from agent.host.windows.api.com import ask, management
from agent.host.windows.failure import code_of, failed, telling

_NAMESPACE = "root\\Microsoft\\Windows\\Defender"
_CLASS = "MSFT_MpPreference"
_PROPERTIES = {"path": "ExclusionPath", "process": "ExclusionProcess"}


class WindowsDefender:
    def exclusions(self, what: str) -> Sequence[str]:
        def read() -> list[str]:
            preferences = management(_NAMESPACE).instances(_CLASS)
            return [each for found in preferences for each in getattr(found, _PROPERTIES[what]) or ()]

        with _telling("read", f"Microsoft Defender's exclusions ({what})"):
            found = ask(read)
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


def _call(method: str, what: str, path: str) -> None:
    def call() -> int:
        of_class = management(_NAMESPACE).get(_CLASS)
        (result,) = getattr(of_class, method)(**{_PROPERTIES[what]: [path], "Force": True})
        return int(result or 0)

    if result := ask(call):
        raise failed(code_of(result), f"{_CLASS}.{method}")


@contextmanager
def _telling(action: str, subject: str) -> Iterator[None]:
    try:
        with telling(action, subject):
            yield
    except ServiceNotRunning as fault:
        raise ServiceNotRunning(fault.action, fault.subject, fault.code, "start WinDefend") from None
