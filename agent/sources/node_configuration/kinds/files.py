"""Files and folders, what they are made of, containerd's configuration, and wmcb.exe itself."""

from collections.abc import Mapping
from pathlib import PureWindowsPath

from agent.documents import Value, mapping, number, text
from agent.sources import urls
from agent.sources.forms import Checking, Fields, Flag, ListOf, MapOf, Number, Text
from agent.sources.node_configuration.kinds import values
from agent.sources.node_configuration.kinds.values import Given, Kind, several, single
from agent.sources.node_configuration.model import OwnProgram, RemoteFile, Source
from agent.sources.report import Origin, Place
from agent.sources.windows_paths import windows_path_fault
from agent.spec import Artifact, Directory, File, Signer, Unpacking
from agent.spec.files import ContainerdConfiguration

_DOWNLOAD = Fields(
    {
        "url": Text(
            "From where.",
            "an http or https URL",
            pattern=r"https?://[^\s\x00-\x1f/?#][^\s\x00-\x1f]*",
            most=8_000,
        ),
        "sha256": values.SHA256,
        "maxSize": values.MAX_SIZE,
    },
    "Its content is downloaded, and checked.",
    needed=("url", "sha256"),
)
_FILE = Fields(
    {
        "path": values.path_form("Where it is. Folders on the way are made."),
        "text": Text("Its content, in UTF-8."),
        "base64": values.BASE64,
        "source": _DOWNLOAD,
        "existing": Flag(
            "It has to be there already, and its protection alone is looked after.", only_true=True
        ),
        "protection": values.PROTECTION,
        "until": values.path_form(
            "Wanted until this other file is there; then it goes: a credential for one use."
        ),
    },
    needed=("path",),
    exactly_one=("text", "base64", "source", "existing"),
)


def _file(checking: Checking, given: Given, place: Place) -> File | RemoteFile:
    own = values.own_path(checking, given, place)
    until = values.path(given, "until")
    if "source" in given:
        download = _download(checking, mapping(given["source"]), (*place, "source"))
        return RemoteFile(own, download, values.protection(given), until)
    inline = None if "existing" in given else values.content(checking, given, place)
    return File(own, inline, values.protection(given), until)


def _download(checking: Checking, given: Given, place: Place) -> Source:
    url = text(given["url"])
    if urls.parse(url) is None:
        checking.wrong((*place, "url"), "it is no URL")
    return Source(url, text(given["sha256"]).lower(), values.size_limit(given))


_DIRECTORY = Fields(
    {
        "path": values.path_form("Where it is. Folders on the way are made."),
        "protection": values.PROTECTION,
        "belongsToNode": Flag("What the node's programs put into it is the node's too, and goes with it."),
        "shared": Flag("Others use it too: one that is there stays as it is."),
    },
    needed=("path",),
)


def _directory(checking: Checking, given: Given, place: Place) -> Directory:
    return Directory(
        values.own_path(checking, given, place),
        values.protection(given),
        given.get("belongsToNode") is True,
        given.get("shared") is True,
    )


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


_HOUR = 3600
_WITHIN_SECONDS = 300.0

OWN_PROGRAM_FORM = Fields(
    {
        "source": SOURCE,
        "sha256": values.SHA256,
        "signer": SIGNER,
        "withinSeconds": values.seconds_form(
            "How long it has until it follows the ConfigMap, 300 if nothing is said. Else the one before it"
            " is put back, and this one is not tried again until the ConfigMap is another.",
            most=_HOUR,
            least=5,
        ),
    },
    "The wmcb.exe, as it is shipped, that is to keep the node in place of the one that does. It counts where"
    " a ConfigMap is followed, and takes its turn by rollout.",
    needed=("source", "sha256"),
)


def own_program(checking: Checking, given: Given, place: Place, origin: Origin) -> OwnProgram:
    """Which wmcb.exe is to keep the node. Nothing of the node itself, and so no kind."""
    return OwnProgram(
        source(checking, given, place),
        text(given["sha256"]).lower(),
        signer(given),
        number(given.get("withinSeconds"), _WITHIN_SECONDS),
        origin,
    )


_CONTAINERD_PATH = r"C:\Program Files\containerd\config.toml"
_PIPE = "npipe:////./pipe/"

_CONTAINERD = Fields(
    {
        "path": values.path_form(f"Where it is; {_CONTAINERD_PATH} where nothing is said."),
        "version": Number(
            "Of its schema, where there is no file yet: 2 for containerd 1, 3 for containerd from 2.1 on.",
            least=2,
            most=3,
        ),
        "cniPrograms": values.path_form("The folder that CNI plug-ins lie in."),
        "cniConfigurations": values.path_form(
            "The folder of which the first file says how pods get a network."
        ),
        "sandboxImage": Text(
            "The image of the container that holds a pod together.",
            "an image's name, such as registry.example/pause:3.10,",
            pattern=r"[a-z0-9][^\s\x00-\x1f]*",
            most=500,
        ),
        "registries": values.path_form(
            "The folder that has, for each registry with mirrors, a folder of its name with a hosts.toml."
        ),
        "address": Text(
            "The pipe that it serves.",
            f"a pipe, such as {_PIPE}containerd-containerd,",
            pattern=r"npipe:////\./pipe/[A-Za-z0-9._-]{1,200}",
        ),
        "withoutSystemdCgroup": Flag(
            "SystemdCgroup is taken out of its runtimes' options, as configurations for Linux have it.",
            only_true=True,
        ),
    },
    "What containerd's configuration file has to say. All else in it stays as it is, with its comments.",
    needed=("version",),
    some=(
        "cniPrograms",
        "cniConfigurations",
        "sandboxImage",
        "registries",
        "address",
        "withoutSystemdCgroup",
    ),
)


def _containerd(checking: Checking, value: Value, place: Place) -> list[ContainerdConfiguration]:
    given = {"path": _CONTAINERD_PATH, **mapping(value)}
    pipe = text(given.get("address")).removeprefix(_PIPE)
    made = ContainerdConfiguration(
        values.own_path(checking, given, place),
        int(number(given["version"], 0)),
        _folder(given, "cniPrograms"),
        _folder(given, "cniConfigurations"),
        text(given.get("sandboxImage")),
        _folder(given, "registries"),
        rf"\\.\pipe\{pipe}" if pipe else "",
        given.get("withoutSystemdCgroup") is True,
    )
    return [made]


def _folder(given: Given, name: str) -> str:
    return str(PureWindowsPath(text(given[name]))) if name in given else ""


KINDS: Mapping[str, Kind] = {
    "files": several(ListOf(_FILE, "Files."), _file),
    "directories": several(ListOf(_DIRECTORY, "Folders."), _directory),
    "artifacts": several(
        ListOf(_ARTIFACT, "Programs, and archives of them, from elsewhere.", most=200), _artifact
    ),
    "containerdConfiguration": single(_CONTAINERD, _containerd),
}
