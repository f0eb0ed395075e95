"""Amounts with their units, for a person."""


def in_seconds(number: float) -> str:
    """Return `1 second`, `0.5 seconds`."""
    return f"{number:g} second{'' if number == 1 else 's'}"


def in_bytes(number: int) -> str:
    """Return `1 byte`, `2,048 bytes`."""
    return f"{number:,} byte{'' if number == 1 else 's'}"
