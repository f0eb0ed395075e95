"""Finding a cluster that can be trusted, from what a person or a machine's maker was given.

By a token: what the cluster says of itself is asked for without trust. Whoever answers has to know the
token's secret, since it signs; and has to be the cluster whose authority's key was given, since many know a
token.

By a kubeconfig, from a file or an https URL: it says whom to trust, and whether that is who answers is found
out before anything is made of it.
"""

from __future__ import annotations

import hmac
import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from agent.certificates import load_pem, pem_of, pin_of, printable_name
from agent.fetch import address
from agent.fetch.address import DIRECT, Proxies
from agent.fetch.deadline import Clock, SystemClock
from agent.fetch.failure import Doubt
from agent.fetch.failure import Failed as FetchFailed
from agent.fetch.fetching import Fetcher, Request
from agent.fetch.fetching import Limits as FetchLimits
from agent.fetch.retries import RetryPolicy
from agent.kube import kubeconfig
from agent.kube.access import HOW, Access, given_pins
from agent.kube.answers import Object, plain, text_at
from agent.kube.client import Client, config_map
from agent.kube.failure import (
    Failed,
    Forbidden,
    NotAnApiServer,
    NotProven,
    NotSigned,
    NotTrusted,
    NotUsable,
    Refused,
    Unreachable,
)
from agent.kube.key_files import TEMPORARY, KeyFiles
from agent.kube.kubeconfig import Cluster, Kubeconfig, ReadFile
from agent.kube.transport import NEW_TOKEN, ConnectionPool, Limits
from agent.secret_fields import registers_secrets

if TYPE_CHECKING:
    from cryptography.x509 import Certificate


CLUSTER_INFO = config_map("kube-public", "cluster-info")
_LARGEST = 4 << 20
"""Bytes of an answer from whom nobody vouches for."""
_ATTEMPT_SECONDS = 15.0
_MOST_NAMED = 5
_WHAT = "cluster-info"

_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")


