"""Windows services, commands, event sources, and programs in HostProcess containers."""

import re
from collections.abc import Iterator, Mapping
from pathlib import PureWindowsPath

from agent import log_runner
from agent.documents import Value, items, mapping, number, text, texts
from agent.sources.forms import Checking, Fields, Flag, ListOf, MapOf, Number, Text
from agent.sources.node_configuration.kinds import values
from agent.sources.node_configuration.kinds.values import Given, Kind, several
from agent.sources.node_configuration.model import LOG_RUNNER
from agent.sources.report import Place
from agent.spec import Command, EventSource, HealthCheck, Restart, Service, Shell, StartType, Want
from agent.spec.networks import ForeignEndpoint
from agent.spec.services import ContainerProgram

_VARIABLE_OF_WINDOWS = re.compile("%[^%=]+%")
_ARGUMENTS_BEHIND = re.compile(r"\.exe\s", re.IGNORECASE)
_OWN_SERVICE = "wmcb"
_MEGABYTE = 1_000_000
_START_TYPES = {each.name.lower(): each for each in StartType}

_SERVICE = Fields(
    {
        "name": values.service_name_form("By which Windows knows it."),
        "program": values.path_form("What is run."),
        "arguments": ListOf(
            values.ANY_TEXT, "Each is handed to the program as it stands, whatever is in it."
        ),
        "displayName": Text("For a person.", pattern=r"[^\x00-\x1f]*", most=256),
        "description": Text("For a person.", pattern=r"[^\x00]*", most=2_000),
        "start": Text("When Windows starts it.", one_of=tuple(_START_TYPES)),
        "dependencies": ListOf(
            values.service_name_form(""), "Services that Windows has to start first.", most=50
        ),
        "environment": MapOf(
            values.ANY_TEXT, "Its own variables, beside the machine's.", key=values.VARIABLE, most=500
        ),
        "restart": Fields(
            {
                "afterSeconds": ListOf(
                    values.seconds_form(""),
                    "The pause before each restart; the last counts for all later ones.",
                    least=1,
                    most=3,
                ),
                "forgivenAfterSeconds": Number(
                    "After so long without a failure the count begins anew.", most=31 * values.DAY
                ),
            },
            "What Windows does when its process fails.",
            needed=("afterSeconds", "forgivenAfterSeconds"),
        ),
        "preshutdownSeconds": values.seconds_form("How long Windows waits for it when it shuts down."),
        "running": Flag("Whether it is to run; true where nothing is said."),
        "startWithinSeconds": values.seconds_form("A start that takes longer has failed.", least=1),
        "stopWithinSeconds": values.seconds_form("A stop that takes longer is forced.", least=1),
        "health": Fields(
            {
                "port": Number("On loopback.", least=1, most=65_535),
                "path": Text(
                    "Answered with 200 by a program that is well.",
                    "a path such as /healthz",
                    pattern=r"/[!-~]*",
                    most=1_000,
                ),
                "withinSeconds": values.seconds_form("It has to be well after so long.", least=1),
            },
            "How one sees that it is well.",
            needed=("port",),
        ),
        "makes": values.path_form(
            "A file that its program writes when it has got what it needs; without it, it is not well."
        ),
        "log": values.path_form("What it writes; its last lines are told when it does not start."),
        "output": Fields(
            {
                "path": values.path_form("The file, in a folder that is there."),
                "largestMegabytes": Number("So large it is left, and another begun.", least=1, most=10_000),
                "longestHours": Number("So old it is left.", least=1, most=10_000),
                "files": Number("So many that were left are kept.", least=1, most=1_000),
            },
            "A file for what the program says, which is the log, too; left after 100 MB or 168 hours, and the"
            r" last 5 are kept, where nothing is said. wmcb-log.exe in C:\k, which prepare and a join bring,"
            " runs the program and writes it: where the document has that, reads has to name it.",
            needed=("path",),
        ),
        "console": Flag(
            "Its program knows nothing of services: wmcb-log.exe is the service. It needs output.",
            only_true=True,
        ),
        "hostEndpoints": ListOf(
            values.name_form(""),
            "The machine's own endpoints that its program makes in networks of HNS, as cbr0_ep. One that is"
            " left of a lost network is removed, since the program makes no other beside it.",
            most=20,
        ),
        "reads": ListOf(
            values.REFERENCE, "What its program reads when it starts: it is restarted when that changes."
        ),
        "restartsWith": ListOf(
            values.service_name_form(""),
            "Services, also of Windows, that forget what its program told them when they start anew, as hns"
            " forgets a proxy's load balancers: it is restarted after them.",
            most=50,
        ),
    },
    needed=("name", "program"),
)


