"""How many examples of Hypothesis there are, and that none has a deadline: on a busy machine any of them
takes as long as it takes.

WMCB_EXAMPLES says another number, for a longer search.
"""

from __future__ import annotations

import os
import sys

from hypothesis import HealthCheck, settings

# Linux has looked for what readers do not bear already; Windows is there for what only it does otherwise.
_EXAMPLES = 15 if sys.platform == "win32" else 75

settings.register_profile(
    "any machine",
    max_examples=int(os.environ.get("WMCB_EXAMPLES", _EXAMPLES)),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("any machine")
