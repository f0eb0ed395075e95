"""Documentation; what it does stands in the action of the same name."""

from __future__ import annotations

DOCUMENTATION = """
module: tidy
short_description: Removes from a Windows machine what was brought there
description:
  - The folder of whoever logs in, with all programs in it. What they have made stays.
author: [wmcb]
"""

EXAMPLES = """
- wmcb.windows.tidy:
"""

RETURN = """
"""
