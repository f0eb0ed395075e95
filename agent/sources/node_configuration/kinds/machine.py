"""What the machine itself is set up with, from its name to the certificates that it trusts."""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PureWindowsPath

from agent.documents import Value, items, mapping, text, texts
from agent.sources.forms import Checking, Fields, Flag, ListOf, Number, Text
from agent.sources.node_configuration.kinds import values
from agent.sources.node_configuration.kinds.values import Given, Kind, Wanted, several, single
from agent.sources.report import Place
from agent.sources.trusted_certificates import trusted
from agent.spec import EnvironmentVariable, HostName
from agent.spec.machine import (
    DefenderExclusion,
    DnsSuffixes,
    PathEntry,
    Proxy,
    RegistryType,
    RegistryValue,
    WindowsFeature,
)
from agent.spec.services import TimeService

_PATH_VARIABLE = "path"
_VARIABLE = Fields(
    {
        "name": values.VARIABLE,
        "value": values.VALUE,
        "absent": Flag("The machine is not to have it.", only_true=True),
        "secret": Flag("Its value is never shown."),
    },
    needed=("name",),
    exactly_one=("value", "absent"),
)


def _variable(checking: Checking, given: Given, place: Place) -> EnvironmentVariable:
    if text(given["name"]).lower() == _PATH_VARIABLE:
        checking.wrong((*place, "name"), "all that others have in it would go; pathEntries adds to it")
    value = text(given["value"]) if "value" in given else None
    return EnvironmentVariable(text(given["name"]), value, given.get("secret") is True)


_FOLDER = Text(
    "A folder, which need not be there yet.",
    r"a whole Windows path with its drive, such as C:\k, and in it no semicolon, quote or percent sign,",
    pattern=r'[A-Za-z]:[\\/][^;"%\x00-\x1f]*',
    most=2_000,
)


def _path_entries(checking: Checking, value: Value, place: Place) -> Iterator[tuple[Wanted, Place]]:  # noqa: ARG001 - nothing of it can be wrong
    for number, folder in enumerate(texts(value)):
        yield PathEntry(PureWindowsPath(folder)), (*place, number)


_MOST_BYTES = 1 << 20
_CONTROL = r"system\currentcontrolset"
_NUMBERED = re.compile(r"^system\\controlset[0-9]{3}(?=\\)")
_OTHERWISE = {
    rf"{_CONTROL}\control\session manager\environment": (
        "the machine's variables are kept by environmentVariables and pathEntries, which Windows hears of"
    ),
    r"software\wmcb": "wmcb keeps here what it goes by itself; choose another key",
    rf"{_CONTROL}\services\wmcb": (
        "this is the service that does all this; the command daemon install changes it"
    ),
}
"""Who looks after what is there."""

