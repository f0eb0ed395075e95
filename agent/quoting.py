"""Somebody's own word inside a message."""

from agent.redaction import redacted


def in_quotes(word: str) -> str:
    """On one line, whatever is in it; a backslash stands as it is, as in a path of Windows."""
    return repr(str(redacted(word))).replace("\\\\", "\\")
