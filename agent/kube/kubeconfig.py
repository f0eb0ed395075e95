"""A kubeconfig, read as the kubelet reads it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NoReturn

from agent import documents
from agent.documents import Value
from agent.fetch import address, trust
from agent.fetch.failure import Failed as FetchFailed
from agent.kube.access import Access
from agent.kube.failure import NotUsable
from agent.kube.key_files import TEMPORARY, KeyFiles
from agent.secret_fields import registers_secrets
from agent.yaml_events import Place

ReadFile = Callable[[str], bytes]
"""Takes a path as the kubeconfig has it; one that is relative starts at the kubeconfig's own folder."""

_HALF_A_CHARACTER = re.compile("[\ud800-\udfff]")
_SERVER_NAME = re.compile(r"[\w-]{1,63}(\.[\w-]{1,63})*\.?|[0-9a-fA-F.]*:[0-9a-fA-F:.]*", re.ASCII)
"""A host name or an address: TLS fails at anything else without saying why."""
_TOKEN_USER = "tls-bootstrap-token-user"  # noqa: S105 - its name
_CLUSTER = "kubernetes"
_NOT_DONE_HERE = {
    "exec": "programs that fetch credentials are not run",
    "auth-provider": "plug-ins that fetch credentials are not known",
    **dict.fromkeys(("as", "as-uid", "as-groups", "as-user-extra"), "nobody is impersonated"),
}


@registers_secrets
@dataclass(frozen=True, slots=True)
class Cluster:
    server: str
    authority: bytes = field(default=b"", repr=False)
    """PEM."""
    authority_path: str = ""
    server_name: str = ""
    insecure: bool = False
    proxy: str = field(default="", repr=False)


@registers_secrets
@dataclass(frozen=True, slots=True)
class User:
    """What is there counts before what a path leads to."""

    token: str = field(default="", repr=False)
    token_path: str = ""
    certificate: bytes = field(default=b"", repr=False)
    certificate_path: str = ""
    key: bytes = field(default=b"", repr=False)
    key_path: str = ""
    name: str = field(default="", repr=False)
    password: str = field(default="", repr=False)
    not_done: tuple[str, ...] = ()
    """Settings that ask for what is not done here; an error only for whom the user is needed."""

    @property
    def has_credentials(self) -> bool:
        certificate = bool(self.certificate or self.certificate_path)
        key = bool(self.key or self.key_path)
        named = bool(self.name and self.password)
        return bool(self.token or self.token_path) or named or (certificate and key)


