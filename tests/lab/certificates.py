"""Authorities, the cluster's or a test's own, and their certificates with whatever dates a test wants."""

from __future__ import annotations

import base64
import re
import subprocess
import tempfile
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from lab.means import Missing

_A_YEAR = timedelta(days=365)
_LONG_AGO = timedelta(days=-366)
LATELY = timedelta(minutes=-5)

_CONFIGURATION = """\
[ca]
default_ca = cluster
[cluster]
new_certs_dir = {folder}
database = {folder}/index
default_md = sha256
policy = anything
x509_extensions = extensions
copy_extensions = copy
unique_subject = no
rand_serial = yes
[anything]
organizationName = optional
commonName = supplied
[extensions]
keyUsage = critical, digitalSignature, keyEncipherment
extendedKeyUsage = {usage}
basicConstraints = critical, CA:FALSE
subjectKeyIdentifier = hash
# Python, from 3.13 on, takes no certificate without it.
authorityKeyIdentifier = keyid
[request]
distinguished_name = nothing
[nothing]
"""

CLIENT = "clientAuth"
SERVER = "serverAuth"
PROGRAMS = "codeSigning"


class Authority:
    """One whose certificate and key are in a folder, as kubeadm keeps the cluster's."""

    @classmethod
    def make(cls, folder: Path, name: str) -> Authority:
        """A new one, known to nobody."""
        new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        files = ["-keyout", str(folder / "ca.key"), "-out", str(folder / "ca.crt")]
        extensions = ["-addext", "keyUsage=critical,keyCertSign,cRLSign"]
        _openssl("req", "-x509", *new_key, *files, "-subj", f"/CN={name}", "-days", "365", *extensions)
        return cls(folder)

    def __init__(self, folder: Path) -> None:
        self.certificate = folder / "ca.crt"
        self._key = folder / "ca.key"

    def public_key_hash(self) -> str:
        """As kubeadm's discovery wants it."""
        key = _openssl("x509", "-in", str(self.certificate), "-noout", "-pubkey")
        return f"sha256:{sha256(_decoded(key)).hexdigest()}"

    def client(self, user: str, groups: list[str], valid_for: timedelta = _A_YEAR) -> str:
        """A client's certificate and key, as PEM. A negative time gives one that ended that long ago."""
        # A user's groups are values of O. OpenSSL takes a slash for the end of a value.
        named = [*(("O", group) for group in groups), ("CN", user)]
        subject = "".join(f"/{kind}=" + value.replace("/", r"\/") for kind, value in named)
        return self._issue(CLIENT, valid_for, "-subj", subject)

    def server(self, names: list[str], valid_for: timedelta = _A_YEAR) -> str:
        """A server's, likewise, for names and addresses: `DNS:web.test`, `IP:10.77.0.1`."""
        return self._issue(
            SERVER, valid_for, "-subj", "/CN=server", "-addext", f"subjectAltName={','.join(names)}"
        )

    def signer(self, name: str) -> str:
        """Of somebody who signs programs, likewise."""
        return self._issue(PROGRAMS, _A_YEAR, "-subj", f"/CN={name}")

    def _issue(self, usage: str, valid_for: timedelta, *request_options: str) -> str:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            key, request = folder / "key.pem", folder / "request.pem"
            _configure(folder, usage)
            new_key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", str(key)]
            settings = ["-config", str(folder / "openssl.cnf"), "-section", "request"]
            _openssl("req", "-new", *settings, *new_key, *request_options, "-out", str(request))
            return self._sign(folder, request, valid_for) + key.read_text()

    def expired(self, certificate_and_key: str, usage: str = CLIENT, ended: timedelta = LATELY) -> str:
        """The same certificate, of the same key, except that its time is over. Without the key."""
        return self.anew(certificate_and_key, usage, ended)

    def anew(self, certificate_and_key: str, usage: str, ends_in: timedelta = _A_YEAR) -> str:
        """The same certificate, of the same key, by this authority, whoever it was of. Without the key."""
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            pair, request = folder / "pair.pem", folder / "request.pem"
            pair.write_text(certificate_and_key)
            _configure(folder, usage)
            to_request = ["-x509toreq", "-copy_extensions", "copyall"]
            _openssl("x509", *to_request, "-in", str(pair), "-signkey", str(pair), "-out", str(request))
            return self._sign(folder, request, ends_in)

    def _sign(self, folder: Path, request: Path, ends_in: timedelta) -> str:
        now = datetime.now(UTC)
        begins = now + (_LONG_AGO if ends_in < timedelta() else LATELY)
        signed = folder / "signed.pem"
        authority = ["-cert", str(self.certificate), "-keyfile", str(self._key)]
        dates = ["-startdate", _written(begins), "-enddate", _written(now + ends_in)]
        files = ["-config", str(folder / "openssl.cnf"), "-in", str(request), "-out", str(signed)]
        _openssl("ca", "-batch", "-notext", "-preserveDN", *authority, *dates, *files)
        return signed.read_text()


def _configure(folder: Path, usage: str) -> None:
    (folder / "index").touch()
    (folder / "openssl.cnf").write_text(_CONFIGURATION.format(folder=folder, usage=usage))


def _written(moment: datetime) -> str:
    return moment.strftime("%Y%m%d%H%M%SZ")


def _decoded(pem: str) -> bytes:
    body = re.search(r"-----BEGIN [^-]+-----(.+?)-----END", pem, re.DOTALL)
    assert body is not None
    return base64.b64decode(body[1])


def _openssl(*arguments: str) -> str:
    done = subprocess.run(
        ["openssl", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Missing(f"openssl {arguments[0]} ended with {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout
