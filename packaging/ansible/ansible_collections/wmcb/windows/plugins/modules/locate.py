"""Documentation; what it does stands in the action of the same name."""

from __future__ import annotations

DOCUMENTATION = """
module: locate
short_description: Asks the cluster which wmcb.exe it wants of a node
description:
  - By C(self) of the NodeConfiguration for that node in a ConfigMap.
author: [wmcb]
extends_documentation_fragment: [wmcb.windows.cluster]
options:
  config_map:
    description: Which one.
    type: dict
    required: true
    suboptions:
      namespace:
        description: As kube-system.
        type: str
        required: true
      name:
        description: As windows-nodes.
        type: str
        required: true
      public_key:
        description: A file of the control host, minisign.pub, by whose holder it has to be signed.
        type: path
  node_name:
    description: What the Node is called, or will be.
    type: str
    required: true
"""

EXAMPLES = """
- wmcb.windows.locate:
    config_map: {namespace: kube-system, name: windows-nodes}
    node_name: win1
  register: place
"""

RETURN = """
url:
  description: Where it is. Nothing of the result is shown, since a URL may have a signature in it.
  type: str
  returned: always
sha256:
  description: What it has to be.
  type: str
  returned: always
"""