@dataclass(frozen=True, slots=True)
class Context:
    cluster: str
    user: str
    namespace: str = ""


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    clusters: Mapping[str, Cluster]
    users: Mapping[str, User] = field(default_factory=dict)
    contexts: Mapping[str, Context] = field(default_factory=dict)
    current: str = ""
    """The context to use."""
    name: str = "the kubeconfig"
    """What errors call it."""

    def cluster(self) -> Cluster:
        """Of the current context; one without a name goes first, as in cluster-info. Raises NotUsable."""
        if "" in self.clusters:
            return self.clusters[""]
        return self.clusters[self._context().cluster]

    def user(self) -> User:
        """Of the current context; nobody where there is none, or no such user. Raises NotUsable."""
        context = self.contexts.get(self.current)
        return self.users.get(context.user, User()) if context else User()

    def settings_on_the_way(self) -> dict[str, Value]:
        """What it takes to reach the server beside its address, as a kubeconfig has it. Raises NotUsable."""
        cluster = self.cluster()
        known = {"tls-server-name": cluster.server_name, "proxy-url": cluster.proxy}
        return {name: value for name, value in known.items() if value}

    def user_settings(self) -> dict[str, Value]:
        """What the current context's user has, as a kubeconfig has it. Raises NotUsable."""
        return _of_user(self.user())

    def embedded(self, read: ReadFile) -> Kubeconfig:
        """With the contents of files in place of their paths, for the current context. Raises NotUsable."""
        found, user = self.cluster(), self.user()
        for setting in user.not_done:
            self._refuse(f"user.{setting}", f"{_NOT_DONE_HERE[setting]}; use a token or a client certificate")
        authority = found.authority or self._contents("certificate-authority", found.authority_path, read)
        cluster = replace(found, authority=authority, authority_path="")
        key = user.key or self._contents("client-key", user.key_path, read)
        token = user.token.encode() or self._contents("tokenFile", user.token_path, read)
        certificate = user.certificate or self._contents("client-certificate", user.certificate_path, read)
        if bool(certificate) != bool(key):
            self._refuse("user", "a client certificate and its key go together; one of the two is missing")
        text = token.decode("latin-1").strip()
        user = User(text, certificate=certificate, key=key, name=user.name, password=user.password)
        self._check_authority(cluster)
        users = dict(self.users)
        if self.current in self.contexts and self.contexts[self.current].user in users:
            users[self.contexts[self.current].user] = user
        return replace(self.with_cluster(cluster), users=users)

    def access(self, read: ReadFile, key_files: KeyFiles = TEMPORARY) -> Access:
        """What a client needs, paths followed. Raises NotUsable."""
        whole = self.embedded(read)
        cluster, user = whole.cluster(), whole.user()
        if not cluster.server.lower().startswith("https://"):
            self._refuse(
                "cluster.server", "it is no https URL; nothing is sent over a connection without TLS"
            )
        for place, url in (("server", cluster.server), ("proxy-url", cluster.proxy or cluster.server)):
            try:
                address.parse(url)
            except FetchFailed as fault:
                self._refuse(f"cluster.{place}", str(fault))
        return Access(
            cluster.server,
            self.name,
            authorities=cluster.authority,
            server_name=cluster.server_name,
            insecure=cluster.insecure,
            proxy=cluster.proxy,
            token=user.token,
            user=user.name,
            password=user.password,
            certificate=user.certificate,
            key=user.key,
            pair=self._pair(key_files),
            key_files=key_files,
        )

    def _pair(self, key_files: KeyFiles) -> tuple[Path, Path] | tuple[()]:
        """Where certificate and key lie, if both are files that only administrators can exchange."""
        user = self.user()
        named = user.certificate_path and user.key_path and not (user.certificate or user.key)
        if not named:
            return ()
        try:
            certificate = key_files.private_path(user.certificate_path)
            key = key_files.private_path(user.key_path)
        except OSError as fault:
            why = fault.strerror or f"error {fault.errno}"
            raise NotUsable(f"{self.name}: client-key names {user.key_path}: {why}") from None
        return (certificate, key) if certificate and key else ()

    def check(self) -> None:
        """That all of it fits together, as kubeadm wants it of a discovery kubeconfig. Raises NotUsable."""
        if self.current and self.current not in self.contexts:
            self._refuse("current-context", "there is no context of that name")
        for context in self.contexts.values():
            if context.cluster not in self.clusters:
                self._refuse("context.cluster", "there is no cluster of that name")
            if context.user not in self.users:
                self._refuse("context.user", "there is no user of that name")
        for user in self.users.values():
            if (user.token or user.token_path) and (user.name or user.password):
                self._refuse("user", "it has both a token and a password; only one of them can be used")

    def with_cluster(self, cluster: Cluster) -> Kubeconfig:
        """With another in place of the current one. Raises NotUsable."""
        found = self.cluster()
        clusters = {name: cluster if one is found else one for name, one in self.clusters.items()}
        return replace(self, clusters=clusters)

    def _context(self) -> Context:
        if self.current not in self.contexts:
            self._refuse("current-context", "there is no context of that name")
        context = self.contexts[self.current]
        if context.cluster not in self.clusters:
            self._refuse("context.cluster", "there is no cluster of that name")
        return context

    def _contents(self, setting: str, path: str, read: ReadFile) -> bytes:
        if not path:
            return b""
        try:
            return read(path)
        except OSError as fault:
            why = fault.strerror or f"error {fault.errno}"
            raise NotUsable(f"{self.name}: {setting} names {path}, which cannot be read: {why}") from None

    def _check_authority(self, cluster: Cluster) -> None:
        try:
            if cluster.authority:
                trust.only((cluster.authority,))
        except FetchFailed:
            self._refuse("cluster.certificate-authority", "it is no certificate in PEM form")

    def _refuse(self, place: str, why: str) -> NoReturn:
        raise NotUsable(f"{self.name}: {place}: {why}")


def with_token(cluster: Cluster, token: str) -> Kubeconfig:
    """As kubeadm makes one of what it has discovered."""
    context = f"{_TOKEN_USER}@{_CLUSTER}"
    return Kubeconfig(
        {_CLUSTER: cluster},
        {_TOKEN_USER: User(token)},
        {context: Context(_CLUSTER, _TOKEN_USER)},
        context,
        "the bootstrap kubeconfig",
    )


def read(contents: bytes, name: str) -> Kubeconfig:
    """`name` is what errors call it. Raises NotUsable, whose text names the field and quotes no value."""
    try:
        document = documents.read_document(contents)
    except documents.NotReadable as fault:
        spot = f" line {fault.at[0]}, column {fault.at[1]}" if fault.at else ""
        raise NotUsable(f"{name}{spot}: {fault}") from None
    return _Reader(name, document).kubeconfig()


