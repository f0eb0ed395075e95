"""What came of comparing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    compared: Counter[str] = field(default_factory=Counter)
    """By what was compared, and how much of it the peer takes."""
    on_purpose: Counter[str] = field(default_factory=Counter)
    """Differences, by their reason."""
    disagreements: list[str] = field(default_factory=list)
