"""Certificates that OpenShift's operator brings to a machine, and those that its own programs left."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PureWindowsPath

import pytest

from agent.engine.machine_lock import LOCK
from agent.engine.progress import Silent
from agent.engine.run import make_so, reset
from agent.engine.state_folder import StateFolder
from agent.host.errors import AccessDenied
from agent.host.port import ROOT_CERTIFICATES
from agent.host.sandbox.registry import SandboxRoots
from agent.host.sddl import SecurityDescriptor
from agent.sources.trusted_certificates import trusted
from agent.spec import Specification
from sandbox.service.test_operated import ALL, DATA, PREFIX, VERSION, WRITABLE, Worker, restart, worker
from service.telling import Event

__all__ = ["worker"]

CERTIFICATES = DATA.parent / "certificates"
EXAMPLE, OTHER = ((CERTIFICATES / f"{name}-root.pem").read_text() for name in ("example", "other"))
BUNDLE = PureWindowsPath(r"C:\k\ca-bundle.crt")


@pytest.fixture
def believing(worker: Worker) -> Worker:
    worker.bundle = BUNDLE
    worker.put(worker.host, BUNDLE, EXAMPLE.encode())
    worker.begin()
    worker.says()
    return worker


def believed(worker: Worker) -> set[str]:
    given = {trusted(text)[0].key.name: name for name, text in (("example", EXAMPLE), ("other", OTHER))}
    return {given[name] for name in worker.host.registry.keys(ROOT_CERTIFICATES)}


def test_certificates_are_believed_after_a_restart_that_the_operator_is_asked_for(believing: Worker) -> None:
    assert believed(believing) == {"example"}
    assert believing.services() == {}
    assert believing.marks.marks == [{f"{PREFIX}reboot-required": ""}]
    restart(believing)
    assert sorted(believing.services()) == ALL
    assert len(believing.marks.marks) == 1, "one restart, and no other"


def test_until_it_is_restarted_it_is_asked_for_again_and_again_and_no_version_is_told(
    believing: Worker,
) -> None:
    believing.says(is_ready=True)
    believing.pass_time(700)
    believing.begin()
    believing.pass_time(700)
    assert believing.services() == {}
    asked = {f"{PREFIX}reboot-required": ""}
    assert {*map(str, believing.marks.marks)} == {str(asked)}
    assert len(believing.marks.marks) > 2
    restart(believing)
    believing.says(is_ready=True)
    assert sorted(believing.services()) == ALL
    assert believing.marks.marks[-1] == {f"{PREFIX}version": VERSION}


IMPORTED = PureWindowsPath(r"C:\k\imported-certs.pem")


def imports(worker: Worker, *texts: str) -> None:
    """As the operator's own daemon does it, which was here before."""
    worker.put(worker.host, IMPORTED, "".join(texts).encode())
    worker.host.files.set_descriptor(IMPORTED, WRITABLE)
    for text in texts:
        worker.host.roots.add(trusted(text)[0].encoded)


def test_what_the_operators_own_daemon_imported_goes_when_it_leaves_the_bundle(worker: Worker) -> None:
    worker.bundle = BUNDLE
    worker.put(worker.host, BUNDLE, (EXAMPLE + OTHER).encode())
    imports(worker, EXAMPLE, OTHER)
    worker.begin()
    worker.says()
    assert believed(worker) == {"example", "other"}
    assert worker.marks.marks == [], "that is as it was"
    worker.put(worker.host, BUNDLE, OTHER.encode())
    worker.touched(BUNDLE)
    assert believed(worker) == {"other"}
    assert worker.marks.marks == [{f"{PREFIX}reboot-required": ""}]
    assert trusted(worker.host.files.read(IMPORTED).decode()) == trusted(OTHER)
    worker.put(worker.host, BUNDLE, b"")
    restart(worker)
    assert believed(worker) == set()
    assert worker.host.files.observe(IMPORTED) is None


def test_a_certificate_that_left_the_bundle_before_wmcb_came_goes_too(worker: Worker) -> None:
    imports(worker, EXAMPLE)
    worker.host.roots.add(trusted(OTHER)[0].encoded)
    worker.begin()
    worker.says()
    assert believed(worker) == {"other"}, "which came from elsewhere"
    assert worker.marks.marks == [{f"{PREFIX}reboot-required": ""}]
    restart(worker)
    assert sorted(worker.services()) == ALL


def test_an_imported_certificate_that_another_document_names_stays(worker: Worker) -> None:
    worker.host.roots.add(trusted(EXAMPLE)[0].encoded)
    make_so(worker.host, Specification.of(trusted(EXAMPLE)), Silent(), part="prepared")
    imports(worker, EXAMPLE)
    worker.begin()
    worker.says()
    assert believed(worker) == {"example"}


