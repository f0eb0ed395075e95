"""Documentation; what it does stands in the action of the same name."""

from __future__ import annotations

DOCUMENTATION = """
module: run
short_description: Runs wmcb.exe on a Windows machine
description:
  - What it changed it tells itself; in check mode it only plans.
author: [wmcb]
extends_documentation_fragment: [wmcb.windows.cluster]
options:
  program:
    description: Where it was brought to.
    type: str
    required: true
  command:
    description: The words of the command; none for the one that makes a node.
    type: list
    elements: str
  options:
    description: By their names without dashes; true for those that take no value.
    type: dict
  node_configuration:
    description: A document that is made first, as C(source) of C(bring).
    type: dict
  ignition:
    description: The worker Ignition, as wmcb_ignition of the role.
    type: dict
  join:
    description: Whom to join to a kubeadm cluster, by a token that is made for it and removed after use.
    type: dict
    suboptions:
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
      registration:
        description: More of the JoinConfiguration's nodeRegistration.
        type: dict
  cache:
    description: Where the control host keeps what it has fetched.
    type: path
    required: true
  looks_only:
    description: Whether the command changes nothing, and so has no dry run.
    type: bool
    default: false
  restart:
    description: Whether Windows is restarted where that is needed.
    type: bool
    default: false
  seconds:
    description: How long a restart may take.
    type: int
    default: 900
"""

EXAMPLES = """
- wmcb.windows.run:
    program: "{{ program.path }}"
    command: [reset]
    cache: ~/.cache/wmcb-ansible
"""

RETURN = """
changes:
  description: What was changed, or would be, a line each.
  type: list
  elements: str
  returned: but for the resident service's commands
title:
  description: What the node was made from; empty where wmcb has made nothing on it.
  type: str
  returned: where the command tells it, as status does
resident:
  description: The state of the resident service; null where there is none.
  type: str
  returned: where the command tells it, as status does
requestor:
  description: Who asks for the node's first certificate; empty but for a join.
  type: str
  returned: but for the resident service's commands
"""
