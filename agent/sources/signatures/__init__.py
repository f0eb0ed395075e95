"""Whether a document is by whom it has to be, and for the place where it is found."""

from agent.sources.signatures.binding import Binding, Phase, bound, signing_command
from agent.sources.signatures.minisign import SUFFIX, NoKey, Refused, public_key, verified

__all__ = [
    "SUFFIX", "Binding", "NoKey", "Phase", "Refused", "bound", "public_key", "signing_command", "verified",
]  # fmt: skip
