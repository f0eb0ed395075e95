"""Makes a machine so by the services ConfigMap of OpenShift's operator.

Stage by stage: what a script prints becomes part of a command, and it may ask what the services before it
run. Each stage is a run of the engine, all of them about one part.
"""

import re
import ssl
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import PureWindowsPath

from agent.documents import Value
from agent.engine.inventory import Inventory
from agent.engine.parts import OF_OPERATOR
from agent.engine.progress import Progress
from agent.engine.run import Done, make_so
from agent.engine.state_folder import StateFolder
from agent.host.errors import HostError, NotFound, TimedOut
from agent.host.files import FileKind
from agent.host.port import Host
from agent.host.protection import PRIVATE_FILE, granted_to_others, is_trusted
from agent.host.sddl import FILE_EXECUTE, FILE_READ
from agent.sources.report import Place
from agent.sources.services_configmap.compiling import Script, compile_services, scripts, stages
from agent.sources.services_configmap.model import ServicesConfigMap, WindowsService
from agent.sources.services_configmap.reading import read
from agent.sources.trusted_certificates import trusted
from agent.spec import Specification
from agent.spec.machine import TrustedCertificate
from service.errors import Refused, told

_SCRIPT_SECONDS = 600.0
_LONGEST_OUTPUT = 1 << 16
_LARGEST_BUNDLE = 4 << 20
IMPORTED = PureWindowsPath(r"C:\k\imported-certs.pem")
"""Where the operator's own daemon remembers the certificates that it has put into Windows' store of roots."""
OVERLAY_CERTIFICATES = PureWindowsPath(r"C:\k\cni\config")
"""Where hybrid-overlay-node.exe keeps the client certificates that it renews each day, and removes none."""

_LARGEST_BYTES = 4 << 20
_OVERLAY_CERTIFICATE = re.compile(r"ovnkube-client-([0-9-]+)\.pem", re.IGNORECASE)
_CURRENT = "ovnkube-client-current.pem"
_KEPT_FILES = 2


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
    progress: Progress,
) -> Done:
    """Its variables alone, and whom the machine believes: what runs goes by them with the next start of
    Windows. For the resident service. Raises as `make_so` does.
    """
    wanted = _wanted(configuration, (), {}, {}, believed)
    return make_so(host, wanted, progress, part=OF_OPERATOR, beside=True, is_resident=True)


def make_services(
    host: Host,
    configuration: ServicesConfigMap,
    services: Sequence[WindowsService],
    node: Mapping[str, Value],
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
        made.append(make_so(host, wanted, progress, part=OF_OPERATOR, beside=beside, is_resident=is_resident))
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


def restrict(host: Host, path: PureWindowsPath) -> bool:
    """Close a file of an administrator's to users who may change it. Return whether they could.

    The operator's daemon inherits the access of C:\\k, which by default every user may write to. A file that
    a plain user owns stays as it is: it is not the operator's.
    """
    if host.files.observe(path) is None:
        return False
    there, caller = host.files.descriptor(path), host.access.caller()
    is_operators = is_trusted(there.owner) or there.owner == caller
    if not is_operators or not granted_to_others(there, caller) & ~(FILE_READ | FILE_EXECUTE):
        return False
    host.files.set_descriptor(path, PRIVATE_FILE)
    return True


def remove_imported(
    host: Host, bundle: Collection[TrustedCertificate], removed: Callable[[TrustedCertificate], None]
) -> None:
    """Remove from Windows' roots what the operator's own daemon imported and `bundle` no longer has.

    What another document of this machine names stays. `removed` is called for each that was removed. Raises
    Refused, with nothing removed, where the daemon's list cannot be read; with all others removed, where
    Windows refuses some; and CannotBeSo for a damaged inventory.
    """
    imported = _imported(host)
    if imported is None:
        return
    own = Inventory.load(StateFolder.of(host)).records
    left = [each for each in imported if each in bundle]
    refused: list[str] = []
    for each in imported:
        if each in left or each.key in own:
            continue
        try:
            host.roots.remove(each.key.name)
            removed(each)
        except NotFound:
            pass
        except HostError as fault:
            left.append(each)
            refused.append(str(fault))
    # Last: where this is cut off, the next run finds the rest by the list.
    if not left or len(left) < len(imported):
        try:
            _write_imported(host, left)
        except HostError as fault:
            refused.append(str(fault))
    if refused:
        raise Refused(
            "of the certificates that the operator's own daemon imported, not all could be removed: "
            f"{IMPORTED}: {'; '.join(refused)}; remove them where they come from, such as a group policy"
        )


def _write_imported(host: Host, left: Sequence[TrustedCertificate]) -> None:
    if left:
        content = "".join(ssl.DER_cert_to_PEM_cert(each.encoded) for each in left)
        host.files.write(IMPORTED, content.encode(), PRIVATE_FILE)
    else:
        host.files.remove(IMPORTED)


def _imported(host: Host) -> Sequence[TrustedCertificate] | None:
    """Return what the daemon's list names; None where there is no list."""
    try:
        if host.files.observe(IMPORTED) is None:
            return None
        restrict(host, IMPORTED)
        owner = host.files.descriptor(IMPORTED).owner
        if not is_trusted(owner) and owner != host.access.caller():
            raise Refused(
                f"{IMPORTED} belongs to a user, so what it lists cannot be trusted; look at it and remove it"
            )
        return trusted(host.files.read(IMPORTED, _LARGEST_BYTES).decode(errors="replace"))
    except (HostError, ValueError) as fault:
        raise Refused(
            f"the list of certificates that the operator's own daemon imported cannot be read: {IMPORTED}: "
            f"{fault}; remove it, and those certificates stay"
        ) from fault


def remove_old_overlay_certificates(host: Host) -> Sequence[PureWindowsPath]:
    """Remove the overlay's former client certificates, and return them.

    Two files stay: the newest certificate, and the link to the one in use; without that link the two newest.
    A certificate in use that is not the newest stays as well. One that is held open goes another time.
    """
    try:
        there = [each for each in host.files.entries(OVERLAY_CERTIFICATES) if _is_one(each.name)]
        current = _in_use(host)
    except HostError:
        return ()
    dated = sorted((e.name for e in there if e.kind is FileKind.FILE), key=_date, reverse=True)
    kept = {*dated[: _KEPT_FILES if current is None else _KEPT_FILES - 1], current}
    removed = []
    for name in dated:
        if name not in kept:
            with suppress(HostError):
                host.files.remove(OVERLAY_CERTIFICATES / name)
                removed.append(OVERLAY_CERTIFICATES / name)
    return removed


def _is_one(name: str) -> bool:
    return _OVERLAY_CERTIFICATE.fullmatch(name) is not None


def _date(name: str) -> str:
    """Return the digits alone: a date is written with or without dashes between them."""
    return "".join(filter(str.isdigit, name))


def _in_use(host: Host) -> str | None:
    """Return the name of the certificate that the link leads to; None where there is no link."""
    there = host.files.observe(OVERLAY_CERTIFICATES / _CURRENT)
    if there is None or there.kind is not FileKind.LINK:
        return None
    return host.files.link_target(OVERLAY_CERTIFICATES / _CURRENT).name
