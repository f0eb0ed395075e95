"""Why a run of the service's own was taken back."""

from agent.engine.run import TakenBack
from agent.host.errors import HostError
from agent.resources.kind import CannotBeSo, NotWell


def why(failure: TakenBack) -> str:
    """In a line."""
    cause = failure.__cause__
    known = isinstance(cause, HostError | NotWell | CannotBeSo)
    text = str(cause) if known else f"unexpected {type(cause).__name__}: {' '.join(str(cause).split())}"
    trouble = "; ".join(failure.undone.trouble)
    return f"{text}; taken back" if not trouble else f"{text}; not all could be taken back: {trouble}"
