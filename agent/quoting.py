"""Somebody's own word inside a message."""


def in_quotes(word: str) -> str:
    """On one line, whatever is in it; a backslash stands as it is, as in a path of Windows."""
    return repr(word).replace("\\\\", "\\")
