"""What is published of a release beside the exe. packaging/release/README.md says how it goes."""

from __future__ import annotations

NAME = "wmcb"
PUBLISHER = "The wmcb authors"


class ReleaseError(Exception):
    """Cannot be released so; the text is one line that says why."""
