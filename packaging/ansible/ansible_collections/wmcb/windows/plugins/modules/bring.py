"""Documentation; what it does stands in the action of the same name."""

from __future__ import annotations

DOCUMENTATION = """
module: bring
short_description: Brings a program to a Windows machine
description:
  - In a folder of whoever logs in that is named after the checksum; in check mode,
    too, or nobody could tell what it would do.
author: [wmcb]
options:
  source:
    description: C(file) on the control host, or C(url) that was fetched into the cache, with its C(sha256).
    type: dict
    required: true
  name:
    description: What it is called there.
    type: str
    required: true
  cache:
    description: Where the control host keeps what it has fetched.
    type: path
    required: true
"""

EXAMPLES = """
- wmcb.windows.bring:
    source: {file: wmcb.exe}
    name: wmcb.exe
    cache: ~/.cache/wmcb-ansible
  register: program
"""

RETURN = """
path:
  description: Where it lies on the machine.
  type: str
  returned: success
sha256:
  description: Of the program, as it is there.
  type: str
  returned: success
"""