def _service(checking: Checking, given: Given, place: Place) -> Service:
    start = _START_TYPES[text(given.get("start")) or "automatic"]
    running = given.get("running") is not False
    if running and start is StartType.DISABLED:
        checking.wrong((*place, "start"), "a disabled service cannot run; say running: false as well")
    _check_command(checking, given, place)
    _check_output(checking, given, place)
    name = text(given["name"])
    if name.lower() == _OWN_SERVICE:
        checking.wrong(
            (*place, "name"), "this is the service that does all this; the command daemon install changes it"
        )
    program, arguments = PureWindowsPath(text(given["program"])), texts(given.get("arguments"))
    log = values.path(given, "log")
    if "output" in given:
        log, arguments = _written(given, program, arguments)
        program = LOG_RUNNER
    return Service(
        name,
        program,
        arguments,
        text(given.get("displayName")),
        text(given.get("description")),
        start,
        texts(given.get("dependencies")),
        {name: text(value) for name, value in mapping(given.get("environment")).items()},
        _restart(given),
        number(given["preshutdownSeconds"], 0.0) if "preshutdownSeconds" in given else None,
        running,
        number(given.get("startWithinSeconds"), 60.0),
        number(given.get("stopWithinSeconds"), 60.0),
        _health(given),
        values.path(given, "makes"),
        log,
        tuple(values.references(given.get("reads"))),
        texts(given.get("restartsWith")),
    )


def _written(
    given: Given, program: PureWindowsPath, arguments: tuple[str, ...]
) -> tuple[PureWindowsPath, tuple[str, ...]]:
    """The log, and what the runner is given."""
    output = mapping(given["output"])
    log = PureWindowsPath(text(output["path"]))
    options = log_runner.rotated(
        log,
        int(number(output.get("largestMegabytes"), log_runner.LARGEST_BYTES / _MEGABYTE)) * _MEGABYTE,
        int(number(output.get("longestHours"), log_runner.LONGEST_HOURS)),
        int(number(output.get("files"), log_runner.MOST_FILES)),
    )
    as_service = (log_runner.AS_SERVICE,) if given.get("console") else ()
    return log, (*as_service, *options, "--", str(program), *arguments)


def _check_output(checking: Checking, given: Given, place: Place) -> None:
    if "output" in given and "log" in given:
        checking.wrong((*place, "log"), "output says it already; leave one of the two out")
    if "console" in given and "output" not in given:
        checking.wrong((*place, "console"), "without output nobody is the service in its place; give one")
    if "output" in given:
        values.own_path(checking, mapping(given["output"]), (*place, "output"))


def _check_command(checking: Checking, given: Given, place: Place) -> None:
    program = text(given["program"])
    words: dict[Place, str] = {("program",): program}
    words |= {("arguments", at): word for at, word in enumerate(texts(given.get("arguments")))}
    if "output" in given:
        words["output", "path"] = text(mapping(given["output"])["path"])
    for where, word in words.items():
        if _VARIABLE_OF_WINDOWS.search(word):
            message = (
                "Windows would take what stands between two percent signs for a variable; leave them out"
            )
            checking.wrong((*place, *where), message)
    if '"' in program:
        checking.wrong((*place, "program"), "a path has no quotes; arguments have a list of their own")
    elif _ARGUMENTS_BEHIND.search(program.rpartition("\\")[2]):
        checking.wrong((*place, "program"), "it is a path alone; put what follows .exe into arguments")


def _restart(given: Given) -> Restart | None:
    if "restart" not in given:
        return None
    restart = mapping(given["restart"])
    pauses = tuple(number(pause, 0.0) for pause in items(restart["afterSeconds"]))
    return Restart(pauses, int(number(restart["forgivenAfterSeconds"], 0)))


def _health(given: Given) -> HealthCheck | None:
    if "health" not in given:
        return None
    health = mapping(given["health"])
    return HealthCheck(
        int(number(health["port"], 0)),
        text(health.get("path")) or "/healthz",
        number(health.get("withinSeconds"), 60.0),
    )


