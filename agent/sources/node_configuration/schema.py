"""The fields of a NodeConfiguration, what each may hold and what it is for.

The reader goes by this table, and the schema that is published is written from it.
"""

from __future__ import annotations

from agent.sources.forms import Fields, Flag, ListOf, MapOf, Number, Text

GROUP = "wmcb.internal"
"""Nobody can ever own a name below .internal, so no other project's group is the same, and no domain is
claimed. No API server serves it: it is a document inside of a ConfigMap."""
VERSION = "v1beta1"
API = f"{GROUP}/{VERSION}"
KIND = "NodeConfiguration"

_LONGEST_PATH = 32_000
_DAY = 86_400

PROTECTIONS = ("private", "program", "pods")
START_TYPES = ("automatic", "delayed", "manual", "disabled")
SHELLS = ("cmd", "powershell")


def _path(about: str) -> Text:
    expected = "a whole Windows path with its drive, such as C:\\k\\tool.exe,"
    return Text(about, expected, pattern=r"[A-Za-z]:[\\/][^\x00-\x1f]*", most=_LONGEST_PATH)


def _name(about: str) -> Text:
    return Text(about, "a name", pattern=r"[^\x00-\x1f]+", most=256)


def _service_name(about: str) -> Text:
    return Text(about, "a service's name", pattern=r"[^/\\\x00-\x1f]+", most=256)


def _seconds(about: str, most: float = _DAY, least: float = 0) -> Number:
    return Number(about, least=least, most=most, whole=False)


_VARIABLE = Text("Its name.", "a variable's name", pattern=r"[^=\x00-\x1f]+", most=255)
_VALUE = Text("Its value.", "text", pattern=r"[^\x00]*", most=32_000)
_PROTECTION = Text(
    "Who may do what with it. private: SYSTEM and administrators only. program: users may read and run it."
    " pods:"
    " a folder of volumes, which users may add to.",
    one_of=PROTECTIONS,
)
_BASE64 = Text("Its content, in base64.", "base64", pattern=r"[A-Za-z0-9+/=\s]*")

_REFERENCE = Fields(
    {
        "file": _path("The file of this path."),
        "directory": _path("The folder of this path."),
        "service": _service_name("The service of this name."),
        "environmentVariable": _VARIABLE,
        "command": _name("The command of this name."),
    },
    "Something else that is wanted of the node.",
    exactly_one=("file", "directory", "service", "environmentVariable", "command"),
)

