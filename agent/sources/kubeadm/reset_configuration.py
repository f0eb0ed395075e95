"""A ResetConfiguration: what `kubeadm reset --config` can be told."""

from collections.abc import Iterator
from dataclasses import dataclass

from agent.documents import Value, text, texts
from agent.sources import urls
from agent.sources.kubeadm import runtime_endpoint
from agent.sources.kubeadm.decoding import Kind, Reader
from agent.sources.kubeadm.schema import RESET_VERSIONS
from agent.sources.kubeadm.validation import OF_RESET, Fault, ignored_checks_faults, is_absolute
from agent.sources.report import quoted

RESET = Kind("ResetConfiguration", RESET_VERSIONS, "a reset")
_CERTIFICATES = "/etc/kubernetes/pki"
_UNMOUNT_FLAGS = ("MNT_FORCE", "MNT_DETACH", "MNT_EXPIRE", "UMOUNT_NOFOLLOW")


@dataclass(frozen=True, slots=True)
class ResetConfiguration:
    """`force` is not here: a reset never asks whether it may begin."""

    dry_run: bool = False
    ignore_preflight_errors: tuple[str, ...] = ()
    skip_phases: tuple[str, ...] = ()
    cleans_temporary_folder: bool = False
    """Also the folder where kubeadm.exe keeps what it saved and generated: C:\\etc\\kubernetes\\tmp."""


def endpoint_fault(given: str) -> str | None:
    """Return why kubeadm refuses this container runtime's endpoint; one that a join takes is none of them.

    It writes npipe:// before what begins otherwise, and refuses only what is no URL then.
    """
    if runtime_endpoint.fault(given) is None:
        return None
    whole = given if given.startswith("npipe") else f"npipe://{given}"
    url = urls.parse(whole)
    return None if url is not None and url.scheme == "npipe" else f"{quoted(given)} is no named pipe"


def endpoint_warning(given: str) -> str | None:
    """Return what is to be said of a container runtime's endpoint other than containerd's own."""
    if not given or runtime_endpoint.endpoint(given).lower() == runtime_endpoint.CONTAINERD:
        return None
    return f"{quoted(given)} has no effect here: only what containerd runs of the node's pods is ended"


def _faults(known: dict[str, Value]) -> Iterator[Fault]:
    if (socket := text(known.get("criSocket"))) and (fault := endpoint_fault(socket)):
        yield ("criSocket",), fault
    folder = text(known.get("certificatesDir"))
    if folder and not is_absolute(folder):
        yield ("certificatesDir",), f"{quoted(folder)} is no absolute path"
    for number, flag in enumerate(texts(known.get("unmountFlags"))):
        if flag not in _UNMOUNT_FLAGS:
            yield ("unmountFlags", number), f"{quoted(flag)} is none of {', '.join(_UNMOUNT_FLAGS)}"


def _own_faults(known: dict[str, Value]) -> Iterator[Fault]:
    """What a reset refuses too, unless options beside the file say otherwise."""
    yield from OF_RESET.faults(texts(known.get("skipPhases")), ("skipPhases",))
    checks = texts(known.get("ignorePreflightErrors"))
    yield from ignored_checks_faults(checks, ("ignorePreflightErrors",))


def _without_effect(known: dict[str, Value]) -> Iterator[Fault]:
    if warning := endpoint_warning(text(known.get("criSocket"))):
        yield ("criSocket",), warning
    folder = text(known.get("certificatesDir")).replace("\\", "/").rstrip("/")
    if folder and folder.lower().removeprefix("c:") != _CERTIFICATES:
        yield (
            ("certificatesDir",),
            "it has no effect here: a node's certificates are in C:\\etc\\kubernetes\\pki",
        )
    if known.get("unmountFlags"):
        yield ("unmountFlags",), "it has no effect here: Windows has no unmount flags"
    if known.get("timeouts"):
        yield ("timeouts",), "it has no effect here: a worker's reset asks the cluster for nothing"


def _configuration(known: dict[str, Value]) -> ResetConfiguration:
    return ResetConfiguration(
        known.get("dryRun") is True,
        texts(known.get("ignorePreflightErrors")),
        texts(known.get("skipPhases")),
        known.get("cleanupTmpDir") is True,
    )


read_reset = Reader(RESET, _faults, _own_faults, _without_effect, _configuration)
