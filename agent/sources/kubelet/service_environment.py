"""Which variables of the unit's environment the kubelet gets on Windows, too."""

from __future__ import annotations

import re
from collections.abc import Mapping

from agent.sources.kubelet import linux_units
from agent.sources.kubelet.decisions import About, Decision, Outcome

_OS_RELEASE = re.compile(
    "NAME|VERSION|ID|ID_LIKE|VERSION_ID|VERSION_CODENAME|PRETTY_NAME|PLATFORM_ID|ANSI_COLOR|CPE_NAME|.*_URL"
    "|VARIANT|VARIANT_ID|BUILD_ID|OSTREE_VERSION|OPENSHIFT_VERSION|RHEL_VERSION|REDHAT_.*|LOGO|DEFAULT_HOSTNAME"
)
_LINUX = re.compile("PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|LANG|LC_.*|LD_.*|XDG_.*|KUBENSMNT|NOTIFY_SOCKET")


def keep(variables: Mapping[str, str], asked: frozenset[str]) -> tuple[dict[str, str], tuple[Decision, ...]]:
    """What is kept, and each decision. `asked` are the variables that the command line names."""
    kept: dict[str, str] = {}
    decisions: list[Decision] = []
    for name in sorted(variables):
        value = variables[name]
        reason = _why_not(name, asked) or _why_the_same(name, kept)
        if reason is None:
            kept[name] = value
            reason, outcome = "the kubelet reads it on Windows, too", Outcome.KEPT
        else:
            outcome = Outcome.DROPPED
        decisions.append(Decision(About.ENVIRONMENT, name, outcome, reason))
    return kept, tuple(decisions)


def _why_not(name: str, asked: frozenset[str]) -> str | None:
    if name in linux_units.WRITTEN_BY or name in asked:
        return "it was there for the command line"
    if _LINUX.fullmatch(name):
        return "about Linux"
    if _OS_RELEASE.fullmatch(name):
        return "it describes a Linux system"
    return None


def _why_the_same(name: str, kept: Mapping[str, str]) -> str | None:
    """Capitals sort first, so it is their way to write it that stays."""
    same = [other for other in kept if other.upper() == name.upper()]
    return f"Windows does not tell it from {same[0]}" if same else None
