"""Cluster API's kubeadm provider for Ignition: the join configuration and a script, started by a unit.

The script is for bash, but all that is the provider's own in it is done by this program. What is left are the
user's commands, which on a Windows machine are for cmd.exe as those of a cloud-config are.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent.sources import ignition
from agent.sources.cloudconfig import cluster_api, scripts
from agent.sources.cloudconfig.loading import Outcome
from agent.sources.cloudconfig.model import Command, Findings, Join, Refused, Step, UserData, WrittenFile
from agent.sources.cloudconfig.scripts import Line
from agent.sources.cloudconfig.settings import is_server, time_from
from agent.sources.cloudconfig.written_files import DEFAULT_MODE, protection, windows_path
from agent.sources.ignition.document import Findings as Located
from agent.sources.report import Origin
from agent.sources.windows_paths import NotOnWindows
from agent.sources.worker.carried import Carried, NotToBeHad
from agent.sources.worker.needed import of_the_rest
from agent.spec import Inline, Protection

CONFIGURATION = "/etc/kubeadm.yml"
SCRIPT = "/etc/kubeadm.sh"
UNIT = "kubeadm.service"

_TIME = "/etc/ntp.conf"
_FOR_LINUX = {
    "/etc/sudoers.d/": "about users and logging on to Linux",
    "/etc/ssh/": "about users and logging on to Linux",
    _TIME: "how Linux keeps its time; its servers are told to Windows' time service",
}
_JOIN = re.compile(r"[ \t]*kubeadm[ \t]+(?P<verb>join|init)[ \t]+--config[ \t]+/etc/kubeadm\.yml\b[^\n]*")
_SENTINEL = re.compile(r"[ \t]*mkdir -p /run/cluster-api && echo success > (?P<path>\S+)")
_SERVER = re.compile(r"^server[ \t]+(\S+)", re.MULTILINE)
_MOVE = re.compile(r"[ \t]*mv /etc/kubeadm\.yml /tmp/?")
_BEGINNING = re.compile(r"(#![^\n]*\n)?[ \t]*set -e[ \t]*(\n|$)")


@dataclass(frozen=True, slots=True)
class _Script:
    before: str
    call: str
    sentinel: str
    after: str


def recognised(configuration: ignition.Configuration) -> bool:
    """Whether it is that provider's, and not an OpenShift worker's."""
    return CONFIGURATION in configuration.files and SCRIPT in configuration.files


def from_ignition(outcome: ignition.Outcome, fetch: ignition.Fetch | None = None) -> Outcome:
    """What `recognised` data asks for. Nothing is raised for bad one."""
    configuration = outcome.configuration
    if configuration is None:
        return Outcome(None, outcome.report)
    findings = Findings()
    located: dict[str, Located] = {}
    made = None
    try:
        made = _user_data(configuration, Carried(configuration, fetch, outcome.largest_file), findings)
    except NotToBeHad as fault:
        at = located.setdefault(fault.origin.document, Located())
        place = (*fault.origin.place, *fault.below)
        at.error(place, str(fault), is_unserved=fault.is_unserved)
    except Refused as fault:
        at = located.setdefault(fault.origin.document, Located())
        at.error(fault.origin.place, str(fault))
    report = outcome.report + findings.report() + outcome.located(located)
    return Outcome(None if report.fatal else made, report)


def _user_data(configuration: ignition.Configuration, carried: Carried, findings: Findings) -> UserData:
    said = configuration.files[SCRIPT].origin
    origin = Origin(said.document, (*said.place, "contents"))
    script = _taken_apart(carried[SCRIPT].decode(errors="replace"), origin)
    split = cluster_api.split([Line(f"{script.call} && echo success > {script.sentinel}", origin)], findings)
    join = split.join
    cluster_api.refuse_control_plane(carried[CONFIGURATION], origin)
    if script.before.strip() or script.after.strip():
        why = "Ignition's are for bash, which ends at the first that fails; here cmd.exe runs all of them"
        findings.warn("commands before and after kubeadm", why)
    files = list(_files(configuration, carried, join, findings))
    findings.take(of_the_rest(configuration, UNIT))
    return UserData(
        (*files, *_time(carried), *_batch("commands before kubeadm", script.before, origin)),
        join,
        (*cluster_api.sentinel(join), *_batch("commands after kubeadm", script.after, origin)),
        notes=tuple(findings.notes),
    )


def _batch(name: str, text: str, origin: Origin) -> Iterator[Step]:
    listed = [Line(line, origin) for line in text.strip("\n").split("\n")]
    yield from scripts.batch(name, listed)


def _time(carried: Carried) -> Iterator[Command]:
    text = carried[_TIME].decode(errors="replace") if _TIME in carried else ""
    servers = list(filter(is_server, _SERVER.findall(text)))
    if servers:
        yield time_from(servers)


def _taken_apart(text: str, origin: Origin) -> _Script:
    """Raises Refused."""
    beginning = _BEGINNING.match(text)
    lines = text[beginning.end() :].split("\n") if beginning else []
    calls = [index for index, line in enumerate(lines) if _JOIN.fullmatch(line)]
    if len(calls) != 1 or len(lines) < calls[0] + 3:
        raise Refused(origin, f"{SCRIPT} is not as Cluster API's provider writes it")
    at = calls[0]
    sentinel = _SENTINEL.fullmatch(lines[at + 1])
    if sentinel is None or not _MOVE.fullmatch(lines[at + 2]):
        raise Refused(origin, f"{SCRIPT} is not as Cluster API's provider writes it")
    after = "\n".join(lines[at + 3 :])
    return _Script("\n".join(lines[:at]), lines[at].strip(), sentinel["path"], after)


def _files(
    configuration: ignition.Configuration, carried: Carried, join: Join | None, findings: Findings
) -> Iterator[WrittenFile]:
    for path, file in configuration.files.items():
        if path == SCRIPT:
            continue
        reason = next((why for start, why in _FOR_LINUX.items() if path.startswith(start)), None)
        if reason:
            findings.ignore(f"file {path}", reason)
            continue
        origin = Origin(file.origin.document, (*file.origin.place, "path"))
        try:
            windows = windows_path(path)
        except NotOnWindows as fault:
            raise Refused(origin, f"this cannot be a path on Windows: {fault.unquoted}") from None
        mode = DEFAULT_MODE if file.mode is None else file.mode
        content = carried.content(path)
        if join and windows == join.configuration:
            yield WrittenFile(windows, Inline(carried[path]), Protection.PRIVATE, until=join.sentinel)
        else:
            appended = file.contents is None and bool(file.appended)
            yield WrittenFile(windows, content, protection(mode), appended)
