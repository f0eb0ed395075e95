"""All that a node is made of, in one hash: what was made of the same before need not be read to know it.

An Ignition of some size takes longer to decode than a machine to be looked at.
"""

from __future__ import annotations

import json

from agent import log_runner
from agent.cli import options
from agent.cli.arguments import OUTPUT, VERBOSE, Request
from agent.cli.given import given_file
from agent.hashing import new_sha256
from agent.host.port import Host
from agent.release import RELEASE, build

_SHOWN_ONLY = (OUTPUT.name, VERBOSE.name, options.IGNORE.name)
"""Options that make no difference to a node."""


def recipe_of(request: Request, host: Host, document: str) -> str:
    """`document` is the Ignition's hash. Empty where something of it is only known by asking others."""
    if request.value(options.PLATFORM, "none") != "none" or not request.has(options.KUBELET):
        return ""
    facts = host.facts
    parts = {
        "program": [RELEASE, build().commit],
        "log runner": new_sha256(log_runner.program() or b"").hexdigest(),
        "document": document,
        "kubelet": given_file(request, options.KUBELET, host).sha256,
        "beside it": _beside(request, host),
        "options": sorted(item for item in request.values.items() if item[0] not in _SHOWN_ONLY),
        "machine": [facts.host_name(), str(facts.windows_version()), *map(str, facts.addresses())],
    }
    return new_sha256(json.dumps(parts).encode()).hexdigest()


def _beside(request: Request, host: Host) -> str:
    """kube-log-runner.exe, wherever it is taken from."""
    if request.has(options.LOG_RUNNER):
        return given_file(request, options.LOG_RUNNER, host).sha256
    beside = given_file(request, options.KUBELET, host).beside(log_runner.OF_KUBERNETES)
    return beside.sha256 if beside else ""
