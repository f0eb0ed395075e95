"""Whom Windows would believe: in the sandbox's registry, where and how Windows has it in its own."""

import struct

from agent.certificates import load_der
from agent.hashing import thumbprint
from agent.host import winerror
from agent.host.errors import NotFound, host_error
from agent.host.port import ROOT_CERTIFICATES, Registry, RegistryKind, RegistryValue

_BLOB = "Blob"
_ELEMENT = struct.Struct("<III")
"""Which property, one, and how many bytes follow."""
_ENCODED = 32
"""CERT_CERT_PROP_ID: the certificate itself."""


class SandboxRoots:
    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def read(self, thumbprint: str) -> bytes | None:
        found = self._registry.read(_key(thumbprint), _BLOB)
        data = found.data if found is not None and isinstance(found.data, bytes) else b""
        while data:
            what, _, size = _ELEMENT.unpack_from(data)
            content, data = data[_ELEMENT.size : _ELEMENT.size + size], data[_ELEMENT.size + size :]
            if what == _ENCODED:
                return content
        return None

    def add(self, encoded: bytes) -> None:
        try:
            load_der(encoded)
        except ValueError:
            raise host_error(
                "add", f"root certificate {thumbprint(encoded)}", winerror.CRYPT_E_ASN1_BADTAG
            ) from None
        blob = _ELEMENT.pack(_ENCODED, 1, len(encoded)) + encoded
        value = RegistryValue(RegistryKind.BINARY, blob)
        self._registry.write(_key(thumbprint(encoded)), _BLOB, value)

    def remove(self, thumbprint: str) -> None:
        if self.read(thumbprint) is None:
            raise NotFound("remove", f"root certificate {thumbprint}", winerror.CRYPT_E_NOT_FOUND)
        self._registry.remove_key(_key(thumbprint))


def _key(thumbprint: str) -> str:
    return rf"{ROOT_CERTIFICATES}\{thumbprint}"
