"""The domains in which Windows looks for a name that has none."""

from dataclasses import dataclass

from agent.spec.want import Key, Want


@dataclass(frozen=True, slots=True)
class DnsSuffixes(Want):
    """The machine's whole list: it has one."""

    kind = "dns_suffixes"

    suffixes: tuple[str, ...]
    """In the order in which they are tried."""

    @property
    def key(self) -> Key:
        return Key(self.kind, "of this machine")
