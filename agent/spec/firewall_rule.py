"""What Windows' firewall lets through, or does not."""

from dataclasses import dataclass

from agent.spec.want import NamedWant


@dataclass(frozen=True, slots=True)
class FirewallRule(NamedWant):
    """Known by its name, though Windows lets several have one: that of another is not taken for ours."""

    kind = "firewall_rule"

    name: str
    description: str = ""
    direction: str = "in"
    """Or out."""
    action: str = "allow"
    """Or block."""
    protocol: str = "any"
    """tcp, udp, icmpv4, icmpv6, or a number."""
    local_ports: tuple[str, ...] = ()
    """Numbers and ranges; none for any."""
    remote_ports: tuple[str, ...] = ()
    remote_addresses: tuple[str, ...] = ()
    """Addresses, networks, ranges, or Windows' words for some (LocalSubnet); none for any."""
    program: str = ""
    service: str = ""
    profiles: tuple[str, ...] = ()
    """Of domain, private and public; none for all."""
    takes_over: bool = False
    """One of this name that somebody else has made is changed, and given back in the end."""
