"""The machine's proxy: variables for programs, WinHTTP's default, and what is reached without it."""

import ipaddress
from collections.abc import Iterable, Iterator

from agent.documents import Value
from agent.sources.forms import Checking, Fields, ListOf, Text, mapping, text, texts
from agent.sources.node_configuration.kinds.kind import Given, Wanted, single
from agent.sources.report import Place
from agent.spec import EnvironmentVariable
from agent.spec.machine import Proxy

_SCHEME = "http://"
_HOST = r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)"
_LOCAL = ("localhost", "127.0.0.1", "::1")
_NETWORKS = ("serviceNetworks", "podNetworks", "nodeNetworks")
_OCTETS, _BITS = 4, 8


def _url(about: str) -> Text:
    pattern = rf"{_SCHEME}([^\s/@]+@)?{_HOST}:[0-9]{{1,5}}/?"
    return Text(about, "a URL such as http://proxy.example:3128", pattern=pattern, most=2_000)


def _networks(about: str) -> ListOf:
    network = Text("", "a network such as 10.244.0.0/16", pattern=r"[0-9A-Fa-f:.]+/[0-9]{1,3}", most=64)
    return ListOf(network, about, most=100)


_CLUSTER = Fields(
    {
        "podNetworks": _networks("Of its pods."),
        "serviceNetworks": _networks("Of its services."),
        "nodeNetworks": _networks("Of its nodes."),
        "apiServer": Text(
            "Its name or address, without a port.", "a host's name or address", pattern=_HOST, most=253
        ),
        "domain": Text(
            "In which its services have names; cluster.local where nothing is said.",
            "a domain such as cluster.local",
            pattern=r"[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?",
            most=253,
        ),
    },
    "A cluster: nothing of it is reached by the proxy, nor the machine itself.",
)
_PROXY = Fields(
    {
        "http": _url("By which http URLs are reached. A user and password in it are never shown."),
        "https": _url("By which https URLs are reached; the one of http where nothing is said."),
        "noProxy": ListOf(
            Text(
                "",
                "a name, a domain such as .example.com, an address or a network",
                pattern=r"[^\s,;\x00-\x1f]+",
                most=253,
            ),
            "What else is reached without it.",
        ),
        "cluster": _CLUSTER,
    },
    "The machine's proxy: the variables HTTP_PROXY, HTTPS_PROXY and NO_PROXY, the same in the environment of"
    " services that are wanted with it, and WinHTTP's default.",
    some=("http", "https"),
)


def _proxy(checking: Checking, value: Value, place: Place) -> Iterator[Wanted]:
    given = mapping(value)
    for field in _NETWORKS:
        for number, network in enumerate(texts(mapping(given.get("cluster")).get(field))):
            if _network(network) is None:
                checking.wrong((*place, "cluster", field, number), "there is no such network")
    by_scheme: dict[str, str] = {
        scheme: text(given[scheme]) for scheme in ("http", "https") if scheme in given
    }
    if "http" in by_scheme:
        by_scheme.setdefault("https", by_scheme["http"])
    without = tuple(dict.fromkeys(_reached_without(given)))
    variables = {f"{scheme.upper()}_PROXY": url for scheme, url in by_scheme.items()}
    if without:
        variables["NO_PROXY"] = ",".join(without)
    for name, content in variables.items():
        yield EnvironmentVariable(name, content, secret="@" in content)
    yield Proxy(_server(by_scheme), ";".join(_as_winhttp_has_it(without)), variables)


def _reached_without(given: Given) -> Iterator[str]:
    if "cluster" in given:
        cluster = mapping(given["cluster"])
        yield from _LOCAL
        yield from (".svc", f".{text(cluster.get('domain')) or 'cluster.local'}")
        for field in _NETWORKS:
            yield from texts(cluster.get(field))
        if "apiServer" in cluster:
            yield text(cluster["apiServer"]).strip("[]")
    yield from texts(given.get("noProxy"))


def _server(by_scheme: dict[str, str]) -> str:
    servers = {scheme: _without_user(url) for scheme, url in by_scheme.items()}
    if "http" in servers and servers["http"] == servers["https"]:
        return servers["http"]
    return ";".join(f"{scheme}={server}" for scheme, server in servers.items())


def _without_user(url: str) -> str:
    return url.removeprefix(_SCHEME).rpartition("@")[2].rstrip("/")


def _as_winhttp_has_it(without: Iterable[str]) -> Iterator[str]:
    """It knows no networks, only texts with asterisks in them: of a /12 that is sixteen, of IPv6 nothing."""
    for each in without:
        network = _network(each)
        if network is None:
            yield f"*{each}" if each.startswith(".") else each
        elif isinstance(network, ipaddress.IPv4Network):
            yield from _texts_of(network)


def _texts_of(network: ipaddress.IPv4Network) -> Iterator[str]:
    octets = -(-network.prefixlen // _BITS)
    for part in network.subnets(new_prefix=octets * _BITS):
        known = str(part.network_address).split(".")[:octets]
        yield ".".join(known if octets == _OCTETS else [*known, "*"])


def _network(given: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    if "/" not in given:
        return None
    try:
        return ipaddress.ip_network(given, strict=False)
    except ValueError:
        return None


KIND = single(_PROXY, _proxy)
