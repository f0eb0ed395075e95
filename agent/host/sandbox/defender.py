"""Microsoft Defender as two lists of what it would not look at.

In defender.json may stand beside them `refuses`, the error code that each question is answered with, and
`swallows`: it says yes to everything, and nothing changes.
"""

from collections.abc import Sequence

from agent.host import winerror
from agent.host.errors import NotFound, host_error
from agent.host.sandbox.state import Document, State

DOCUMENT = "defender.json"


class SandboxDefender:
    def __init__(self, state: State) -> None:
        self._state = state

    def exclusions(self, what: str) -> Sequence[str]:
        document = self._state.read(DOCUMENT)
        _check(document, "read", f"Microsoft Defender's exclusions ({what})")
        return list(document.get(what, []))

    def exclude(self, what: str, path: str) -> None:
        with self._state.changing(DOCUMENT) as document:
            _check(document, "exclude", f"{what} {path} from Microsoft Defender")
            if not document.get("swallows") and _place(document, what, path) is None:
                document.setdefault(what, []).append(path)

    def include(self, what: str, path: str) -> None:
        subject = f"Microsoft Defender's exclusion of {what} {path}"
        with self._state.changing(DOCUMENT) as document:
            _check(document, "take back", subject)
            place = _place(document, what, path)
            if place is None:
                raise NotFound("take back", subject, winerror.WBEM_E_NOT_FOUND)
            if not document.get("swallows"):
                del document[what][place]


def _place(document: Document, what: str, path: str) -> int | None:
    known = [each.lower() for each in document.get(what, [])]
    return known.index(path.lower()) if path.lower() in known else None


def _check(document: Document, action: str, subject: str) -> None:
    if code := document.get("refuses"):
        raise host_error(action, subject, code)
