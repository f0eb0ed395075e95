"""The program that writes a service's log, as wmcb.exe carries it (packaging/exe/log-runner)."""

from pathlib import PureWindowsPath

from agent.release import bundled_file

NAME = "wmcb-log.exe"
OF_KUBERNETES = "kube-log-runner.exe"
_ROTATES_SINCE = 34
"""The minor release of Kubernetes 1 whose kube-log-runner bounds what it writes."""

LARGEST_BYTES = 100_000_000
LONGEST_HOURS = 7 * 24
MOST_FILES = 5
ARGUMENTS_FROM = "--arguments-from="
"""Before the path of a file with more arguments of the program."""
AS_SERVICE = "--as-service"
"""In the place of a program that is no service."""


def program() -> bytes | None:
    """The whole wmcb-log.exe; None where this is Python from source, which carries none."""
    return bundled_file(NAME)


def arguments(log: PureWindowsPath, more: PureWindowsPath | None = None) -> tuple[str, ...]:
    """What stands between wmcb-log.exe and the whole path of the program whose log it is to write.

    Of the file `more` the program gets, at each start, what KUBELET_KUBEADM_ARGS says there: a backslash is
    one, quotes hold a word together, and a file that is not there is none. But for that and the number of
    files these are also kube-log-runner's options, which has known them since Kubernetes 1.34.
    """
    reading = (f"{ARGUMENTS_FROM}{more}",) if more else ()
    return (*rotated(log, LARGEST_BYTES, LONGEST_HOURS, MOST_FILES), *reading, "--")


def rotated(log: PureWindowsPath, largest_bytes: int, longest_hours: int, most_files: int) -> tuple[str, ...]:
    """The options of a log that is left when it is so large or so old, and of which so many are kept."""
    return (
        f"--log-file={log}",
        f"--log-file-size={largest_bytes}",
        f"--log-file-age={longest_hours}h",
        f"--log-file-count={most_files}",
    )


def arguments_of_kubernetes(log: PureWindowsPath, minor: int) -> tuple[str, ...]:
    """The same for kube-log-runner of that minor release; an unknown flag would end it at once."""
    rotation = (f"--log-file-size={LARGEST_BYTES}", f"--log-file-age={LONGEST_HOURS}h")
    return (f"--log-file={log}", *(rotation if minor >= _ROTATES_SINCE else ()), "--")
