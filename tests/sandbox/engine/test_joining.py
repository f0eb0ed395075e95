"""What a node needs that has to be admitted to its cluster: a credential that is used once, and waiting."""

from __future__ import annotations

import pathlib
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import PureWindowsPath

import pytest

from agent.engine.planning import Action
from agent.engine.progress import Silent
from agent.engine.run import TakenBack, make_so, preview, reset, status, take_back
from agent.host.files import FileKind
from agent.host.port import Host
from agent.host.protection import PRIVATE_DIRECTORY, PRIVATE_FILE
from agent.host.sandbox import open_sandbox
from agent.resources.kind import NotWell
from agent.spec import Certificates, Credentials, Directory, File, HealthCheck, Inline, Service, Specification
from sandbox.engine import nodes
from sandbox.engine.test_run import STATE, Hasty
from sandbox.engine.test_trouble import full_for_the_inventory
from sandbox.engine.world import C, Killed, Power, changed, picture, powered


@pytest.fixture
def host(host: Host) -> Host:
    return nodes.admitted(host)


class Confirmation:
    """Sees to it that it is asked for when all is well, and by nobody else."""

    def __init__(self, host: Host, failure: BaseException | None = None) -> None:
        self._host = host
        self._failure = failure
        self.times = 0

    def __call__(self) -> None:
        self.times += 1
        assert self._host.files.observe(nodes.CERTIFICATE) is not None
        if self._failure is not None:
            raise self._failure


def join(host: Host, confirm: Callable[[], None] | None = None, token: bytes = b"token") -> list[str]:
    done = make_so(host, nodes.joining(token), Silent(), confirm)
    return [f"{change.action.value} {change.target.key.name}" for change in done.plan.changes]


def test_a_credential_goes_when_it_has_been_used(host: Host) -> None:
    join(host)
    assert host.files.read(nodes.CERTIFICATE) == b"certificate"
    assert host.files.observe(nodes.BOOTSTRAP) is None
    assert status(host).is_well


def test_joined_again_nothing_changes_and_nobody_is_asked(host: Host) -> None:
    join(host)
    confirm = Confirmation(host)
    power = Power(left=0)
    assert join(powered(host, power), confirm, token=b"another") == []
    assert not power.dead
    assert confirm.times == 0


def test_joined_again_without_a_token_nothing_changes(host: Host) -> None:
    join(host)
    without = Specification.of(
        want for want in nodes.joining().wants if want.key.name != str(nodes.BOOTSTRAP)
    )
    planned = preview(host, without)
    assert planned.changes == ()
    assert planned.pauses == ()


def test_nobody_is_restarted_when_it_goes(host: Host) -> None:
    join(host)
    host.files.write(nodes.BOOTSTRAP, b"token", PRIVATE_FILE)
    planned = preview(host, nodes.joining())
    assert [(change.action, change.target.key.name) for change in planned.changes] == [
        (Action.REMOVE, str(nodes.BOOTSTRAP))
    ]
    assert planned.pauses == ()
    join(host)
    assert host.files.observe(nodes.BOOTSTRAP) is None


def test_reset_leaves_nothing_of_a_join(host: Host) -> None:
    bare = picture(host)
    join(host)
    reset(host, Silent())
    assert picture(host) == bare


def test_a_credential_that_was_there_before_comes_back_with_a_reset(host: Host) -> None:
    for folder in (nodes.ETC, nodes.CONFIG.parent):
        host.files.make_directory(folder, PRIVATE_DIRECTORY)
    host.files.write(nodes.BOOTSTRAP, b"of kubeadm.exe", PRIVATE_FILE)
    before = picture(host)
    join(host)
    assert host.files.observe(nodes.BOOTSTRAP) is None
    reset(host, Silent())
    assert picture(host) == before


class Kubelet:
    """What it finds when it starts."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.found: list[bytes] = []
        self.host = changed(host, services={"start": self._start})

    def _start(self, name: str) -> None:
        self.found.append(self._host.files.read(nodes.BOOTSTRAP))
        self._host.services.start(name)


def test_a_leftover_of_another_node_does_not_stand_for_being_admitted(host: Host) -> None:
    host.files.make_directory(nodes.PKI, PRIVATE_DIRECTORY)
    host.files.write(nodes.CERTIFICATE, b"of another cluster", PRIVATE_FILE)
    before = picture(host)
    kubelet = Kubelet(host)
    join(kubelet.host)
    assert kubelet.found == [b"token"]
    assert host.files.observe(nodes.BOOTSTRAP) is None
    reset(host, Silent())
    assert picture(host) == before


def test_a_run_that_is_finished_with_another_credential_uses_that(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Also where it looks as if the first had been used: a kubelet writes before it is admitted, too."""
    cases = 0
    for left in range(100):
        bare = open_sandbox(tmp_path_factory.mktemp("c"))
        with suppress(Killed):
            join(nodes.admitted(powered(bare, Power(left))), token=b"expired")
            break
        if bare.files.observe(nodes.CERTIFICATE) is not None and status(bare).interrupted:
            cases += 1
            kubelet = Kubelet(nodes.admitted(bare))
            join(kubelet.host, token=b"fresh")
            assert kubelet.found == [b"fresh"], f"killed after {left} changes"
            assert bare.files.observe(nodes.BOOTSTRAP) is None
    assert cases > 2


