"""Documentation; what it does stands in the action of the same name."""

from __future__ import annotations

DOCUMENTATION = """
module: admit
short_description: Approves a node's own requests for certificates
description:
  - Those alone whose requestor, name and addresses are as given, until the Node is Ready and
    its kubelet answers.
author: [wmcb]
extends_documentation_fragment: [wmcb.windows.cluster]
options:
  node_name:
    description: What the Node is called.
    type: str
    required: true
  addresses:
    description: All that its serving certificate may be for.
    type: list
    elements: str
    required: true
  names:
    description: The same of names, beside that of the Node.
    type: list
    elements: str
  requestors:
    description: Who may ask for its first certificate, as regular expressions.
    type: list
    elements: str
    required: true
  seconds:
    description: How long it is waited for.
    type: int
    default: 300
"""

EXAMPLES = """
- wmcb.windows.admit:
    node_name: win1
    addresses: [10.0.1.11]
    requestors: ["system:serviceaccount:openshift-machine-config-operator:node-bootstrapper"]
"""

RETURN = """
changes:
  description: The requests that were approved, a line each.
  type: list
  elements: str
  returned: but in check mode
"""
