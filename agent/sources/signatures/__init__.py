"""Whether a document is by whom it has to be."""

from agent.sources.signatures.minisign import (
    SUFFIX,
    NoKey,
    PublicKey,
    Refused,
    Signed,
    public_key,
    verified,
)

__all__ = ["SUFFIX", "NoKey", "PublicKey", "Refused", "Signed", "public_key", "verified"]
