"""Who may do what, computed from the descriptors by Windows' rules."""

from agent.host.errors import AccessDenied
from agent.host.port import Principal
from agent.host.principals import SIDS
from agent.host.sandbox.descriptors import Descriptors
from agent.host.sandbox.facts import SandboxFacts
from agent.host.sandbox.places import Place
from agent.host.sddl import DELETE, FILE_DELETE_CHILD, SecurityDescriptor

READ_DATA = 0x0001
ADD_FILE = 0x0002
ADD_FOLDER = APPEND_DATA = 0x0004
_HIDING = 0xA5


class SandboxAccess:
    """The caller is an administrator, unless the sandbox's facts say otherwise."""

    def __init__(self, facts: SandboxFacts, descriptors: Descriptors) -> None:
        self._facts = facts
        self._descriptors = descriptors

    def is_administrator(self) -> bool:
        return self._facts.is_administrator()

    def caller(self) -> str:
        return SIDS[Principal.ADMINISTRATOR if self.is_administrator() else Principal.USER][0]

    def sealed(self, secret: bytes) -> bytes:
        """Hidden from a look, and no more: a sandbox has no key that others do not have."""
        return bytes(byte ^ _HIDING for byte in secret)

    def unsealed(self, sealed: bytes) -> bytes:
        return self.sealed(sealed)

    def require(self, action: str, place: Place, mask: int) -> None:
        """Raises AccessDenied where the caller lacks a right to what is there."""
        if not self._has(place, mask):
            raise AccessDenied(action, str(place.path), 5)

    def require_of(self, action: str, place: Place, descriptor: SecurityDescriptor, mask: int) -> None:
        """The same where the descriptor is known."""
        if not self._grants(descriptor, mask):
            raise AccessDenied(action, str(place.path), 5)

    def require_removal(self, action: str, place: Place) -> None:
        """A file may be removed or renamed by whoever may delete it, or delete in its folder."""
        if not (self._has(place, DELETE) or (place.folder and self._has(place.folder, FILE_DELETE_CHILD))):
            raise AccessDenied(action, str(place.path), 5)

    def _has(self, place: Place, mask: int) -> bool:
        return self._grants(self._descriptors.of(place), mask)

    def _grants(self, descriptor: SecurityDescriptor, mask: int) -> bool:
        caller = Principal.ADMINISTRATOR if self.is_administrator() else Principal.USER
        return descriptor.granted(SIDS[caller]) & mask == mask