def test_what_the_kubelet_lost_it_makes_again(host: Host) -> None:
    join(host)
    host.files.remove(nodes.CERTIFICATE)
    assert not status(host).is_well
    assert join(host) == [f"create {nodes.BOOTSTRAP}", "change kubelet"]
    assert host.files.observe(nodes.CERTIFICATE) is not None
    assert host.files.observe(nodes.BOOTSTRAP) is None


def test_a_node_that_is_not_confirmed_is_taken_back(host: Host) -> None:
    bare = picture(host)
    confirm = Confirmation(host, NotWell("the Node does not appear"))
    with pytest.raises(TakenBack) as failure:
        join(host, confirm)
    assert str(failure.value.__cause__) == "the Node does not appear"
    assert confirm.times == 1
    assert picture(host) == bare


def with_credentials() -> Specification:
    *others, service = nodes.joining().wants
    return Specification.of([*others, Credentials(nodes.CERTIFICATE), service])


@pytest.mark.parametrize("leaves", [True, False], ids=["by a reset", "by a join that fails"])
@pytest.mark.parametrize("former", [True, False], ids=["some before", "none before"])
def test_credentials_go_from_a_folder_that_stays(host: Host, leaves: bool, former: bool) -> None:
    host.files.make_directory(nodes.PKI, PRIVATE_DIRECTORY)
    if former:
        host.files.write(nodes.CERTIFICATE, b"certificate", PRIVATE_FILE)
    before = picture(host)
    failure = None if leaves else NotWell("the Node does not appear")
    confirm = Confirmation(host, failure)
    with nullcontext() if leaves else pytest.raises(TakenBack):
        make_so(host, with_credentials(), Silent(), confirm)
    if leaves:
        assert host.files.observe(nodes.CERTIFICATE) is not None
        assert status(host).is_well
        again = make_so(host, with_credentials(), Silent(), confirm)
        assert (again.plan.changes, confirm.times) == ((), 1)
        reset(host, Silent())
    assert picture(host) == before


DATED = "kubelet-client-2026-11-18-23-00-00.pem"
FORMER = ("kubelet-client-2025-01-01-00-00-00.pem", "kubelet.crt", "ca.crt")


def with_certificates(host: Host) -> Host:
    """A machine whose kubelet, once admitted, has written what it writes."""

    def start(name: str) -> None:
        host.services.start(name)
        for each in (DATED, "kubelet-server-current.pem", "kubelet.key", "notes.txt"):
            if host.files.observe(nodes.PKI / each) is None:
                host.files.write(nodes.PKI / each, each.encode(), PRIVATE_FILE)

    return changed(host, services={"start": start})


def certificates(folder: PureWindowsPath = nodes.PKI) -> Specification:
    *others, service = nodes.joining().wants
    return Specification.of([*others, Certificates(folder), service])


@pytest.mark.parametrize("leaves", [True, False], ids=["by a reset", "by a join that fails"])
@pytest.mark.parametrize("former", [FORMER, ()], ids=["some before", "none before"])
def test_certificates_go_from_a_folder_that_stays(host: Host, leaves: bool, former: tuple[str, ...]) -> None:
    host.files.make_directory(nodes.PKI, PRIVATE_DIRECTORY)
    for each in former:
        host.files.write(nodes.PKI / each, b"former", PRIVATE_FILE)
    node = with_certificates(host)
    confirm = Confirmation(host, None if leaves else NotWell("the Node does not appear"))
    with nullcontext() if leaves else pytest.raises(TakenBack):
        done = make_so(node, certificates(), Silent(), confirm)
    if leaves:
        assert done.kept_otherwise == ()
        assert status(host).is_well
        assert make_so(node, certificates(), Silent(), confirm).plan.changes == ()
        rotated = nodes.PKI / "kubelet-client-2027-01-01-00-00-00.pem"
        host.files.write(rotated, b"rotated", PRIVATE_FILE)
        assert status(host).is_well
        reset(host, Silent())
    assert set(host.files.list(nodes.PKI)) == {*former, "notes.txt"}