def test_no_other_wmcb_changes_the_machine_while_imported_certificates_are_removed(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[bool] = []
    monkeypatch.setattr(SandboxRoots, "remove", lambda *_: held.append(worker.host.processes.is_held(LOCK)))
    imports(worker, EXAMPLE)
    worker.begin()
    worker.says()
    assert held == [True]


def test_one_imported_certificate_that_cannot_be_removed_keeps_no_other_from_that(
    worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that a group policy deploys."""
    remove, policys = SandboxRoots.remove, trusted(EXAMPLE)[0].key.name

    def without_the_policys(roots: SandboxRoots, thumbprint: str) -> None:
        if thumbprint == policys:
            raise AccessDenied("remove", f"root certificate {thumbprint}", 5)
        remove(roots, thumbprint)

    imports(worker, EXAMPLE, OTHER)
    worker.begin()
    with monkeypatch.context() as denied:
        denied.setattr(SandboxRoots, "remove", without_the_policys)
        worker.says()
    assert believed(worker) == {"example"}
    assert trusted(worker.host.files.read(IMPORTED).decode()) == trusted(EXAMPLE)
    assert sorted(worker.services()) == ALL
    assert worker.marks.marks == [{f"{PREFIX}reboot-required": ""}]
    told = [text for event, text in worker.told() if event is Event.NOT_REPAIRED]
    assert [policys in text for text in told if str(IMPORTED) in text] == [True]
    restart(worker)
    assert believed(worker) == set()
    assert worker.host.files.observe(IMPORTED) is None


UNTRUSTED_LISTS = {
    "a user's": (EXAMPLE, "O:BUG:BUD:(A;;FA;;;SY)(A;;FA;;;BA)", "belongs to a user"),
    "cut off": (EXAMPLE[:-30], "O:BAG:BAD:P(A;;FA;;;SY)(A;;FA;;;BA)", "as if it were cut off"),
}


@pytest.mark.parametrize(("content", "descriptor", "line"), UNTRUSTED_LISTS.values(), ids=UNTRUSTED_LISTS)
def test_a_list_of_imported_certificates_that_cannot_be_trusted_removes_nothing(
    worker: Worker, content: str, descriptor: str, line: str
) -> None:
    imports(worker, EXAMPLE)
    worker.put(worker.host, IMPORTED, content.encode())
    worker.host.files.set_descriptor(IMPORTED, SecurityDescriptor.parse(descriptor))
    worker.begin()
    worker.says()
    assert believed(worker) == {"example"}
    assert sorted(worker.services()) == ALL, "and the node works"
    told = [text for event, text in worker.told() if event is Event.NOT_REPAIRED]
    assert sum(line in text for text in told) == 1


OVERLAY = PureWindowsPath(r"C:\k\cni\config")
DATED = [f"ovnkube-client-2026-11-{day:02}-08-00-00.pem" for day in range(1, 20)]
OTHERS = ["cni.conf", "ovnkube-client-.pem", "ovnkube-client-current.pem.bak"]
OVERLAY_CERTIFICATES = {
    "none": ((), None, []),
    "two": (DATED[:2], None, DATED[:2]),
    "many": (DATED, None, DATED[-2:]),
    "many, and the newest in use": (DATED, DATED[-1], [*DATED[-1:], "ovnkube-client-current.pem"]),
    "one in use that is not the newest": (
        DATED,
        DATED[3],
        [DATED[3], DATED[-1], "ovnkube-client-current.pem"],
    ),
    "dates without dashes": (
        ("ovnkube-client-20261110080000.pem", *DATED[:2]),
        None,
        ["ovnkube-client-20261110080000.pem", DATED[1]],
    ),
}


@pytest.mark.parametrize(("names", "in_use", "kept"), OVERLAY_CERTIFICATES.values(), ids=OVERLAY_CERTIFICATES)
def test_old_client_certificates_of_the_overlay_are_removed(
    worker: Worker, tmp_path: Path, names: Sequence[str], in_use: str | None, kept: list[str]
) -> None:
    for name in (*names, *OTHERS):
        worker.put(worker.host, OVERLAY / name, b"certificate")
    if in_use:
        (link,) = tmp_path.rglob("k/cni/config")
        (link / "ovnkube-client-current.pem").symlink_to(in_use)
    worker.says()
    assert sorted(worker.services()) == ALL
    assert worker.host.files.list(OVERLAY) == sorted([*OTHERS, *kept], key=str.lower)


def test_a_reset_leaves_nothing_of_it(believing: Worker) -> None:
    reset(believing.host, Silent())
    assert believing.host.files.observe(StateFolder.of(believing.host).path) is None


def test_a_change_of_the_file_is_seen_at_once(believing: Worker) -> None:
    restart(believing)
    assert BUNDLE.parent in believing.watches.folders
    believing.marks.marks.clear()
    believing.put(believing.host, BUNDLE, (EXAMPLE + OTHER).encode())
    believing.touched(BUNDLE)
    assert believed(believing) == {"example", "other"}
    assert believing.marks.marks == [{f"{PREFIX}reboot-required": ""}]
    believing.put(believing.host, BUNDLE, OTHER.encode())
    restart(believing)
    assert believed(believing) == {"other"}
    assert sorted(believing.services()) == ALL


@pytest.mark.parametrize(
    ("content", "line"),
    [
        pytest.param(None, "it does not exist", id="gone"),
        pytest.param(EXAMPLE[:-30], "as if it were cut off", id="cut off"),
        pytest.param(
            EXAMPLE.replace("MII", "MIJ"), "the first of what it calls certificates is none", id="bad"
        ),
    ],
)
def test_a_file_that_cannot_be_read_takes_nothing_away(
    believing: Worker, content: str | None, line: str
) -> None:
    restart(believing)
    believing.told()
    if content is None:
        believing.host.files.remove(BUNDLE)
    else:
        believing.put(believing.host, BUNDLE, content.encode())
    believing.touched(BUNDLE)
    assert believed(believing) == {"example"}
    assert sorted(believing.services()) == ALL
    ((event, text),) = believing.told()
    assert event is Event.REFUSED
    assert line in text
