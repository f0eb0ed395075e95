"""What containerd's configuration file has to say."""

from pathlib import PureWindowsPath

from agent.documents import Value
from agent.sources.forms import Checking, Fields, Flag, Number, Text, mapping, number, text
from agent.sources.node_configuration.kinds.kind import Given, single
from agent.sources.node_configuration.kinds.values import own_path, path_form
from agent.sources.report import Place
from agent.spec.files import ContainerdConfiguration

_PATH = r"C:\Program Files\containerd\config.toml"
_PIPE = "npipe:////./pipe/"

_FORM = Fields(
    {
        "path": path_form(f"Where it is; {_PATH} where nothing is said."),
        "version": Number(
            "Of its schema, where there is no file yet: 2 for containerd 1, 3 for containerd from 2.1 on.",
            least=2,
            most=3,
        ),
        "cniPrograms": path_form("The folder that CNI plug-ins lie in."),
        "cniConfigurations": path_form("The folder of which the first file says how pods get a network."),
        "sandboxImage": Text(
            "The image of the container that holds a pod together.",
            "an image's name, such as registry.example/pause:3.10,",
            pattern=r"[a-z0-9][^\s\x00-\x1f]*",
            most=500,
        ),
        "registries": path_form(
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


def _configuration(checking: Checking, value: Value, place: Place) -> list[ContainerdConfiguration]:
    given = {"path": _PATH, **mapping(value)}
    pipe = text(given.get("address")).removeprefix(_PIPE)
    made = ContainerdConfiguration(
        own_path(checking, given, place),
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


KIND = single(_FORM, _configuration)