_NODES = Fields(
    {
        "names": ListOf(
            Text("A node's name.", "a node's name", pattern=r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", most=253),
            "The node has one of these names.",
            least=1,
            most=10_000,
        ),
        "labels": MapOf(
            Text(
                "Its value.",
                "a label's value",
                pattern=r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?",
                most=63,
            ),
            "The node has all of these labels.",
            key=Text(
                expected="a label's name",
                pattern=r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?",
                most=317,
            ),
            least=1,
            most=100,
        ),
    },
    "For which nodes this is. Left out, it is for all that read it; with both fields, both have to hold.",
    some=("names", "labels"),
)
_ROLLOUT = Fields(
    {
        "start": Text(
            "When the first node's turn comes.",
            "a time such as 2030-01-02T03:04:05Z",
            pattern=r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[-+][0-9]{2}:[0-9]{2})",
        ),
        "window": Text(
            "How long it takes from the first node's turn to the last one's.",
            "a duration such as 1h30m",
            pattern=r"(?=[0-9])([0-9]{1,5}h)?([0-9]{1,5}m)?([0-9]{1,5}s)?",
        ),
        "percentage": Number(
            "How many of a hundred nodes take part; always the same ones, and more when it grows.", most=100
        ),
    },
    "Spreads a change of this document over time and nodes, so that a fleet never restarts all at once.",
    some=("start", "percentage"),
    together={"window": ("start",)},
)
_MAINTENANCE = Fields(
    {
        "paused": Flag("Nothing is changed and nothing repaired while this is true."),
        "reason": Text("For a person.", pattern=r"[^\x00-\x1f]*", most=500),
    },
    "Somebody works on the nodes by hand.",
    needed=("paused",),
)
_DIRECTORY = Fields(
    {
        "path": _path("Where it is. Folders on the way are made."),
        "protection": _PROTECTION,
        "belongsToNode": Flag("What the node's programs put into it is the node's too, and goes with it."),
        "shared": Flag("Others use it too: one that is there stays as it is."),
    },
    needed=("path",),
)
_SOURCE = Fields(
    {
        "url": Text(
            "From where.",
            "an http or https URL",
            pattern=r"https?://[^\s\x00-\x1f/?#]+[^\s\x00-\x1f]*",
            most=8_000,
        ),
        "sha256": Text(
            "What it has to hash to.", "a SHA-256 in 64 hexadecimal digits", pattern="[0-9A-Fa-f]{64}"
        ),
    },
    "Its content is downloaded, and checked.",
    needed=("url", "sha256"),
)
_FILE = Fields(
    {
        "path": _path("Where it is. Folders on the way are made."),
        "text": Text("Its content, in UTF-8."),
        "base64": _BASE64,
        "source": _SOURCE,
        "existing": Flag(
            "It has to be there already, and its protection alone is looked after.", only_true=True
        ),
        "protection": _PROTECTION,
        "until": _path("Wanted until this other file is there; then it goes: a credential for one use."),
    },
    needed=("path",),
    exactly_one=("text", "base64", "source", "existing"),
)
_ENVIRONMENT_VARIABLE = Fields(
    {
        "name": _VARIABLE,
        "value": _VALUE,
        "absent": Flag("The machine is not to have it.", only_true=True),
        "secret": Flag("Its value is never shown."),
    },
    needed=("name",),
    exactly_one=("value", "absent"),
)
_EVENT_SOURCE = Fields(
    {
        "name": Text(
            "Under which programs write to the Application log.",
            "a name without a backslash",
            pattern=r"[^\\\x00-\x1f]+",
            most=255,
        ),
        "messageFile": _path("A program that carries the texts of its events."),
    },
    needed=("name", "messageFile"),
)
_COMMAND = Fields(
    {
        "name": _name("For a person, and no other command's."),
        "text": Text("The script, in UTF-8."),
        "base64": _BASE64,
        "shell": Text("What runs it.", one_of=SHELLS),
        "mayFail": Flag("An exit code that is not 0 is no reason to take the change back."),
        "withinSeconds": _seconds("It is ended after so long.", least=1),
        "after": ListOf(
            _REFERENCE, "What has to be as wanted before. It is not run again when that changes."
        ),
    },
    "Run once, and not again unless its script becomes another. What it did is never taken back.",
    needed=("name",),
    exactly_one=("text", "base64"),
)
_SERVICE = Fields(
    {
        "name": _service_name("By which Windows knows it."),
        "program": _path("What is run."),
        "arguments": ListOf(_VALUE, "Each is handed to the program as it stands, whatever is in it."),
        "displayName": Text("For a person.", pattern=r"[^\x00-\x1f]*", most=256),
        "description": Text("For a person.", pattern=r"[^\x00]*", most=2_000),
        "start": Text("When Windows starts it.", one_of=START_TYPES),
        "dependencies": ListOf(_service_name(""), "Services that Windows has to start first.", most=50),
        "environment": MapOf(_VALUE, "Its own variables, beside the machine's.", key=_VARIABLE, most=500),
        "restart": Fields(
            {
                "afterSeconds": ListOf(
                    _seconds(""),
                    "The pause before each restart; the last counts for all later ones.",
                    least=1,
                    most=3,
                ),
                "forgivenAfterSeconds": Number(
                    "After so long without a failure the count begins anew.", most=31 * _DAY
                ),
            },
            "What Windows does when its process fails.",
            needed=("afterSeconds", "forgivenAfterSeconds"),
        ),
        "preshutdownSeconds": _seconds("How long Windows waits for it when it shuts down."),
        "running": Flag("Whether it is to run; true where nothing is said."),
        "startWithinSeconds": _seconds("A start that takes longer has failed.", least=1),
        "stopWithinSeconds": _seconds("A stop that takes longer is forced.", least=1),
        "health": Fields(
            {
                "port": Number("On loopback.", least=1, most=65_535),
                "path": Text(
                    "Answered with 200 by a program that is well.",
                    "a path such as /healthz",
                    pattern=r"/[!-~]*",
                    most=1_000,
                ),
                "withinSeconds": _seconds("It has to be well after so long.", least=1),
            },
            "How one sees that it is well.",
            needed=("port",),
        ),
        "makes": _path(
            "A file that its program writes when it has got what it needs; without it, it is not well."
        ),
        "log": _path("What it writes; its last lines are told when it does not start."),
        "reads": ListOf(
            _REFERENCE, "What its program reads when it starts: it is restarted when that changes."
        ),
    },
    needed=("name", "program"),
)

SCHEMA = Fields(
    {
        "apiVersion": Text("The version of this schema.", one_of=(API,)),
        "kind": Text(one_of=(KIND,)),
        "nodes": _NODES,
        "rollout": _ROLLOUT,
        "maintenance": _MAINTENANCE,
        "directories": ListOf(_DIRECTORY, "Folders."),
        "files": ListOf(_FILE, "Files."),
        "environmentVariables": ListOf(
            _ENVIRONMENT_VARIABLE, "Of the machine, as every program that starts later gets them."
        ),
        "services": ListOf(_SERVICE, "Windows services.", most=200),
        "eventSources": ListOf(
            _EVENT_SOURCE, "Names under which programs write to Windows' event log.", most=100
        ),
        "commands": ListOf(_COMMAND, "Somebody's own commands.", most=200),
    },
    "What a Windows node should be.",
    needed=("apiVersion", "kind"),
)

OF_THE_NODE = ("directories", "files", "environmentVariables", "services", "eventSources", "commands")
"""The fields that say what is wanted; the others say of whom, and when."""
