"""A part of Windows that can be switched on."""

from dataclasses import dataclass

from agent.spec.want import NamedWant


@dataclass(frozen=True, slots=True)
class WindowsFeature(NamedWant):
    """Switched on; a reset leaves it so unless somebody asks for more."""

    kind = "windows_feature"

    name: str
    """As DISM knows it: Containers, Microsoft-Hyper-V."""
    with_parents: bool = False
    """Those that it is part of are switched on, too."""
