"""Files of the operator's own programs that this program looks after in their place."""

import re
import ssl
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import PureWindowsPath

from agent.engine.inventory import Inventory
from agent.engine.state_folder import StateFolder
from agent.host.errors import HostError, NotFound
from agent.host.port import FileKind, Host
from agent.host.protection import PRIVATE_FILE, granted_to_others, is_trusted
from agent.host.sddl import FILE_EXECUTE, FILE_READ
from agent.sources.trusted_certificates import trusted
from agent.spec.machine import TrustedCertificate
from service.refusing import Refused

IMPORTED = PureWindowsPath(r"C:\k\imported-certs.pem")
"""Where the operator's own daemon remembers the certificates that it has put into Windows' store of roots."""
OVERLAY_CERTIFICATES = PureWindowsPath(r"C:\k\cni\config")
"""Where hybrid-overlay-node.exe keeps the client certificates that it renews each day, and removes none."""

_LARGEST_BYTES = 4 << 20
_OVERLAY_CERTIFICATE = re.compile(r"ovnkube-client-([0-9-]+)\.pem", re.IGNORECASE)
_CURRENT = "ovnkube-client-current.pem"
_KEPT_FILES = 2


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