def _services(checking: Checking, value: Value, place: Place) -> Iterator[tuple[Want, Place]]:
    for at, given in enumerate(map(mapping, items(value))):
        here = (*place, at)
        yield _service(checking, given, here), here
        if "hostEndpoints" in given:
            program = PureWindowsPath(text(given["program"])).name
            for index, endpoint in enumerate(texts(given["hostEndpoints"])):
                yield ForeignEndpoint(endpoint, program), (*here, "hostEndpoints", index)


_SHELLS = {"cmd": Shell.CMD, "powershell": Shell.POWERSHELL}

_COMMAND = Fields(
    {
        "name": values.name_form("For a person, and no other command's."),
        "text": Text("The script, in UTF-8."),
        "base64": values.BASE64,
        "shell": Text("What runs it.", one_of=tuple(_SHELLS)),
        "mayFail": Flag("An exit code that is not 0 is no reason to take the change back."),
        "withinSeconds": values.seconds_form("It is ended after so long.", least=1),
        "after": ListOf(
            values.REFERENCE, "What has to be as wanted before. It is not run again when that changes."
        ),
    },
    "Run once, and not again unless its script becomes another. What it did is never taken back.",
    needed=("name",),
    exactly_one=("text", "base64"),
)


def _command(checking: Checking, given: Given, place: Place) -> Command:
    return Command(
        text(given["name"]),
        values.content(checking, given, place),
        _SHELLS[text(given.get("shell")) or "cmd"],
        given.get("mayFail") is True,
        number(given.get("withinSeconds"), 3600.0),
        tuple(values.references(given.get("after"))),
    )


_EVENT_SOURCE = Fields(
    {
        "name": Text(
            "Under which programs write to the Application log.",
            "a name without a backslash",
            pattern=r"[^\\\x00-\x1f]+",
            most=255,
        ),
        "messageFile": values.path_form("A program that carries the texts of its events."),
    },
    needed=("name", "messageFile"),
)


def _event_source(checking: Checking, given: Given, place: Place) -> EventSource:  # noqa: ARG001 - nothing of it can be wrong
    return EventSource(text(given["name"]), PureWindowsPath(text(given["messageFile"])))


_MADE = Fields(
    {
        "network": values.name_form("Its name, as cbr0 or flannel.4096."),
        "hostEndpoint": values.name_form(
            "The machine's own endpoint that the program makes in it, as cbr0_ep. One that is left of a lost"
            " network is removed, since the program makes no other beside it."
        ),
    },
    needed=("network",),
)
_PROGRAM = Fields(
    {
        "name": Text(
            "Of its file. Only what runs in a container of containerd's is ever ended.",
            "the name of a program such as kube-proxy.exe",
            pattern=r"[A-Za-z0-9][-A-Za-z0-9._]*\.exe",
            most=100,
        ),
        "makes": ListOf(
            _MADE, "HNS networks that it makes when it starts; it is ended when one is lost.", most=20
        ),
        "needs": ListOf(
            values.name_form(""),
            "HNS networks that have to be there when it starts; it is ended when one was made anew, and they"
            " are waited for before.",
            most=20,
        ),
    },
    needed=("name",),
)


def _container_programs(checking: Checking, value: Value, place: Place) -> Iterator[tuple[Want, Place]]:
    for at, given in enumerate(map(mapping, items(value))):
        here, name = (*place, at), text(given["name"])
        made = [mapping(each) for each in items(given.get("makes"))]
        makes, needs = tuple(text(each["network"]) for each in made), texts(given.get("needs"))
        if both := sorted(set(makes).intersection(needs)):
            checking.wrong((*here, "needs"), f"it makes {', '.join(both)} itself")
        yield ContainerProgram(name, makes, tuple(needs)), here
        for index, each in enumerate(made):
            if "hostEndpoint" in each:
                there = (*here, "makes", index, "hostEndpoint")
                yield ForeignEndpoint(text(each["hostEndpoint"]), name), there


KINDS: Mapping[str, Kind] = {
    "services": Kind(ListOf(_SERVICE, "Windows services.", most=200), _services),
    "commands": several(ListOf(_COMMAND, "Somebody's own commands.", most=200), _command),
    "eventSources": several(
        ListOf(_EVENT_SOURCE, "Names under which programs write to Windows' event log.", most=100),
        _event_source,
    ),
    "containerPrograms": Kind(
        ListOf(
            _PROGRAM,
            "Programs in HostProcess containers, as DaemonSets bring kube-proxy and Flannel, that tell HNS"
            " what it forgets. When it has started anew the resident service ends their processes, so that"
            " the kubelet starts their containers anew.",
            most=20,
        ),
        _container_programs,
    ),
}
