"""What the documentation of the modules that ask a cluster has in common."""

from __future__ import annotations


class ModuleDocFragment:
    """By this name Ansible finds it."""

    DOCUMENTATION = """
options:
  kubectl:
    description: kubectl, or oc, on the control host.
    type: str
    default: kubectl
  kubeconfig:
    description: By which it asks the cluster; KUBECONFIG if empty.
    type: path
"""