@dataclass(frozen=True, slots=True)
class Discovery:
    """Every method raises Failed, after `seconds` and what its last attempt takes."""

    seconds: float
    proxies: Proxies = DIRECT
    notice: Callable[[str], None] = lambda _: None
    """Takes a line for a person: what is worth knowing, and each failure after which it tries again."""
    clock: Clock = field(default_factory=SystemClock)
    pool: ConnectionPool | None = None
    """Keeps connections that are trusted for later requests."""
    key_files: KeyFiles = TEMPORARY
    """By which a discovery kubeconfig's own key is loaded."""

    def by_token(
        self, endpoint: str, token: str, hashes: Iterable[str], *, any_authority: bool = False
    ) -> Cluster:
        """`endpoint` is host and port. Without hashes any authority will do, if it is said so: then whoever
        knows the token can pretend to be the cluster.

        Tried again: no answer, an answer that is an error, and a token that the cluster does not know, which
        may be one that it was just given. Final at once: a wrong signature, a key whose hash is another, a
        server whose certificate none of the authorities with a given hash vouches for, another answer to who
        trusts.
        """
        pins, own = given_pins(hashes), token_in(token)
        if not pins and not any_authority:
            raise NotUsable(
                f"a token alone does not show which cluster answers; give its CA's hash as well: {HOW}"
            )
        retries = RetryPolicy(self.clock, self.seconds, self.notice)
        server = f"https://{endpoint}"
        unproven = Access(server, _WHAT, insecure=True)
        found = self._signed(unproven, own, retries)
        cluster = _cluster(found, endpoint)
        if not pins:
            seen = ", ".join(map(pin_of, _certificates(cluster, endpoint)))
            self.notice(
                f"warning: the certificate authority of the cluster at {endpoint} is not checked: whoever "
                f"knows the token can pretend to be it; this one's hash is {seen}"
            )
            return cluster
        pinned, unpinned = _divided(cluster, pins, endpoint)
        self._warn_of(unpinned, endpoint)
        # Nothing else of cluster-info is trusted: who knows the token can sign one with an authority of its
        # own beside the cluster's.
        cluster = replace(cluster, authority=pinned)
        proven = replace(unproven, insecure=False, authorities=pinned)
        try:
            again = self._signed(proven, own, retries)
        except NotTrusted as fault:
            raise _with_unpinned_signer(fault, unpinned) from None
        if again != found:
            raise NotProven(
                f"{endpoint} says something else of the cluster over a connection that is trusted than over "
                "one that is not: more than one answers there; nothing was taken from it"
            )
        return cluster

    def by_kubeconfig(self, config: Kubeconfig, read_file: ReadFile, token: str = "") -> Kubeconfig:
        """One that carries everything a kubelet needs to ask for its certificate. With a token for that
        (tlsBootstrapToken) it is the token's, else the user's in `config`.

        Tried again: no answer, and an answer that is an error; but a server that does not let everybody read
        cluster-info (403) has been seen, and that was all that was wanted.
        """
        retries = RetryPolicy(self.clock, self.seconds, self.notice)
        return self._seen(config.embedded(read_file), token, retries)

    def by_url(self, url: str, token: str = "") -> Kubeconfig:
        """The same, for a kubeconfig behind an https URL that the system's authorities vouch for. It can name
        no files of this machine: it would choose what of them is sent, and where to.
        """
        retries = RetryPolicy(self.clock, self.seconds, self.notice)
        place, contents = self._fetched(url)
        config = kubeconfig.read(contents, f"the discovery kubeconfig from {place}")

        def refuse(path: str) -> bytes:
            raise NotUsable(f"{config.name} names a file, {plain(path)}; all contents have to be in it")

        return self._seen(config.embedded(refuse), token, retries)

    def _fetched(self, url: str) -> tuple[str, bytes]:
        limits = FetchLimits(patience=self.seconds, total=self.seconds, size=_LARGEST)
        try:
            place = address.parse(url).place
            body = Fetcher(self.clock, self.notice).body(Request(url, proxies=self.proxies), limits)
        except FetchFailed as fault:
            raise Unreachable(f"the discovery kubeconfig cannot be fetched: {fault}") from None
        return place, body

    def _seen(self, config: Kubeconfig, token: str, retries: RetryPolicy) -> Kubeconfig:
        config.check()
        if not token and not config.user().has_credentials:
            raise NotUsable(
                f"{config.name} has no credentials to join with: put them in, or give a bootstrap token "
                "as well (discovery.tlsBootstrapToken)"
            )
        access = config.access(_no_files, self.key_files)
        if access.insecure:
            self.notice(f"{config.name} has insecure-skip-tls-verify set: whoever answers there is believed")
        cluster = self._completed(config, self._told(access, retries))
        if not cluster.authority:
            raise NotUsable(
                f"{config.name} has no certificate authority (certificate-authority-data), and cluster-info "
                f"at {plain(cluster.server)} has none either; a kubelet needs one"
            )
        return kubeconfig.with_token(cluster, token) if token else config.with_cluster(cluster)

    def _told(self, access: Access, retries: RetryPolicy) -> str:
        """The kubeconfig in cluster-info; nothing where it may not be read."""
        while True:
            try:
                return text_at(self._asked(access, retries), "data", "kubeconfig")
            except Forbidden:
                self.notice(f"{access.server} lets nobody read cluster-info; {access.name} is used as it is")
                return ""
            except Failed as fault:
                retries.back_off(_judged(fault))

    def _completed(self, config: Kubeconfig, told: str) -> Cluster:
        cluster = config.cluster()
        try:
            found = kubeconfig.read(told.encode("utf-8", "surrogatepass"), _WHAT).cluster()
        except NotUsable:
            return cluster
        if found.server != cluster.server:
            self.notice(
                f"{config.name} leads to {plain(cluster.server)}, where cluster-info names "
                f"{plain(found.server)}; the first is used"
            )
        return cluster if cluster.authority else replace(cluster, authority=found.authority)

    def _signed(self, access: Access, token: BootstrapToken, retries: RetryPolicy) -> str:
        """The kubeconfig in cluster-info, shown to be from somebody who knows the token."""
        while True:
            try:
                return _proven(self._asked(access, retries), token, access)
            except Failed as fault:
                retries.back_off(_judged(fault))

    def _asked(self, access: Access, retries: RetryPolicy) -> Object:
        limits = Limits(patience=0.0, attempt=retries.share(_ATTEMPT_SECONDS), size=_LARGEST)
        pool = None if access.insecure else self.pool
        with Client(access, proxies=self.proxies, limits=limits, clock=self.clock, pool=pool) as client:
            return client.get(CLUSTER_INFO)

    def _warn_of(self, unpinned: Sequence[Certificate], endpoint: str) -> None:
        if unpinned:
            self.notice(
                f"warning: cluster-info at {endpoint} names other authorities, whose hashes were not given, "
                f"and which are not trusted: {_named(unpinned)}"
            )


def _no_files(path: str) -> bytes:
    raise AssertionError(path)


def _proven(told: Object, token: BootstrapToken, access: Access) -> str:
    place = access.server.removeprefix("https://")
    content = text_at(told, "data", "kubeconfig")
    signature = text_at(told, "data", f"jws-kubeconfig-{token.id}")
    if not signature:
        raise NotSigned(
            f"the cluster at {place} does not know the token {token.id}: it has expired, or was made a "
            f"moment ago, or for another cluster; {NEW_TOKEN}",
            transient=True,
        )
    if not content:
        raise NotProven(f"{place} has a cluster-info without a kubeconfig: no node can join by a token there")
    if not token.vouches_for(content, signature):
        raise NotProven(
            f"whoever answers at {place} does not know the secret of the token {token.id}: the part after "
            "the dot is wrong, or it is not your cluster; nothing was taken from it"
        )
    return content


