"""kubelet.service of a Linux worker and the files beside it, turned into the kubelet of a Windows node."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from agent.sources.kubelet import arguments, configuration, linux_units
from agent.sources.kubelet.arguments import Arguments
from agent.sources.kubelet.command_line import NotAKubelet, kubelet_words
from agent.sources.kubelet.configuration import Configuration
from agent.sources.kubelet.decisions import About, Decision, Outcome
from agent.sources.kubelet.documents import Document, NotReadable, Value, read_document
from agent.sources.kubelet.node import Kubelet, Node
from agent.sources.report import Entry, Place, Report, Severity, bounded, quoted
from agent.sources.systemd import environment
from agent.sources.systemd.environment import Environment, Word
from agent.sources.systemd.service import EXEC_SETTINGS, Command, Service
from agent.sources.windows_paths import Reference, UnusablePath, absolute, path_on_windows

_SIZING_DROP_IN = "20-auto-sizing.conf"
_LONGEST_COMMAND_LINE = 32_000
"""Windows takes 32,767; the rest is for the kubelet's own path."""
_HAS_TO_BE_CARRIED = (
    "authentication.x509.clientCAFile", "certificate-authority", "--bootstrap-kubeconfig", "--client-ca-file",
    "--cloud-config", "--image-credential-provider-config",
)  # fmt: skip
"""Over whose file, if it is missing, the kubelet would not start."""
_KUBECONFIGS = ("--bootstrap-kubeconfig", "--kubeconfig")
_OS_RELEASE = re.compile(
    "NAME|VERSION|ID|ID_LIKE|VERSION_ID|VERSION_CODENAME|PRETTY_NAME|PLATFORM_ID|ANSI_COLOR|CPE_NAME|.*_URL"
    "|VARIANT|VARIANT_ID|BUILD_ID|OSTREE_VERSION|OPENSHIFT_VERSION|RHEL_VERSION|REDHAT_.*|LOGO|DEFAULT_HOSTNAME"
)
_LINUX = re.compile("PATH|HOME|USER|LOGNAME|SHELL|TMPDIR|LANG|LC_.*|LD_.*|XDG_.*|KUBENSMNT|NOTIFY_SOCKET")


@dataclass(frozen=True, slots=True)
class WindowsKubelet:
    """None of it is meant to be used if the report is fatal."""

    report: Report
    arguments: tuple[str, ...] = ()
    """After kubelet.exe itself."""
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Windows path and contents: the configuration, and what else had to be written anew."""
    configuration: Mapping[str, Value] = field(default_factory=dict)
    references: tuple[Reference, ...] = ()
    """Files and folders that the kubelet is told of."""
    decisions: tuple[Decision, ...] = ()


def on_windows(
    service: Service, carried: Mapping[str, bytes], node: Node, kubelet: Kubelet
) -> WindowsKubelet:
    """`carried` is what the same document writes: the Linux path and the contents of each file."""
    command, report = _command(service)
    if command is None:
        return WindowsKubelet(report)
    loaded = environment.load(service, carried)
    report += loaded.report + _missing_files(loaded)
    asked = environment.names(command.arguments)
    answers = _answers(service, loaded, asked, carried, node)
    try:
        given = kubelet_words(command.program, _expanded(command, answers.variables))
    except NotAKubelet as fault:
        return WindowsKubelet(report + Report((command.origin.error(str(fault)),)))
    made = arguments.translate(
        given, command.origin, node, kubelet, carries_bootstrap=arguments.DEFAULT_BOOTSTRAP in carried
    )
    configured, read = _configured(made, carried, node, kubelet)
    files, named, fault_of_files = _files(made, configured, carried)
    kept, environment_decisions = _kept(
        {name: variable.value for name, variable in loaded.variables.items()}, asked
    )
    words = (*made.words, *configured.flags)
    references = (*made.references, *configured.references, *named)
    report += made.report + read + configured.report + fault_of_files
    return WindowsKubelet(
        report + Report((*_not_carried(references, carried), *_too_long(words, command))),
        words,
        kept,
        files,
        configured.value,
        references,
        (
            *answers.decisions,
            *made.decisions,
            *configured.decisions,
            *environment_decisions,
            *_other_commands(service),
        ),
    )


def _command(service: Service) -> tuple[Command | None, Report]:
    commands = service.commands.get("ExecStart", ())
    place = ("Service", "ExecStart")
    if not commands:
        entry = Entry(Severity.ERROR, "there is no command that starts the kubelet", service.name, place)
        return None, Report((entry,))
    if len(commands) > 1 and service.type != "oneshot":
        message = (
            "a second command; systemd refuses such a service (an empty ExecStart= takes the first away)"
        )
        return None, Report((commands[1].origin.error(message),))
    return commands[0], Report()


def _expanded(command: Command, variables: Mapping[str, str]) -> tuple[Word, ...]:
    if command.expands_variables:
        return environment.expand(command.arguments, variables)
    return tuple(Word(argument.text, argument.unanswered) for argument in command.arguments)


def _missing_files(loaded: Environment) -> Report:
    entries = []
    for file in loaded.missing:
        if file.path not in linux_units.WRITTEN_LATER:
            message = f"the document carries no {file.path}; what it sets has no value here"
            entries.append(file.origin.entry(Severity.WARNING, message))
    return Report(tuple(entries))


def _answers(
    service: Service, loaded: Environment, asked: frozenset[str], carried: Mapping[str, bytes], node: Node
) -> linux_units.Answers:
    variables = {name: variable.value for name, variable in loaded.variables.items()}
    read = frozenset(file.path for file in service.environment_files)
    return linux_units.answer(variables, asked, read, carried, node)


def _configured(
    made: Arguments, carried: Mapping[str, bytes], node: Node, kubelet: Kubelet
) -> tuple[Configuration, Report]:
    documents, report = configuration.read_all(list(_configuration_files(made, carried, node)))
    configured = configuration.for_windows(
        documents, made.configure, node, kubelet, carries_client_ca=configuration.CLIENT_CA in carried
    )
    return configured, report


def _configuration_files(
    made: Arguments, carried: Mapping[str, bytes], node: Node
) -> Iterator[tuple[str, bytes]]:
    """The configuration and its drop-ins, in the kubelet's order: by name, folder by folder."""
    if made.configuration in carried:
        yield made.configuration, carried[made.configuration]
    if not made.drop_ins:
        return
    folder = f"{made.drop_ins}/"
    found = {path: carried[path] for path in carried if path.startswith(folder) and path.endswith(".conf")}
    if sizing := linux_units.sizing_drop_in(carried, node):
        document = {
            "apiVersion": configuration.API_VERSION,
            "kind": configuration.KIND,
            "systemReserved": sizing,
        }
        found.setdefault(folder + _SIZING_DROP_IN, json.dumps(document).encode())
    for path in sorted(found, key=lambda path: path.split("/")):
        yield path, found[path]


