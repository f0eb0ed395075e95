"""Makes a machine so by the services ConfigMap of OpenShift's operator.

Stage by stage: what a script prints becomes part of a command, and it may ask what the services before it
run. Each stage is a run of the engine, all of them about one part.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PureWindowsPath

from agent.documents import Value
from agent.engine.parts import OF_OPERATOR
from agent.engine.progress import Progress
from agent.engine.run import Done, make_so
from agent.host.errors import HostError, TimedOut
from agent.host.port import Host
from agent.sources.report import Place
from agent.sources.services_configmap.compiling import Script, compile_services, scripts, stages
from agent.sources.services_configmap.model import ServicesConfigMap, WindowsService
from agent.sources.services_configmap.reading import read
from agent.sources.trusted_certificates import trusted
from agent.spec import Specification
from agent.spec.machine import TrustedCertificate
from service.refusing import Refused, told

_SCRIPT_SECONDS = 600.0
_LONGEST_OUTPUT = 1 << 16
_LARGEST_BUNDLE = 4 << 20


def configuration_of(name: str, data: Mapping[str, str]) -> ServicesConfigMap:
    """Raises Refused."""
    outcome = read(name, data)
    if outcome.configuration is None:
        raise Refused(told(outcome.report.errors))
    return outcome.configuration


def make_environment(
    host: Host,
    configuration: ServicesConfigMap,
    believed: Sequence[TrustedCertificate],
    version: str,
    progress: Progress,
) -> Done:
    """Its variables alone, and whom the machine believes: what runs goes by them with the next start of
    Windows. For the resident service. Raises as `make_so` does.
    """
    wanted = _wanted(configuration, (), {}, {}, believed)
    return make_so(host, wanted, version, progress, part=OF_OPERATOR, beside=True, is_resident=True)


def make_services(
    host: Host,
    configuration: ServicesConfigMap,
    services: Sequence[WindowsService],
    node: Mapping[str, Value],
    version: str,
    progress: Progress,
    believed: Sequence[TrustedCertificate] = (),
    *,
    is_whole: bool,
    is_resident: bool = False,
) -> Sequence[Done]:
    """Each stage, as far as it goes. Raises Refused, and what `make_so` raises.

    `is_whole`: what was wanted before, and is not any more, goes in the end. `is_resident` as for `make_so`.
    """
    outputs: dict[Place, str] = {}
    made: list[Done] = []
    rows = stages(services) or ((),)
    for number, stage in enumerate(rows, 1):
        found = scripts(configuration, stage, node)
        if found.report.fatal:
            raise Refused(told(found.report.errors))
        for script in found.scripts:
            outputs[script.place] = _printed(host, configuration, script)
        so_far = tuple(service for row in rows[:number] for service in row)
        wanted = _wanted(configuration, so_far, node, outputs, believed)
        beside = not (is_whole and number == len(rows))
        made.append(
            make_so(host, wanted, version, progress, part=OF_OPERATOR, beside=beside, is_resident=is_resident)
        )
    return made


def believed_by(host: Host, bundle: PureWindowsPath | None) -> Sequence[TrustedCertificate]:
    """The certificates in a file of the operator's. Raises Refused: a file that cannot be read takes nothing
    from the machine.
    """
    if bundle is None:
        return ()
    try:
        return trusted(host.files.read(bundle, _LARGEST_BUNDLE).decode(errors="replace"))
    except HostError as fault:
        raise Refused(f"whom this machine is to believe is not known: {fault}") from fault
    except ValueError as fault:
        raise Refused(f"whom this machine is to believe is not known: {bundle}: {fault}") from fault


def only_services(configuration: ServicesConfigMap) -> ServicesConfigMap:
    """Without its variables."""
    return replace(configuration, environment={}, watched=())


def other_files(host: Host, configuration: ServicesConfigMap) -> Iterator[str]:
    """Lines about files that somebody else was to put there, and that are otherwise."""
    for file in configuration.files:
        there = host.files.examine(file.path, content=True)
        if there is None:
            yield f"{file.path} is missing; the operator is to put it there"
        elif there.sha256 != file.sha256:
            yield f"{file.path} is not the one that is wanted; the operator is to put that there"


def _wanted(
    configuration: ServicesConfigMap,
    services: Sequence[WindowsService],
    node: Mapping[str, Value],
    outputs: Mapping[Place, str],
    believed: Sequence[TrustedCertificate],
) -> Specification:
    """Raises Refused."""
    compiled = compile_services(configuration, services, node, outputs)
    if compiled.desired is None:
        raise Refused(told(compiled.report.errors))
    wanted = compiled.desired.specification
    return Specification.of((*believed, *wanted.wants), wanted.notes, wanted.title)


def _printed(host: Host, configuration: ServicesConfigMap, script: Script) -> str:
    """What it printed is not told: it may be a secret."""
    system = host.facts.system_directory() / "System32"
    program = system / "WindowsPowerShell" / "v1.0" / "powershell.exe"
    what = f"{configuration.name}: the script of service {script.service}"
    try:
        done = host.processes.run(
            (str(program), *script.arguments), seconds=_SCRIPT_SECONDS, limit=_LONGEST_OUTPUT, console=True
        )
    except TimedOut as fault:
        raise Refused(f"{what} did not end within {_SCRIPT_SECONDS:g} seconds") from fault
    except HostError as fault:
        raise Refused(f"{what} cannot be run: {fault}") from fault
    if done.exit_code:
        raise Refused(f"{what} ended with exit code {done.exit_code}")
    return done.output.decode(errors="replace")
