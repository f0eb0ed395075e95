"""Where an API server is, who vouches for it, and who asks it."""

from __future__ import annotations

import os
import re
import ssl
import sys
import time
from base64 import b64encode
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from agent import x509
from agent.fetch import authorities
from agent.fetch.failure import Failed as FetchFailed
from agent.kube.failure import NotUsable
from agent.records import field, frozen

if TYPE_CHECKING:
    from agent.fetch.messages import Headers
    from agent.x509 import Certificate

_NO_TOKEN = re.compile(r"[^\x21-\x7e]")
# Not wmcb-, by which wmcb.exe knows what it left behind: a process would remove what another has just made.
_OWN_FOLDER = "wmcb_key-"
_OWN_NAME = re.compile(rf"{_OWN_FOLDER}[0-9a-f]{{16}}")
_PAIR = "wmcb_key.pem"
_PAUSES = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64)
_IN_USE_SECONDS = 60.0


@frozen
class Access:
    """All contents, no paths: made by `Kubeconfig.access`."""

    server: str
    """An https URL."""
    name: str = "the kubeconfig"
    """What errors call the document that this comes from."""
    authorities: bytes = field(default=b"", shown=False)
    """PEM; the only ones to trust. Empty for those of the system."""
    server_name: str = ""
    """That the server's certificate is to be for, where it is not the host's."""
    insecure: bool = False
    """Whoever answers is believed."""
    proxy: str = field(default="", shown=False)
    """The only way there, whatever proxies there are otherwise; empty for these."""
    token: str = field(default="", shown=False)
    user: str = field(default="", shown=False)
    password: str = field(default="", shown=False)
    certificate: bytes = field(default=b"", shown=False)
    """PEM, of the client, with those above it."""
    key: bytes = field(default=b"", shown=False)

    def headers(self) -> Headers:
        """Raises NotUsable."""
        if self.token:
            if _NO_TOKEN.search(self.token):
                raise NotUsable(f"{self.name}: its token has a character that no token can have")
            return (("Authorization", f"Bearer {self.token}"),)
        if self.user or self.password:
            told = b64encode(f"{self.user}:{self.password}".encode()).decode()
            return (("Authorization", f"Basic {told}"),)
        return ()

    def own_certificate(self) -> Certificate | None:
        """What the client shows of itself, for people."""
        try:
            return x509.read(next(authorities.certificates_in(self.certificate)))
        except (FetchFailed, ValueError):
            return None

    def context(self) -> ssl.SSLContext:
        """For TLS with the server. Raises NotUsable."""
        context = self._trust()
        if self.certificate:
            self._identify(context)
        return context

    def _trust(self) -> ssl.SSLContext:
        if self.insecure:
            return authorities.trusting_anybody()
        if not self.authorities:
            return authorities.trusting(())
        try:
            return authorities.trusting_only((self.authorities,))
        except FetchFailed:
            raise NotUsable(f"{self.name}: its certificate authority is no certificate in PEM form") from None

    def _identify(self, context: ssl.SSLContext) -> None:
        """Python's ssl takes keys from files alone. The folder is the user's own before anything is in it
        (mode 0700, and from Python 3.13 on a DACL to the same end on Windows), and is gone a moment later.
        """
        pair = _own_folder() / _PAIR
        try:
            pair.parent.mkdir(mode=0o700)
            pair.touch(mode=0o600)
            # A kubelet keeps the two in one file, and twice in it a certificate would be its own issuer's.
            one = self.certificate == self.key
            pair.write_bytes(self.certificate if one else self.certificate + b"\n" + self.key)
            # Without a password to give, OpenSSL would ask for one at the console.
            context.load_cert_chain(pair, password=_no_password)
        except (ssl.SSLError, ValueError):
            why = "no pair in PEM form without a password"
            raise NotUsable(f"{self.name}: its client certificate and key are {why}") from None
        except OSError as fault:
            why = f"which goes by way of {pair}: {fault.strerror or f'error {fault.errno}'}"
            raise NotUsable(f"{self.name}: its client certificate and key cannot be used, {why}") from None
        finally:
            _remove(pair.parent)


def _own_folder() -> Path:
    """What tempfile would do, which draws in four libraries for compression that nobody here needs."""
    # Whatever else others do there: nobody can have this name in it, and a folder that is there is refused.
    if sys.platform == "win32":
        names, usual = ("TMPDIR", "TEMP", "TMP"), Path(os.environ["SYSTEMROOT"], "Temp")
    else:
        # TEMP names one of the imagined machine's to what a sandbox runs.
        names, usual = ("TMPDIR",), Path("/tmp")  # noqa: S108
    parent = Path(next(filter(None, map(os.environ.get, names)), usual))
    _remove_leftovers(parent)
    return parent / f"{_OWN_FOLDER}{os.urandom(8).hex()}"


def _remove_leftovers(parent: Path) -> None:
    """Of a process that was ended, or whose file a virus scanner held for too long."""
    with suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            # That of another process may be in use.
            if _OWN_NAME.fullmatch(entry.name) and time.time() - entry.stat().st_mtime > _IN_USE_SECONDS:
                _is_removed(Path(entry.path))


def _remove(folder: Path) -> None:
    """A virus scanner may hold the file: it looks into each new one. What stays fails no request."""
    for pause in _PAUSES:
        if _is_removed(folder):
            return
        time.sleep(pause)


def _is_removed(folder: Path) -> bool:
    try:
        # By a name of its own: where anybody may make a folder, they may make it a link to another.
        (folder / _PAIR).unlink(missing_ok=True)
        folder.rmdir()
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def _no_password() -> str:
    raise ValueError("keys with a password are not taken")
