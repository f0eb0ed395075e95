"""Lists of a firewall rule mean the same however they are spelled."""

from __future__ import annotations

import pytest

from agent.host import firewall_lists

ADDRESSES = {
    "any": (["*"], ()),
    "none": ([""], ()),
    "a mask": (["10.0.0.0/255.0.0.0"], ("10.0.0.0/8",)),
    "a whole mask": (["192.0.2.1/255.255.255.255"], ("192.0.2.1",)),
    "bits below the mask": (["10.1.2.3/8"], ("10.0.0.0/8",)),
    "one of the sixth version": (["2001:DB8::1/128"], ("2001:db8::1",)),
    "a range": (["192.0.2.3-192.0.2.9"], ("192.0.2.3-192.0.2.9",)),
    "a range that is a network": (["10.0.0.0-10.0.0.255"], ("10.0.0.0/24",)),
    "a range of one": (["10.0.0.1-10.0.0.1"], ("10.0.0.1",)),
    "another order, and one twice": (
        ["192.0.2.1,10.0.0.0/8", "10.0.0.0/255.0.0.0"],
        ("10.0.0.0/8", "192.0.2.1"),
    ),
    "a word": (["localsubnet"], ("LocalSubnet",)),
    "what is none": (["nowhere"], ("nowhere",)),
    "a range backwards": (["10.0.0.9-10.0.0.1"], ("10.0.0.9-10.0.0.1",)),
}


@pytest.mark.parametrize(("said", "meant"), ADDRESSES.values(), ids=ADDRESSES)
def test_addresses(said: list[str], meant: tuple[str, ...]) -> None:
    assert firewall_lists.addresses(said) == meant
    assert firewall_lists.addresses(meant) == meant


PORTS = {
    "any": (["*"], ()),
    "several": (["443, 80"], ("80", "443")),
    "a range": (["5000-5010", "53"], ("53", "5000-5010")),
    "a range of one": (["53-53"], ("53",)),
    "a word": (["RPC", "135"], ("135", "RPC")),
}


@pytest.mark.parametrize(("said", "meant"), PORTS.values(), ids=PORTS)
def test_ports(said: list[str], meant: tuple[str, ...]) -> None:
    assert firewall_lists.ports(said) == meant


@pytest.mark.parametrize(
    ("said", "meant"),
    [((), ("domain", "private", "public")), (("public", "domain"), ("domain", "public"))],
)
def test_profiles(said: tuple[str, ...], meant: tuple[str, ...]) -> None:
    assert firewall_lists.profiles(said) == meant
