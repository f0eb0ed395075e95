"""What a reset or an upgrade under kubeadm's name goes by: its configuration, and the options beside it."""

from collections.abc import Sequence

from agent.cli import join_options, options
from agent.cli.arguments import Option, Request
from agent.cli.asking import Asking, last_of, usable
from agent.cli.failure import BadInput, BadUsage
from agent.cli.given import given_file
from agent.cli.kubeadm_commands import KUBECONFIG
from agent.host.port import Host
from agent.sources.kubeadm.configurations import (
    ResetConfiguration,
    UpgradeConfiguration,
    read_reset,
    read_upgrade,
)
from agent.sources.kubeadm.validation import Phases, ignored_checks_fault

_BESIDE_CONFIG = {
    option.name
    for option in (join_options.CONFIG, join_options.SKIP_PHASES, options.DRY_RUN, options.IGNORE, KUBECONFIG)
}
"""What kubeadm takes beside --config; all else its file has to say."""


def _say_nothing(line: str) -> None:
    """The file is read again where its warnings are told."""


QUIETLY = Asking(notice=_say_nothing)


def reset_configuration(request: Request, host: Host, asking: Asking = QUIETLY) -> ResetConfiguration:
    """Return what the file behind --config says. Raises BadUsage."""
    if not request.has(join_options.CONFIG):
        return ResetConfiguration()
    document = given_file(request, join_options.CONFIG, host)
    outcome = read_reset(document.shown, document.read())
    return usable(outcome.configuration, outcome.report, asking)


def upgrade_configuration(request: Request, host: Host, asking: Asking = QUIETLY) -> UpgradeConfiguration:
    """Return what the file behind --config says. Raises BadUsage."""
    if not request.has(join_options.CONFIG):
        return UpgradeConfiguration()
    document = given_file(request, join_options.CONFIG, host)
    outcome = read_upgrade(document.shown, document.read())
    return usable(outcome.configuration, outcome.report, asking)


def refuse_beside_config(request: Request) -> None:
    """Raises BadUsage for options that cannot stand beside --config, also for switches that are off."""
    if not request.has(join_options.CONFIG) or request.command is None:
        return
    given = {*request.values, *request.off}
    faults = [
        option.misused(f": it cannot stand beside {join_options.CONFIG.name}, whose file says this")
        for option in request.command.options
        if option.name in given and option.name not in _BESIDE_CONFIG
    ]
    if faults:
        raise last_of(faults)


def _at(request: Request, field: str) -> str:
    """Return the name of a field in the file behind --config, as errors of that file have it."""
    return f"{request.value(join_options.CONFIG, '')} at $.{field}"


def _listed(request: Request, option: Option) -> list[str]:
    return [name for word in request.value(option, "").split(",") if (name := word.strip())]


def ignored_names(request: Request, of_file: Sequence[str], field: str) -> Sequence[str]:
    """Return the checks to ignore, by an option and by a `field` of a file.

    Raises BadUsage for one beside `all`.
    """
    given = _listed(request, options.IGNORE)
    names = (*of_file, *given)
    if fault := ignored_checks_fault(names):
        raise (
            options.IGNORE.misused(f": {fault}")
            if given
            else BadInput(f"{_at(request, field)}: {fault}", where=_at(request, field))
        )
    return names


def phases_to_skip(request: Request, of_file: Sequence[str], field: str, phases: Phases) -> Sequence[str]:
    """Return the phases of the option, or without it those of a `field` of the file, as kubeadm does.

    Raises BadUsage for one that cannot be skipped.
    """
    option = join_options.SKIP_PHASES.name
    given = _listed(request, join_options.SKIP_PHASES)
    where, skipped = (option, given) if given else (_at(request, field), list(of_file))
    wrong = BadUsage if given else BadInput
    for phase in skipped:
        if fault := phases.fault(phase):
            raise wrong.of(where, phase, fault)
    return skipped


def is_dry_run(request: Request, *, by_file: bool) -> bool:
    """Return whether nothing is to be changed; the option, on or off, goes before the file."""
    return request.has(options.DRY_RUN) or (by_file and not request.is_off(options.DRY_RUN))