class _Reader:
    def __init__(self, name: str, document: documents.Document) -> None:
        self._name = name
        self._value = document.value
        self._positions = document.positions

    def kubeconfig(self) -> Kubeconfig:
        for setting, wanted in (("kind", "Config"), ("apiVersion", "v1")):
            if self._text(self._value, (), setting) not in ("", wanted):
                self._refuse((setting,), f"it has to be {wanted}: a kubeconfig is expected")
        return Kubeconfig(
            {name: self._cluster(value, place) for name, value, place in self._named("clusters", "cluster")},
            {name: self._user(value, place) for name, value, place in self._named("users", "user")},
            {name: self._context(value, place) for name, value, place in self._named("contexts", "context")},
            self._text(self._value, (), "current-context"),
            self._name,
        )

    def _named(self, section: str, inside: str) -> Iterator[tuple[str, dict[str, Value], Place]]:
        items = self._value.get(section)
        if items is not None and not isinstance(items, list):
            self._refuse((section,), "a list was expected")
        seen = set()
        for number, item in enumerate(items or ()):
            place: Place = (section, number)
            if not isinstance(item, dict):
                self._refuse(place, "a mapping was expected")
            name = self._text(item, place, "name")
            if name in seen:
                self._refuse((*place, "name"), "another one before it has the same name")
            seen.add(name)
            value = item.get(inside)
            if value is not None and not isinstance(value, dict):
                self._refuse((*place, inside), "a mapping was expected")
            yield name, value or {}, (*place, inside)

    def _cluster(self, value: dict[str, Value], place: Place) -> Cluster:
        return Cluster(
            self._text(value, place, "server"),
            self._data(value, place, "certificate-authority-data"),
            self._text(value, place, "certificate-authority"),
            self._host_name(value, place, "tls-server-name"),
            self._flag(value, place, "insecure-skip-tls-verify"),
            self._text(value, place, "proxy-url"),
        )

    def _user(self, value: dict[str, Value], place: Place) -> User:
        return User(
            self._text(value, place, "token"),
            self._text(value, place, "tokenFile"),
            self._data(value, place, "client-certificate-data"),
            self._text(value, place, "client-certificate"),
            self._data(value, place, "client-key-data"),
            self._text(value, place, "client-key"),
            self._text(value, place, "username"),
            self._text(value, place, "password"),
            tuple(setting for setting in _NOT_DONE_HERE if value.get(setting)),
        )

    def _context(self, value: dict[str, Value], place: Place) -> Context:
        return Context(
            self._text(value, place, "cluster"),
            self._text(value, place, "user"),
            self._text(value, place, "namespace"),
        )

    def _text(self, mapping: dict[str, Value], place: Place, key: str) -> str:
        value = mapping.get(key)
        if value is None:
            return ""
        if not isinstance(value, str):
            self._refuse((*place, key), "text was expected; what looks like a number, yes or no needs quotes")
        if _HALF_A_CHARACTER.search(value):
            self._refuse((*place, key), "it has half of a character (a lone surrogate)")
        return value

    def _host_name(self, mapping: dict[str, Value], place: Place, key: str) -> str:
        name = self._text(mapping, place, key)
        if name and not _SERVER_NAME.fullmatch(name):
            self._refuse((*place, key), "a host name or an address was expected")
        return name

    def _flag(self, mapping: dict[str, Value], place: Place, key: str) -> bool:
        value = mapping.get(key)
        if value is not None and not isinstance(value, bool):
            self._refuse((*place, key), "true or false was expected")
        return value or False

    def _data(self, mapping: dict[str, Value], place: Place, key: str) -> bytes:
        text = self._text(mapping, place, key)
        try:
            return base64.b64decode(text.replace("\r", "").replace("\n", ""), validate=True)
        except (binascii.Error, ValueError):
            self._refuse((*place, key), "it is not base64")

    def _refuse(self, place: Place, why: str) -> NoReturn:
        path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
        spot = self._positions.get(place)
        where = f"{self._name} line {spot[0]}, column {spot[1]}" if spot else self._name
        raise NotUsable(f"{where}: {path.removeprefix('.')}: {why}")


def _of_user(user: User) -> dict[str, Value]:
    settings = {
        "client-certificate": user.certificate_path,
        "client-certificate-data": _base64(user.certificate),
        "client-key": user.key_path,
        "client-key-data": _base64(user.key),
        "password": user.password,
        "token": user.token,
        "tokenFile": user.token_path,
        "username": user.name,
    }
    return {name: value for name, value in settings.items() if value}


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()