_TYPES = {
    "string": RegistryType.STRING, "expandable": RegistryType.EXPANDABLE, "strings": RegistryType.STRINGS,
    "dword": RegistryType.NUMBER, "qword": RegistryType.LONG_NUMBER, "binary": RegistryType.BINARY,
}  # fmt: skip
_REGISTRY_VALUE = Fields(
    {
        "key": Text(
            "Where it lies. Keys on the way are made.",
            r"a key below HKLM, such as HKLM\SOFTWARE\Contoso,",
            pattern=r"(HKLM|HKEY_LOCAL_MACHINE)(\\[^\\\x00-\x1f]{1,255})+",
            most=4_000,
        ),
        "name": Text(
            "Left out, it is the value that the key has without a name.", pattern=r"[^\x00]*", most=16_383
        ),
        "string": Text("Its data, as REG_SZ.", pattern=r"[^\x00]*", most=_MOST_BYTES // 2),
        "expandable": Text(
            "The same as REG_EXPAND_SZ: %NAME% in it stands for a variable's value.",
            pattern=r"[^\x00]*",
            most=_MOST_BYTES // 2,
        ),
        "strings": ListOf(
            Text("", "text", pattern=r"[^\x00]+", most=32_000), "Its data, as REG_MULTI_SZ."
        ),
        "dword": Number("Its data, as REG_DWORD.", most=2**32 - 1),
        "qword": Number("Its data, as REG_QWORD.", most=2**64 - 1),
        "binary": Text(
            "Its data, as REG_BINARY.",
            "bytes in hexadecimal digits, such as 00 1f ff,",
            pattern=r"([0-9A-Fa-f]{2}[\s,]*)*",
            most=3 * _MOST_BYTES,
        ),
        "absent": Flag("There is not to be one.", only_true=True),
        "secret": Flag("Its data is never shown."),
    },
    needed=("key",),
    exactly_one=(*_TYPES, "absent"),
)  # fmt: skip


def _registry_value(checking: Checking, given: Given, place: Place) -> RegistryValue:
    _, _, path = text(given["key"]).partition("\\")
    # The one that Windows runs by has a number of its own, too.
    meant = _NUMBERED.sub(lambda _: _CONTROL, path.lower())
    for reserved, advice in _OTHERWISE.items():
        if f"{meant}\\".startswith(f"{reserved}\\"):
            checking.wrong((*place, "key"), advice)
    name, secret = text(given.get("name")), given.get("secret") is True
    field = next((field for field in _TYPES if field in given), None)
    if field is None:
        return RegistryValue(path, name, None, None, secret)
    return RegistryValue(path, name, _TYPES[field], _data(given, field), secret)


def _data(given: Given, field: str) -> str | int | bytes | tuple[str, ...]:
    value = given[field]
    if field == "strings":
        return texts(value)
    if field == "binary":
        return bytes.fromhex(text(value).replace(",", " "))
    return int(value) if isinstance(value, int | float) else text(value)


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
    """Variables for programs, WinHTTP's default, and what is reached without it."""
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


def _host_name(checking: Checking, given: Value, place: Place) -> Iterator[HostName]:
    name = text(given)
    nodes = checking.document.value.get("nodes")
    if nodes is not None and len(items(mapping(nodes).get("names"))) != 1:
        checking.wrong(place, "a name is one machine's; let nodes.names have one name, or leave out nodes")
    yield HostName(name)


_LONGEST = 1024
"""Of all together: what Windows keeps of it."""

_SUFFIX = Text(
    "",
    "a domain such as example.com",
    pattern=r"[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?(\.[A-Za-z0-9_]([-A-Za-z0-9_]*[A-Za-z0-9_])?)*",
    most=253,
)


def _dns_suffixes(checking: Checking, value: Value, place: Place) -> Iterator[DnsSuffixes]:
    suffixes = texts(value)
    if len(",".join(suffixes)) > _LONGEST:
        checking.wrong(place, f"together they are longer than {_LONGEST:,} characters")
    yield DnsSuffixes(suffixes)


_TIME_SERVICE = Fields(
    {"running": Flag("It is started with Windows, and runs.", only_true=True)},
    "Windows' time service, W32Time. Left out, it stays as it is, and preflight looks whether it runs.",
    needed=("running",),
)


def _time_service(checking: Checking, value: Value, place: Place) -> Iterator[TimeService]:  # noqa: ARG001 - nothing of it can be wrong
    yield TimeService()


_FEATURE = Fields(
    {"name": values.FEATURE, "withParents": Flag("Those that it is part of are switched on, too.")},
    needed=("name",),
)


def _feature(checking: Checking, given: Given, place: Place) -> WindowsFeature:  # noqa: ARG001 - nothing of it can be wrong
    return WindowsFeature(text(given["name"]), given.get("withParents") is True)


_WHAT = ("path", "process")

_EXCLUSION = Fields(
    {
        "path": values.path_form("A file, or a folder and all below it."),
        "process": values.path_form("A program: no file that it opens is looked at."),
    },
    exactly_one=_WHAT,
)


def _exclusion(checking: Checking, given: Given, place: Place) -> DefenderExclusion:
    what = next(each for each in _WHAT if each in given)
    path = str(PureWindowsPath(text(given[what])))
    if PureWindowsPath(path).parent == PureWindowsPath(path):
        checking.wrong((*place, what), "this is a whole disk; say what on it is not to be looked at")
    return DefenderExclusion(what, path)


_PEM = "PEM, as in a block of text that begins with -----BEGIN CERTIFICATE-----,"


_BUNDLES = ListOf(
    Text("One, or several.", _PEM, pattern=r"[\s\S]*-----BEGIN CERTIFICATE-----[\s\S]*"),
    "Certificates of authorities, put into Windows' store of roots for the whole machine. A security"
    " decision: all its programs believe whom they vouch for.",
    most=500,
)


def _certificates(checking: Checking, value: Value, place: Place) -> Iterator[tuple[Wanted, Place]]:
    """Of a list of texts, each with a certificate or several."""
    for number, pem in enumerate(texts(value)):
        here = (*place, number)
        try:
            for certificate in trusted(pem):
                yield certificate, here
        except ValueError as fault:
            checking.wrong(here, str(fault))


KINDS: Mapping[str, Kind] = {
    "environmentVariables": several(
        ListOf(_VARIABLE, "Of the machine, as every program that starts later gets them."), _variable
    ),
    "pathEntries": Kind(
        ListOf(_FOLDER, "Entries of the machine's Path, behind those of others.", most=100), _path_entries
    ),
    "registryValues": several(
        ListOf(_REGISTRY_VALUE, "Values of the registry, below HKEY_LOCAL_MACHINE."), _registry_value
    ),
    "proxy": single(_PROXY, _proxy),
    "hostName": single(
        Text(
            "The machine's DNS host name. It takes a restart, and services and commands wait for it. Said in"
            " a ConfigMap, it is for one node, named by nodes.names.",
            "a name of letters, digits and hyphens that is no number,",
            pattern=r"(?![0-9]+$)[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?",
        ),
        _host_name,
    ),
    "dnsSuffixes": single(
        ListOf(_SUFFIX, "The machine's whole list of DNS suffixes, in the order of trial.", least=1, most=32),
        _dns_suffixes,
    ),
    "timeService": single(_TIME_SERVICE, _time_service),
    "windowsFeatures": several(
        ListOf(
            _FEATURE,
            "Switched on. Where that takes a restart of Windows, what refers to it waits for that. None is"
            " switched off again but by wmcb reset --features.",
            most=50,
        ),
        _feature,
    ),
    "defenderExclusions": several(
        ListOf(
            _EXCLUSION,
            "What Microsoft Defender does not look at, on machines that have it. A security decision: who can"
            " put something there is not watched.",
            most=100,
        ),
        _exclusion,
    ),
    "trustedCertificates": Kind(_BUNDLES, _certificates),
}
