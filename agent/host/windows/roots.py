"""Windows' own store of root certificates, of the whole machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import win32crypt

from agent.hashing import thumbprint
from agent.host import winerror
from agent.host.windows.failure import Win32Error, failed, telling

if TYPE_CHECKING:
    from _win32typing import PyCERT_CONTEXT, PyCERTSTORE


_NAME = "ROOT"
# CERT_STORE_PROV_SYSTEM; CERT_SYSTEM_STORE_LOCAL_MACHINE, CERT_STORE_OPEN_EXISTING_FLAG;
# CERT_STORE_READONLY_FLAG; X509_ASN_ENCODING, PKCS_7_ASN_ENCODING; CERT_STORE_ADD_REPLACE_EXISTING;
# CERT_STORE_CTRL_COMMIT. They are in win32cryptcon, with two thousand others.
_SYSTEM_STORE = 10
_MACHINES = 0x2_0000 | 0x4000
_READ_ONLY = 0x8000
_ENCODING = 0x1 | 0x1_0000
_REPLACE = 3
_COMMIT = 3


class WindowsRoots:
    def read(self, thumbprint: str) -> bytes | None:
        with (
            telling("read", f"root certificate {thumbprint}"),
            _opened(_READ_ONLY) as store,
        ):
            found = _find(store, thumbprint)
            return None if found is None else bytes(found.CertEncoded)

    def add(self, encoded: bytes) -> None:
        with telling("add", f"root certificate {thumbprint(encoded)}"), _opened() as store:
            # In the place of what the store has of it, such as a purpose that it is not for.
            store.CertAddEncodedCertificateToStore(_ENCODING, encoded, _REPLACE)

    def remove(self, thumbprint: str) -> None:
        with telling("remove", f"root certificate {thumbprint}"), _opened() as store:
            found = _find(store, thumbprint)
            if found is None:
                raise failed(winerror.CRYPT_E_NOT_FOUND, "CertEnumCertificatesInStore")
            found.CertDeleteCertificateFromStore()
            # Windows writes at once. Wine does when the store is closed, but a deletion keeps it open.
            with suppress(Win32Error):
                store.CertControlStore(0, _COMMIT, 0)


@contextmanager
def _opened(how: int = 0) -> Iterator[PyCERTSTORE]:
    store = win32crypt.CertOpenStore(_SYSTEM_STORE, 0, None, _MACHINES | how, _NAME)
    assert store is not None
    try:
        yield store
    finally:
        # It says that what was found in the store keeps it open, and closes it with the last of that.
        with suppress(Win32Error):
            store.CertCloseStore()


def _find(store: PyCERTSTORE, thumb: str) -> PyCERT_CONTEXT | None:
    # pywin32 does not have CertFindCertificateInStore.
    every = store.CertEnumCertificatesInStore()
    return next((each for each in every if thumbprint(bytes(each.CertEncoded)) == thumb.upper()), None)
