"""Why an artifact cannot be had."""

from __future__ import annotations


class Unusable(Exception):
    """It came, and is not what it is to be, or it does not come. One line for a person."""
