"""Microsoft Defender's exclusions, by WMI (MSFT_MpPreference), as its own cmdlets set them."""

from collections.abc import Sequence

from agent.host import winerror
from agent.host.errors import AccessDenied, ServiceNotRunning
from agent.host.windows.api.com import ask, check_awaited, management
from agent.host.windows.failure import Advices, code_of, failed, telling

_NAMESPACE = "root\\Microsoft\\Windows\\Defender"
_CLASS = "MSFT_MpPreference"
_ADVICES: Advices = {ServiceNotRunning: "start WinDefend"}
_PROPERTIES = {"path": "ExclusionPath", "process": "ExclusionProcess"}


class WindowsDefender:
    def exclusions(self, what: str) -> Sequence[str]:
        def read() -> list[str]:
            preferences = management(_NAMESPACE).instances(_CLASS)
            return [each for found in preferences for each in getattr(found, _PROPERTIES[what]) or ()]

        with telling("read", f"Microsoft Defender's exclusions ({what})", advices=_ADVICES):
            found = ask(read)
            if any(map(is_refusal, found)):
                # Whoever may not see them, even as an administrator, gets that.
                raise AccessDenied(
                    "read", f"Microsoft Defender's exclusions ({what})", winerror.ERROR_ACCESS_DENIED
                )
            return found

    def exclude(self, what: str, path: str) -> None:
        with telling("exclude", f"{what} {path} from Microsoft Defender", advices=_ADVICES):
            _call("Add", what, path)

    def include(self, what: str, path: str) -> None:
        with telling("take back", f"Microsoft Defender's exclusion of {what} {path}", advices=_ADVICES):
            _call("Remove", what, path)


def _call(method: str, what: str, path: str) -> None:
    def call() -> int:
        of_class = management(_NAMESPACE).get(_CLASS)
        check_awaited()
        (result,) = getattr(of_class, method)(**{_PROPERTIES[what]: [path], "Force": True})
        return int(result or 0)

    if result := ask(call):
        raise failed(code_of(result), f"{_CLASS}.{method}")


def is_refusal(answer: str) -> bool:
    r"""No path, but a sentence, as "N/A: Must be an administrator to view exclusions".

    A path has a colon after its drive at most; but one for some scans alone ends as \:{ScanTrigger:OnAccess}.
    """
    beginning, _, _ = answer.partition("\\")
    return ":" in beginning[len("C:") :]