def _judged(fault: Failed) -> Failed:
    """As kubeadm, which waits for a control plane that is being made: no answer is final but one that proves
    that it is the wrong one. A clock is put right while machines start. Unlike kubeadm, not what can never
    pass: a port that does not speak TLS, a firewall of this machine, a proxy that wants credentials.
    """
    if isinstance(fault, Refused | NotAnApiServer):
        fault.transient = True
    if isinstance(fault, NotTrusted):
        fault.transient = fault.doubt is Doubt.TIME
    return fault


def _cluster(content: str, endpoint: str) -> Cluster:
    name = f"the kubeconfig in cluster-info at {endpoint}"
    found = kubeconfig.read(content.encode("utf-8", "surrogatepass"), name).cluster()
    if not found.authority:
        raise NotProven(
            f"{name} has no certificate authority (certificate-authority-data); no node can join by it"
        )
    return found


def _divided(cluster: Cluster, pins: frozenset[str], endpoint: str) -> tuple[bytes, list[Certificate]]:
    """Return the authorities of `cluster` that have a given hash (PEM), and those that have none of them.

    Raises NotProven where no authority has one.
    """
    found = _certificates(cluster, endpoint)
    pinned = [one for one in found if pin_of(one) in pins]
    if not pinned:
        seen = ", ".join(map(pin_of, found))
        raise NotProven(
            f"the cluster at {endpoint} has another certificate authority than was given: {seen}; "
            f"nothing was taken from it; to get the hash: {HOW}"
        )
    pem = b"".join(map(pem_of, pinned))
    return pem, [one for one in found if pin_of(one) not in pins]


def _with_unpinned_signer(fault: NotTrusted, unpinned: Sequence[Certificate]) -> NotTrusted:
    """Return the same fault, which also names the authority that signed where cluster-info has it."""
    signers = [one for one in unpinned if printable_name(one.subject) == fault.signer]
    if fault.doubt is not Doubt.AUTHORITY or not signers:
        return fault
    text = (
        f"the certificate of {fault.place} is signed by an authority whose hash was not given: "
        f"{_named(signers)}; "
        "during a rotation of the cluster's authority give the hash of each (--discovery-token-ca-cert-hash "
        f"again, or one more of caCertHashes), but only one that this prints, too: {HOW}"
    )
    return NotTrusted(text, fault.doubt, fault.place, fault.signer)


def _named(found: Sequence[Certificate]) -> str:
    """For people: a stranger chooses how many there are."""
    more = len(found) - _MOST_NAMED
    named = "; ".join(f"{printable_name(one.subject)}, {pin_of(one)}" for one in found[:_MOST_NAMED])
    return f"{named} and {more} more" if more > 0 else named


def _certificates(cluster: Cluster, endpoint: str) -> list[Certificate]:
    """Return the authorities of `cluster`. Raises NotProven."""
    try:
        return load_pem(cluster.authority)
    except ValueError:
        raise NotProven(
            f"the certificate authority in cluster-info at {endpoint} is no certificate"
        ) from None


@registers_secrets
@dataclass(frozen=True, slots=True)
class BootstrapToken:
    """By which discovery knows the cluster, and the cluster the node."""

    id: str
    """Not secret."""
    secret: str = field(repr=False)

    @property
    def text(self) -> str:
        return f"{self.id}.{self.secret}"

    def vouches_for(self, content: str, signature: str) -> bool:
        """Whether the content was signed by whoever knows the secret: a detached JWS, HS256.

        It is compared whole with what the cluster's own signer writes. A signature that could be written in
        another way, by another algorithm or under another name is none.
        """
        header = json.dumps({"alg": "HS256", "kid": self.id}, separators=(",", ":")).encode()
        signed = f"{_encoded(header)}.{_encoded(content.encode('utf-8', 'surrogatepass'))}".encode()
        expected = _encoded(hmac.digest(self.secret.encode(), signed, "sha256"))
        whole = f"{_encoded(header)}..{expected}"
        return hmac.compare_digest(whole.encode(), signature.encode("utf-8", "surrogatepass"))


def token_in(text: str) -> BootstrapToken:
    """Raises NotUsable, which does not quote it."""
    found = _TOKEN.fullmatch(text)
    if not found:
        raise NotUsable(
            "the bootstrap token is none: it is 6 characters, a dot and 16 characters, lower-case letters "
            "and digits alone, as 'kubeadm token create' prints it"
        )
    return BootstrapToken(found[1], found[2])


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