@pytest.mark.parametrize("folder", [nodes.PKI, PureWindowsPath(r"c:\pki")], ids=str)
def test_certificates_come_back_if_a_reset_fails(host: Host, folder: PureWindowsPath) -> None:
    host.files.make_directory(nodes.PKI, PRIVATE_DIRECTORY)
    make_so(with_certificates(host), certificates(folder), Silent(), Confirmation(host))
    before = picture(host, but=(STATE / "reserve",))
    with pytest.raises(TakenBack):
        reset(full_for_the_inventory(host), Silent())
    assert picture(host, but=(STATE / "reserve",)) == before


def test_of_a_certificate_that_is_a_link_the_link_goes(tmp_path: pathlib.Path) -> None:
    host = nodes.admitted(open_sandbox(tmp_path))
    host.files.make_directory(nodes.PKI, PRIVATE_DIRECTORY)
    make_so(with_certificates(host), certificates(), Silent(), Confirmation(host))
    host.files.remove(nodes.CERTIFICATE)
    (tmp_path / "pki" / nodes.CERTIFICATE.name).symlink_to(DATED)
    state = host.files.observe(nodes.CERTIFICATE)
    assert state is not None
    assert state.kind is FileKind.LINK
    reset(host, Silent())
    assert host.files.list(nodes.PKI) == ["notes.txt"]


def test_killed_anywhere_no_credentials_stay(tmp_path_factory: pytest.TempPathFactory) -> None:
    def fresh() -> Host:
        host = open_sandbox(tmp_path_factory.mktemp("c"))
        host.files.make_directory(nodes.PKI, PRIVATE_DIRECTORY)
        return host

    before, cases = picture(fresh()), 0
    for left in range(200):
        bare = fresh()
        with suppress(Killed):
            make_so(nodes.admitted(powered(bare, Power(left))), with_credentials(), Silent())
            break
        host = nodes.admitted(bare)
        if host.files.observe(nodes.CERTIFICATE) is None:
            continue
        cases += 1
        if left % 2:
            make_so(host, with_credentials(), Silent())
            reset(host, Silent())
        elif take_back(host, Silent()) is None:
            reset(host, Silent())
        assert picture(host) == before, f"killed after {left} changes"
    assert cases > 2


SERVICE = Service("kubelet", nodes.KUBELET, makes=nodes.CERTIFICATE, log=C / "kubelet.log")
IN_VAIN = {
    "within its start": (SERVICE, 60),
    "within its health check": (replace(SERVICE, health=HealthCheck(10248, within_seconds=90)), 90),
}


@pytest.mark.parametrize("service, seconds", IN_VAIN.values(), ids=IN_VAIN)
def test_a_kubelet_that_is_not_admitted_is_told_of(host: Host, service: Service, seconds: int) -> None:
    host.files.write(C / "kubelet.log", b"one\nUnauthorized\n", PRIVATE_FILE)
    in_vain = Specification.of([Directory(nodes.K), File(nodes.KUBELET, Inline(b"MZ")), service])
    before = picture(host)
    with pytest.raises(TakenBack) as failure:
        make_so(replace(host, clock=Hasty(host)), in_vain, Silent())
    cause = failure.value.__cause__
    assert isinstance(cause, NotWell)
    assert str(cause) == f"service kubelet runs, but has not made {nodes.CERTIFICATE} after {seconds} seconds"
    assert cause.details == ("one", "Unauthorized")
    assert picture(host) == before


def test_killed_anywhere_it_is_finished_and_confirmed_or_taken_back(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    def fresh() -> Host:
        return open_sandbox(tmp_path_factory.mktemp("c"))

    def killed(left: int) -> Host:
        host = fresh()
        with pytest.raises(Killed):
            join(nodes.admitted(powered(host, Power(left))), Confirmation(host))
        return nodes.admitted(host)

    undisturbed, power = fresh(), Power(left=10_000)
    bare = picture(undisturbed)
    join(nodes.admitted(powered(undisturbed, power)), Confirmation(undisturbed))
    wanted = picture(undisturbed, but=(STATE,))
    for left in range(power.used):
        host = killed(left)
        begun = status(host).interrupted
        confirm = Confirmation(host)
        join(host, confirm)
        assert picture(host, but=(STATE,)) == wanted, f"finished after {left} changes"
        assert status(host).is_well, f"finished after {left} changes"
        assert confirm.times == 1 or (left > len(nodes.joining().wants) and not begun)

        host = killed(left)
        if take_back(host, Silent()) is not None:
            assert picture(host) == bare, f"taken back after {left} changes"
