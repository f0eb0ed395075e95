"""The machine itself: who asks, what Windows it is, how much memory, and what time it has."""

import time

from agent.host.services import ServiceState
from agent.preflight.finding import Verdict
from agent.preflight.situation import Situation

_OLDEST_BUILD = 17763
"""Windows Server 2019: no older one runs containers as Kubernetes wants them."""
_NEEDED_MEMORY = 2 << 30
"""What is set aside for Windows itself. A kubelet with less does not start."""
_RECOMMENDED_MEMORY = 4 << 30
_TIME_SERVICE = "W32Time"


def administrator(situation: Situation) -> tuple[Verdict, str]:
    """Whether whoever asks may change the machine."""
    if situation.host.access.is_administrator():
        return Verdict.GOOD, "yes"
    return Verdict.ERROR, "an administrator is needed: start it from an elevated prompt"


def windows_build(situation: Situation) -> tuple[Verdict, str]:
    """Windows Server 2019 or later; another Windows of that age is warned of."""
    version = situation.host.facts.windows_version()
    found = f"{version.product}, build {version.build}"
    if version.build < _OLDEST_BUILD:
        return Verdict.ERROR, f"{found}: Windows Server 2019 (build {_OLDEST_BUILD}) or later is needed"
    if not version.server:
        return Verdict.WARNING, f"{found}: Kubernetes supports Windows Server alone; use it to try things out"
    return Verdict.GOOD, found


def architecture(situation: Situation) -> tuple[Verdict, str]:
    """The kubelet for Windows is made for x86-64 alone."""
    found = situation.host.facts.architecture()
    if found != "amd64":
        return Verdict.ERROR, f"{found}: the kubelet for Windows is made for amd64 (x86-64) machines alone"
    return Verdict.GOOD, found


def memory(situation: Situation) -> tuple[Verdict, str]:
    """Windows sets 2 GiB of a node aside for itself."""
    bytes_there = situation.host.facts.memory()
    found = f"{bytes_there / (1 << 30):.1f} GiB"
    if bytes_there < _NEEDED_MEMORY:
        return Verdict.ERROR, f"{found}: Windows itself needs 2 GiB of a node; give the machine 4 or more"
    if bytes_there < _RECOMMENDED_MEMORY:
        return Verdict.WARNING, f"{found}: after what Windows needs little is left for pods; 4 GiB or more do"
    return Verdict.GOOD, found


def clock(situation: Situation) -> tuple[Verdict, str]:
    """With a wrong one no certificate of the cluster is valid."""
    now = situation.host.clock.now()
    for span in situation.validities:
        if now < span.first:
            wrong = f"{_date(now)}: {span.of} is valid from {_date(span.first)} on"
            return Verdict.ERROR, f"{wrong}; set the machine's clock right"
        if span.last is not None and now > span.last:
            wrong = f"{_date(now)}: {span.of} was valid until {_date(span.last)}"
            return Verdict.ERROR, f"{wrong}; get a new document from the cluster, or set the clock right"
    return Verdict.GOOD, _date(now)


def time_service(situation: Situation) -> tuple[Verdict, str]:
    """A clock that nobody keeps right makes certificates invalid, some day."""
    if situation.host.services.read(_TIME_SERVICE) is None:
        return Verdict.GOOD, f"there is no {_TIME_SERVICE}: something else keeps the clock"
    if situation.host.services.status(_TIME_SERVICE).state is ServiceState.RUNNING:
        return Verdict.GOOD, f"{_TIME_SERVICE} runs"
    advice = (
        "start it, or let a NodeConfiguration say timeService, unless something else keeps the clock right"
    )
    return Verdict.WARNING, f"{_TIME_SERVICE} does not run: {advice}"


def reboot_pending(situation: Situation) -> tuple[Verdict, str]:
    """Whether Windows wants to start anew."""
    reasons = situation.host.power.reboot_pending()
    if reasons:
        return Verdict.WARNING, f"Windows wants to start anew ({'; '.join(reasons)}); do it soon"
    return Verdict.GOOD, "no reboot is pending"


def _date(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(moment))
