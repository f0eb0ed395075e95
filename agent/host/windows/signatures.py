"""Authenticode signatures, as Windows judges them (wintrust.dll, crypt32.dll)."""

import ctypes
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import wintypes
from pathlib import PureWindowsPath

from agent.hashing import new_sha256
from agent.host.files import FileKind
from agent.host.port import Clock, SigningCertificate
from agent.host.replacing import patiently
from agent.host.windows.api import files
from agent.host.windows.api.binding import dll, judged, succeeding
from agent.host.windows.failure import code_of, failed, telling
from agent.host.windows.walking import expect, opened

_SHARE = files.SHARE_READ | files.SHARE_DELETE
"""Nobody writes to what is judged."""

_DWORD = wintypes.DWORD
_POINTER = ctypes.c_void_p

_NO_UI, _NO_REVOCATION, _OF_FILE, _VERIFY, _CLOSE = 2, 0, 1, 1, 2
_FLAGS = 0x10 | 0x1000 | 0x2000
"""WTD_REVOCATION_CHECK_NONE, WTD_CACHE_ONLY_URL_RETRIEVAL, WTD_DISABLE_MD2_MD4: nobody is asked over the
network, where a site that is cut off would wait for each file."""
_NO_WINDOW = ctypes.c_void_p(-1)
_ATTRIBUTE_NAME, _COMMON_NAME = 3, b"2.5.4.3"
_SHA1 = 3
_LONGEST_NAME = 512
_SHA1_SIZE = 20


class _File(ctypes.Structure):
    """WINTRUST_FILE_INFO"""

    _fields_ = (("size", _DWORD), ("path", wintypes.LPCWSTR), ("handle", _POINTER), ("subject", _POINTER))


class _Data(ctypes.Structure):
    """WINTRUST_DATA"""

    # fmt: off
    _fields_ = (
        ("size", _DWORD), ("policy", _POINTER), ("sip", _POINTER), ("ui", _DWORD), ("revocation", _DWORD),
        ("union", _DWORD), ("file", ctypes.POINTER(_File)), ("action", _DWORD), ("state", _POINTER),
        ("url", wintypes.LPCWSTR), ("flags", _DWORD), ("context", _DWORD), ("settings", _POINTER),
    )
    # fmt: on


class _Certificate(ctypes.Structure):
    """CERT_CONTEXT"""

    # fmt: off
    _fields_ = (
        ("encoding", _DWORD), ("encoded", ctypes.POINTER(ctypes.c_ubyte)), ("size", _DWORD),
        ("information", _POINTER), ("store", _POINTER),
    )
    # fmt: on


class _OfChain(ctypes.Structure):
    """The beginning of CRYPT_PROVIDER_CERT"""

    _fields_ = (("size", _DWORD), ("certificate", ctypes.POINTER(_Certificate)))


class _Signer(ctypes.Structure):
    """The beginning of CRYPT_PROVIDER_SGNR"""

    # fmt: off
    _fields_ = (
        ("size", _DWORD), ("as_of", wintypes.FILETIME), ("count", _DWORD),
        ("chain", ctypes.POINTER(_OfChain)),
    )
    # fmt: on


# WINTRUST_ACTION_GENERIC_VERIFY_V2
_GENERIC_VERIFY = uuid.UUID("00AAC56B-CD44-11D0-8CC2-00C04FC295EE").bytes_le

_wintrust = dll("wintrust")
_crypt32 = dll("crypt32")
_verify = judged(_wintrust, "WinVerifyTrust", ctypes.c_long, _POINTER, ctypes.c_char_p, ctypes.POINTER(_Data))
_provider = succeeding(_wintrust, "WTHelperProvDataFromStateData", _POINTER, _POINTER)
# fmt: off
_signer = succeeding(
    _wintrust, "WTHelperGetProvSignerFromChain", ctypes.POINTER(_Signer), _POINTER, _DWORD, wintypes.BOOL,
    _DWORD,
)
_name = judged(
    _crypt32, "CertGetNameStringW", _DWORD, ctypes.POINTER(_Certificate), _DWORD, _DWORD, ctypes.c_char_p,
    wintypes.LPWSTR, _DWORD,
)
_property = succeeding(
    _crypt32, "CertGetCertificateContextProperty", wintypes.BOOL, ctypes.POINTER(_Certificate), _DWORD,
    ctypes.c_char_p, ctypes.POINTER(_DWORD),
)
# fmt: on


class WindowsSignatures:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def signer(self, path: PureWindowsPath) -> SigningCertificate:
        return patiently(self._clock, lambda: _signer_of(path))


def _signer_of(path: PureWindowsPath) -> SigningCertificate:
    with telling("verify", str(path)), opened(path, files.READ_DATA, share=_SHARE) as handle:
        expect(handle, FileKind.FILE)
        return signing(str(path), handle)


def signing(path: str, handle: int) -> SigningCertificate:
    """Of what is open. Raises Win32Error with the code of WinVerifyTrust for what it does not vouch for."""
    with _verified(path, handle) as state:
        # What was verified is asked, not the file once more: that may hold certificates of others, too.
        chain = _signer(_provider(state), 0, False, 0).contents
        if not chain.count:
            raise failed(0, "WTHelperGetProvSignerFromChain")
        certificate = chain.chain[0].certificate
        name = ctypes.create_unicode_buffer(_LONGEST_NAME)
        _name(certificate, _ATTRIBUTE_NAME, 0, _COMMON_NAME, name, _LONGEST_NAME)
        digest, size = ctypes.create_string_buffer(_SHA1_SIZE), _DWORD(_SHA1_SIZE)
        _property(certificate, _SHA1, digest, size)
        encoded = ctypes.string_at(certificate.contents.encoded, certificate.contents.size)
        return SigningCertificate(name.value, digest.raw.hex(), new_sha256(encoded).hexdigest())


@contextmanager
def _verified(path: str, handle: int) -> Iterator[int]:
    # Without a handle Windows opens it by itself, and says CRYPT_E_FILE_ERROR whatever hinders that.
    file = _File(ctypes.sizeof(_File), path, handle, None)
    data = _Data(ctypes.sizeof(_Data), None, None, _NO_UI, _NO_REVOCATION, _OF_FILE, ctypes.pointer(file))
    data.action, data.flags = _VERIFY, _FLAGS
    verdict = _verify(_NO_WINDOW, _GENERIC_VERIFY, data)
    try:
        if verdict:
            raise failed(code_of(verdict), "WinVerifyTrust")
        yield data.state
    finally:
        data.action = _CLOSE
        _verify(_NO_WINDOW, _GENERIC_VERIFY, data)