def _files(
    made: Arguments, configured: Configuration, carried: Mapping[str, bytes]
) -> tuple[dict[str, bytes], tuple[Reference, ...], Report]:
    """What is written anew, what the kubeconfigs among it name, and what is wrong with any of it."""
    (place,) = (each.windows for each in made.references if each.by == "--config")
    files = {place: configured.contents}
    references: list[Reference] = []
    entries: list[Entry] = []
    for reference in made.references:
        path = reference.linux
        if path not in carried:
            continue
        try:
            if path == made.credential_configuration:
                files[reference.windows] = providers_for_windows(path, carried[path])
            elif reference.by in _KUBECONFIGS:
                contents, named, faults = kubeconfig_for_windows(path, carried[path])
                if contents != carried[path]:
                    files[reference.windows] = contents
                references += named
                entries += faults
        except NotReadable as fault:
            entries.append(fault.entry)
    return files, tuple(references), bounded(entries)


def _not_carried(references: Sequence[Reference], carried: Mapping[str, bytes]) -> Iterator[Entry]:
    for reference in references:
        if reference.by in _HAS_TO_BE_CARRIED and reference.linux not in carried:
            message = f"the document does not carry {quoted(reference.linux)}, which {reference.by} names"
            advice = f"{reference.windows} has to be there already, or the kubelet does not start"
            yield Entry(Severity.WARNING, f"{message}; {advice}", "kubelet.service")


def _too_long(words: Sequence[str], command: Command) -> Iterator[Entry]:
    if sum(len(word) + 3 for word in words) > _LONGEST_COMMAND_LINE:
        message = (
            f"its flags are longer than the {_LONGEST_COMMAND_LINE} characters that Windows has room for"
        )
        yield command.origin.error(message)


def _other_commands(service: Service) -> Iterator[Decision]:
    for setting in EXEC_SETTINGS:
        if setting == "ExecStart":
            continue
        for command in service.commands.get(setting, ()):
            # Passwords and headers are among the arguments of what fetches something.
            line = command.program + _counted(len(command.arguments))
            reason = "a command for Linux; what a Windows node needs before its kubelet, wmcb does itself"
            yield Decision(About.COMMAND, setting, Outcome.DROPPED, reason, line)


def _counted(arguments: int) -> str:
    if not arguments:
        return ""
    return " and 1 argument" if arguments == 1 else f" and {arguments} arguments"


