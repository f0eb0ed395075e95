"""Descriptors given, asked and set, and what they grant."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.host.port import Principal
from agent.host.protection import (
    FILE_ADD,
    PODS_DIRECTORY,
    PRIVATE_DIRECTORY,
    PRIVATE_FILE,
    PROGRAM_DIRECTORY,
    PROGRAM_FILE,
)
from agent.host.sddl import (
    ADMINISTRATORS,
    AUTHENTICATED_USERS,
    EVERYONE,
    FILE_ALL,
    FILE_EXECUTE,
    FILE_READ,
    FILE_WRITE,
    INTERACTIVE,
    OWNER_RIGHTS,
    READ_CONTROL,
    SYSTEM,
    USERS,
    WRITE_DAC,
    Ace,
    AceFlags,
    AceKind,
    SecurityDescriptor,
)
from contract.world import World, wine_cannot

MODE_BITS = "it keeps permission bits in place of descriptors"
OWNERS = "its access check knows neither what an owner may always do nor OWNER RIGHTS"

FILES = {"private": PRIVATE_FILE, "program": PROGRAM_FILE}
FOLDERS = {"private": PRIVATE_DIRECTORY, "program": PROGRAM_DIRECTORY, "pods": PODS_DIRECTORY}
WRITING = FILE_WRITE & ~FILE_READ


def check(world: World, found: SecurityDescriptor, wanted: SecurityDescriptor) -> None:
    granted = world.granted(found, Principal.USER)
    allowed = world.granted(wanted, Principal.USER)
    # Permission bits know Everyone but no Users: Wine gives these less.
    assert granted & ~allowed & (FILE_READ | WRITING) == 0
    assert world.granted(found, Principal.ADMINISTRATOR) & FILE_READ == FILE_READ
    assert world.under_wine or found.equivalent(wanted)


@wine_cannot(MODE_BITS, weaker=True)
@pytest.mark.parametrize("wanted", FILES.values(), ids=FILES)
def test_a_new_file_has_its_descriptor(world: World, wanted: SecurityDescriptor) -> None:
    world.host.files.write(world.folder / "file", b"x", wanted)
    check(world, world.host.files.descriptor(world.folder / "file"), wanted)


@wine_cannot(MODE_BITS, weaker=True)
@pytest.mark.parametrize("wanted", FILES.values(), ids=FILES)
def test_a_replaced_file_has_the_new_descriptor(world: World, wanted: SecurityDescriptor) -> None:
    for descriptor in (*FILES.values(), wanted):
        world.host.files.write(world.folder / "file", b"x", descriptor)
    check(world, world.host.files.descriptor(world.folder / "file"), wanted)


@wine_cannot(MODE_BITS, weaker=True)
@pytest.mark.parametrize("wanted", FILES.values(), ids=FILES)
def test_a_file_that_is_added_to_is_born_with_its_descriptor(
    world: World, wanted: SecurityDescriptor
) -> None:
    for _ in range(2):
        world.host.files.append(world.folder / "file", b"x", wanted)
    check(world, world.host.files.descriptor(world.folder / "file"), wanted)


@wine_cannot(MODE_BITS)
def test_adding_to_a_file_leaves_its_descriptor(world: World) -> None:
    world.host.files.write(world.folder / "file", b"x", PROGRAM_FILE)
    world.host.files.append(world.folder / "file", b"x", PRIVATE_FILE)
    assert world.host.files.descriptor(world.folder / "file").equivalent(PROGRAM_FILE)


@wine_cannot(MODE_BITS, weaker=True)
@pytest.mark.parametrize("wanted", FOLDERS.values(), ids=FOLDERS)
def test_a_new_folder_has_its_descriptor(world: World, wanted: SecurityDescriptor) -> None:
    world.host.files.make_directory(world.folder / "folder", wanted)
    check(world, world.host.files.descriptor(world.folder / "folder"), wanted)


@wine_cannot(MODE_BITS, weaker=True)
@pytest.mark.parametrize("wanted", FILES.values(), ids=FILES)
def test_the_descriptor_of_somebody_elses_file_is_set(world: World, wanted: SecurityDescriptor) -> None:
    world.plant_file(world.folder / "file", b"x")
    world.host.files.set_descriptor(world.folder / "file", wanted)
    check(world, world.host.files.descriptor(world.folder / "file"), wanted)
    assert world.host.files.read(world.folder / "file") == b"x"


@wine_cannot(MODE_BITS, weaker=True)
@pytest.mark.parametrize("wanted", FOLDERS.values(), ids=FOLDERS)
def test_the_descriptor_of_somebody_elses_folder_is_set(world: World, wanted: SecurityDescriptor) -> None:
    world.plant_folder(world.folder / "folder")
    world.host.files.set_descriptor(world.folder / "folder", wanted)
    check(world, world.host.files.descriptor(world.folder / "folder"), wanted)


@wine_cannot(MODE_BITS)
def test_a_descriptor_that_keeps_administrators_out_can_be_mended(world: World) -> None:
    path = world.folder / "file"
    world.host.files.write(path, b"x", PRIVATE_FILE)
    world.host.files.set_descriptor(path, SecurityDescriptor.parse("O:SYD:P(A;;FA;;;SY)"))
    world.host.files.set_descriptor(path, PRIVATE_FILE)
    assert world.host.files.read(path) == b"x"


@wine_cannot(MODE_BITS)
@pytest.mark.parametrize("folder", [PRIVATE_DIRECTORY, PROGRAM_DIRECTORY], ids=["private", "program"])
def test_what_others_make_in_our_folders_is_as_protected(world: World, folder: SecurityDescriptor) -> None:
    world.host.files.make_directory(world.folder / "folder", folder)
    world.plant_folder(world.folder / "folder" / "below")
    world.plant_file(world.folder / "folder" / "below" / "file", b"x")
    for path in (world.folder / "folder" / "below", world.folder / "folder" / "below" / "file"):
        found = world.host.files.descriptor(path)
        for principal in Principal:
            assert world.granted(found, principal) == world.granted(folder, principal)


@wine_cannot(MODE_BITS)
def test_what_the_kubelet_makes_for_pods_can_be_read_and_added_to(world: World) -> None:
    pods = world.folder / "pods"
    world.host.files.make_directory(pods, PODS_DIRECTORY)
    world.plant_folder(pods / "volume")
    world.plant_file(pods / "volume" / "token", b"x")
    granted = [
        world.granted(world.host.files.descriptor(path), Principal.USER)
        for path in (pods, pods / "volume", pods / "volume" / "token")
    ]
    assert granted == [READ_RUN, READ_RUN | FILE_ADD, READ_RUN]


READ_RUN = FILE_READ | FILE_EXECUTE
OWNER = READ_CONTROL | WRITE_DAC


@pytest.mark.parametrize(
    ("sddl", "system", "administrator", "user"),
    [
        pytest.param(str(PRIVATE_FILE), FILE_ALL, FILE_ALL, 0, id="private"),
        pytest.param(str(PROGRAM_FILE), FILE_ALL, FILE_ALL, READ_RUN, id="program"),
        pytest.param("O:NSD:(A;;FR;;;WD)", FILE_READ, FILE_READ, FILE_READ, id="everybody"),
        pytest.param("O:NSD:(A;;GA;;;AU)", FILE_ALL, FILE_ALL, FILE_ALL, id="generic"),
        pytest.param("O:NSD:NO_ACCESS_CONTROL", FILE_ALL, FILE_ALL, FILE_ALL, id="no-dacl"),
        pytest.param("O:NSD:", 0, 0, 0, id="empty-dacl"),
        pytest.param("O:NSD:(D;;FA;;;BU)(A;;FA;;;WD)", FILE_ALL, 0, 0, id="denied"),
        pytest.param("O:NSD:(A;;FA;;;WD)(D;;FA;;;BU)", FILE_ALL, FILE_ALL, FILE_ALL, id="denied-late"),
        pytest.param("O:NSD:(A;OICIIO;FA;;;WD)(A;;FR;;;BU)", 0, FILE_READ, FILE_READ, id="inherit-only"),
        pytest.param(
            "O:BAD:(A;;FR;;;BU)", OWNER, FILE_READ | OWNER, FILE_READ, id="owner", marks=wine_cannot(OWNERS)
        ),
        pytest.param(
            "O:BAD:(A;;FX;;;OW)", FILE_EXECUTE, FILE_EXECUTE, 0, id="owner-rights", marks=wine_cannot(OWNERS)
        ),
    ],
)
def test_what_a_descriptor_grants(
    world: World, sddl: str, system: int, administrator: int, user: int
) -> None:
    # AccessCheck wants a group, and asks it nothing.
    descriptor = replace(SecurityDescriptor.parse(sddl), group=SYSTEM)
    granted = {principal: world.granted(descriptor, principal) for principal in Principal}
    assert granted == {
        Principal.SYSTEM: system,
        Principal.ADMINISTRATOR: administrator,
        Principal.USER: user,
    }


NOBODYS = "S-1-5-20"
GROUPS = {
    Principal.SYSTEM: {SYSTEM, ADMINISTRATORS, EVERYONE, AUTHENTICATED_USERS},
    Principal.ADMINISTRATOR: {ADMINISTRATORS, USERS, EVERYONE, AUTHENTICATED_USERS, INTERACTIVE},
    Principal.USER: {USERS, EVERYONE, AUTHENTICATED_USERS, INTERACTIVE},
}
sids = st.sampled_from([SYSTEM, ADMINISTRATORS, USERS, EVERYONE, AUTHENTICATED_USERS, INTERACTIVE, NOBODYS])
# Wine's SDDL has no entry without a right.
masks = st.sampled_from([FILE_ALL, FILE_READ, FILE_WRITE, FILE_EXECUTE]) | st.integers(1, FILE_ALL).map(
    lambda mask: mask & FILE_ALL or FILE_ALL
)
aces = st.builds(
    Ace,
    st.sampled_from([AceKind.ALLOW, AceKind.DENY]),
    st.sampled_from([AceFlags(0), AceFlags.INHERIT_ONLY | AceFlags.OBJECT_INHERIT, AceFlags.INHERITED]),
    masks,
    sids | st.just(OWNER_RIGHTS),
)


@wine_cannot(OWNERS, weaker=True)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
    deadline=None,
    max_examples=200,
)
@given(owner=sids, aces=st.lists(aces, max_size=5).map(tuple), principal=st.sampled_from(Principal))
def test_access_is_judged_by_windows_rules_as_we_know_them(
    world: World, owner: str, aces: tuple[Ace, ...], principal: Principal
) -> None:
    descriptor = SecurityDescriptor(NOBODYS if world.under_wine else owner, SYSTEM, aces)
    assert world.granted(descriptor, principal) == descriptor.granted(GROUPS[principal])


def test_the_suite_runs_as_an_administrator(world: World) -> None:
    assert world.host.access.is_administrator()


@wine_cannot(MODE_BITS)
def test_a_descriptor_is_asked_with_its_owner_and_group(world: World) -> None:
    world.host.files.write(world.folder / "file", b"x", PRIVATE_FILE)
    found = world.host.files.descriptor(world.folder / "file")
    assert found == PRIVATE_FILE
    assert {ace.sid for ace in found.aces or ()} == {SYSTEM, ADMINISTRATORS}


def test_the_caller_is_an_account(world: World) -> None:
    assert re.fullmatch(r"S-1-5-(18|21(-\d+){4})", world.host.access.caller())


@pytest.mark.parametrize("secret", [b"swordfish", b"\x00" * 100, "käse 😀".encode(), b"x" * 10_000], ids=len)
def test_a_secret_is_sealed_and_opened_again(world: World, secret: bytes) -> None:
    sealed = world.host.access.sealed(secret)
    assert secret not in sealed
    assert world.host.access.unsealed(sealed) == secret
