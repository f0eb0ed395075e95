"""Programs, and archives of them, from elsewhere."""

from pathlib import PureWindowsPath

from agent.sources import urls
from agent.sources.forms import Checking, Fields, ListOf, MapOf, Number, Text, mapping, number, text
from agent.sources.node_configuration.kinds import values
from agent.sources.node_configuration.kinds.kind import Given, several
from agent.sources.report import Place
from agent.sources.windows_paths import windows_path_fault
from agent.spec import Artifact, Signer, Unpacking

_DIGESTS = ("sha256", "sha512")
SOURCE = Text(
    "From where: a URL, a file on a share, or one of the machine.",
    "an http or https URL, or a path such as \\\\server\\share\\tool.zip or C:\\setup\\tool.zip,",
    pattern=r"https?://[^\s\x00-\x1f/?#][^\s\x00-\x1f]*|\\\\[^\\/\x00-\x1f]+\\[^\x00-\x1f]+"
    r"|[A-Za-z]:[\\/][^\x00-\x1f]+",
    most=8_000,
)
SIGNER = Fields(
    {
        "commonName": Text(
            "The CN of the certificate that it is signed with.", "a name", r"[^\x00-\x1f]+", most=256
        ),
        "thumbprint": Text(
            "Of that certificate: its SHA-1, as Windows shows it, or its SHA-256.",
            "a thumbprint in 40 or 64 hexadecimal digits",
            pattern="[0-9A-Fa-f]{40}(?:[0-9A-Fa-f]{24})?",
        ),
    },
    "Who has to have signed it by Authenticode; of an archive, every program that is unpacked. Windows judges"
    " the signature; whether the certificate was revoked is not asked.",
    some=("commonName", "thumbprint"),
)
_UNPACK = Fields(
    {
        "into": values.path_form("Below which folder."),
        "strip": Number("So many folders are left out at the beginning of each name.", most=50),
        "members": MapOf(
            Text("What it is called below that folder.", "a path", r"[^\x00-\x1f]+", most=1_000),
            "Which of its files, by their names in it; all of them where nothing is said.",
            key=Text(expected="a name", pattern=r"[^\x00-\x1f]+", most=1_000),
            least=1,
        ),
    },
    "It is a tar.gz or zip archive. One with links, or with names that Windows takes for others, is refused.",
    needed=("into",),
)
_ARTIFACT = Fields(
    {
        "name": values.name_form("For a person, and no other artifact's."),
        "source": SOURCE,
        "sha256": values.SHA256,
        "sha512": Text("The same.", "a SHA-512 in 128 hexadecimal digits", pattern="[0-9A-Fa-f]{128}"),
        "checksums": Text(
            "Where a file tells what it has to hash to, as sha256sum writes it. Weaker: whoever can change"
            " the one can change the other. It is asked for once, and believed from then on.",
            "an https URL",
            pattern=r"https://[^\s\x00-\x1f/?#][^\s\x00-\x1f]*",
            most=8_000,
        ),
        "maxSize": values.MAX_SIZE,
        "signer": SIGNER,
        "path": values.path_form("Where it is to be, as one file. Folders on the way are made."),
        "unpack": _UNPACK,
        "protection": Text(
            "Who may do what with its files. private: SYSTEM and administrators only. program: users may read"
            " and run them.",
            one_of=("private", "program"),
        ),
    },
    "Nothing of it has its name before all of it is there and proven.",
    needed=("name", "source"),
    one_of_each=((*_DIGESTS, "checksums"), ("path", "unpack")),
)


def _artifact(checking: Checking, given: Given, place: Place) -> Artifact:
    from_where = source(checking, given, place)
    said = next((name for name in _DIGESTS if name in given), "")
    return Artifact(
        text(given["name"]),
        from_where,
        _unpacking(checking, mapping(given["unpack"]), (*place, "unpack"))
        if "unpack" in given
        else values.own_path(checking, given, place),
        f"{said}:{text(given[said]).lower()}" if said else "",
        text(given.get("checksums")),
        signer(given),
        values.protection(given),
        values.size_limit(given),
    )


def source(checking: Checking, given: Given, place: Place) -> str:
    said = text(given["source"])
    if "://" in said and urls.parse(said) is None:
        checking.wrong((*place, "source"), "it is no URL")
    return said


def signer(given: Given) -> Signer | None:
    """Of what has perhaps a field `signer`."""
    if "signer" not in given:
        return None
    said = mapping(given["signer"])
    return Signer(text(said.get("commonName")), text(said.get("thumbprint")).lower())


def _unpacking(checking: Checking, given: Given, place: Place) -> Unpacking:
    into = values.own_path(checking, given, place, "into")
    members = {member: text(name) for member, name in mapping(given.get("members")).items()}
    if members and "strip" in given:
        checking.wrong((*place, "strip"), "members have whole names, of which nothing is left out")
    for member, name in members.items():
        elements = PureWindowsPath(name)
        fault = "it is a whole path" if elements.anchor else windows_path_fault(into / elements)
        if fault or not elements.parts:
            checking.wrong((*place, "members", member), fault or "it is no name")
    return Unpacking(into, int(number(given.get("strip"), 0)), members)


KIND = several(ListOf(_ARTIFACT, "Programs, and archives of them, from elsewhere.", most=200), _artifact)