def _kept(variables: Mapping[str, str], asked: frozenset[str]) -> tuple[dict[str, str], tuple[Decision, ...]]:
    """Which variables of the unit's environment the kubelet gets on Windows, too, and each decision.

    `asked` are the variables that the command line names.
    """
    kept: dict[str, str] = {}
    decisions: list[Decision] = []
    for name in sorted(variables):
        value = variables[name]
        reason = _why_not(name, asked) or _why_the_same(name, kept)
        if reason is None:
            kept[name] = value
            reason, outcome = "the kubelet reads it on Windows, too", Outcome.KEPT
        else:
            outcome = Outcome.DROPPED
        decisions.append(Decision(About.ENVIRONMENT, name, outcome, reason))
    return kept, tuple(decisions)


def _why_not(name: str, asked: frozenset[str]) -> str | None:
    if name in linux_units.WRITTEN_BY or name in asked:
        return "it was there for the command line"
    if _LINUX.fullmatch(name):
        return "about Linux"
    if _OS_RELEASE.fullmatch(name):
        return "it describes a Linux system"
    return None


def _why_the_same(name: str, kept: Mapping[str, str]) -> str | None:
    """Capitals sort first, so it is their way to write it that stays."""
    same = [other for other in kept if other.upper() == name.upper()]
    return f"Windows does not tell it from {same[0]}" if same else None


_PATHS = (
    ("clusters", "cluster", ("certificate-authority",)),
    ("users", "user", ("client-certificate", "client-key", "tokenFile")),
)
"""List, the mapping in each of its items, and what in that is a path."""


def kubeconfig_for_windows(
    name: str, contents: bytes
) -> tuple[bytes, tuple[Reference, ...], tuple[Entry, ...]]:
    """As it is if it names no path that differs; otherwise as JSON, which is YAML too. Raises NotReadable."""
    document = read_document(name, contents)
    folder = name.rpartition("/")[0]
    references: list[Reference] = []
    entries: list[Entry] = []
    changed = False
    for place, mapping, key in _places(document):
        path = str(mapping[key])
        try:
            mapped = path_on_windows(path, folder)
        except UnusablePath as fault:
            message = f"this cannot be a path on Windows: {fault.unquoted}"
            entries.append(document.entry(Severity.ERROR, place, message))
            continue
        references.append(Reference(absolute(path, folder), mapped, key))
        changed = changed or mapped != path
        mapping[key] = mapped
    entries += _commands(document)
    if changed:
        contents = json.dumps(document.value, indent=2, ensure_ascii=False).encode() + b"\n"
    return contents, tuple(references), tuple(entries)


def _places(document: Document) -> Iterator[tuple[Place, dict[str, Value], str]]:
    for section, inside, keys in _PATHS:
        for place, mapping in _mappings(document, section, inside):
            for key in keys:
                if isinstance(mapping.get(key), str) and mapping[key]:
                    yield (*place, key), mapping, key


def _mappings(document: Document, section: str, inside: str) -> Iterator[tuple[Place, dict[str, Value]]]:
    items = document.value.get(section)
    for number, item in enumerate(items if isinstance(items, list) else ()):
        mapping = item.get(inside) if isinstance(item, dict) else None
        if isinstance(mapping, dict):
            yield (section, number, inside), mapping


def _commands(document: Document) -> Iterator[Entry]:
    """Programs that get credentials: one for Linux is of no use here."""
    for place, user in _mappings(document, "users", "user"):
        program = user.get("exec")
        command = program.get("command") if isinstance(program, dict) else None
        if isinstance(command, str) and command.startswith("/"):
            message = "a program for Linux; the kubelet gets no credentials by it"
            yield document.entry(Severity.WARNING, (*place, "exec", "command"), message)


_SUFFIX = ".exe"


def providers_for_windows(name: str, contents: bytes) -> bytes:
    """As JSON. Raises NotReadable."""
    document = read_document(name, contents)
    providers = document.value.get("providers")
    if not isinstance(providers, list):
        raise _refusal(document, ("providers",), "a list of mappings was expected")
    made = [_provider_for_windows(document, place, provider) for place, provider in enumerate(providers)]
    return json.dumps({**document.value, "providers": made}, indent=2, ensure_ascii=False).encode() + b"\n"


def _provider_for_windows(document: Document, number: int, provider: Value) -> Value:
    if not isinstance(provider, dict):
        raise _refusal(document, ("providers", number), "a mapping was expected")
    name = provider.get("name")
    if not isinstance(name, str) or not name:
        raise _refusal(document, ("providers", number, "name"), "text was expected")
    return {**provider, "name": name if name.lower().endswith(_SUFFIX) else name + _SUFFIX}


def _refusal(document: Document, place: Place, message: str) -> NotReadable:
    return NotReadable(document.entry(Severity.ERROR, place, message))
