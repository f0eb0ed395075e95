"""How long an API server is waited for."""

from __future__ import annotations

from agent.records import frozen


@frozen
class Limits:
    """In seconds, but for the last."""

    patience: float = 60.0
    """For all attempts at a request together; 0 to ask once."""
    attempt: float = 30.0
    """For one of them, from looking up the name until the last byte."""
    answer: float = 10.0
    """From a request until its answer begins; then it is asked again."""
    silence: float = 10.0
    """Without a byte, once the answer has begun."""
    size: int = 64 << 20
    """Bytes of an answer."""
