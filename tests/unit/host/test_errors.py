from __future__ import annotations

import errno

import pytest

from agent.host import errors
from agent.host.errors import HostError, host_error
from agent.host.sandbox.failure import telling

KINDS = [
    (errors.Unsupported, [1, 50, 120, 124]),
    (errors.NotFound, [2, 3, 1060]),
    (errors.AccessDenied, [5, 1307, 1314]),
    (errors.InUse, [32, 33, 303, 1055, 1224]),
    (errors.NoSpace, [39, 112]),
    (errors.AlreadyExists, [80, 183, 1073, 1078]),
    (errors.BadName, [123, 161, 206]),
    (errors.NotEmpty, [145]),
    (errors.WrongKind, [267, 336]),
    (errors.ReparsePoint, [4395]),
    (errors.DependentsRunning, [1051]),
    (errors.ServiceCannotAccept, [1052, 1061]),
    (errors.TimedOut, [1053]),
    (errors.ServiceAlreadyRunning, [1056]),
    (errors.ServiceDisabled, [1058]),
    (errors.ServiceNotRunning, [1062, 1722, 1753]),
    (errors.NotAService, [1063]),
    (errors.DependencyFailed, [1068, 1075]),
    (errors.MarkedForDeletion, [1072]),
    (HostError, [87, 31, 999_999]),
]


@pytest.mark.parametrize(("kind", "code"), [(kind, code) for kind, codes in KINDS for code in codes])
def test_the_code_decides(kind: type[HostError], code: int) -> None:
    error = host_error("read", "C:\\x", code)
    assert (type(error), error.code) == (kind, code)


@pytest.mark.parametrize(
    ("advice", "line"),
    [
        ("", "cannot read C:\\x: it does not exist (Windows error 2)"),
        ("make it", "cannot read C:\\x: it does not exist (Windows error 2); make it"),
    ],
    ids=["plain", "with-advice"],
)
def test_a_person_reads_one_line(advice: str, line: str) -> None:
    assert str(host_error("read", "C:\\x", 2, advice)) == line


def test_every_kind_says_what_it_means() -> None:
    kinds = {kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, HostError)}
    assert len({kind.meaning for kind in kinds}) == len(kinds)


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.ENOENT, errors.NotFound),
        (errno.EACCES, errors.AccessDenied),
        (errno.ENOSPC, errors.NoSpace),
        (errno.ENOTEMPTY, errors.NotEmpty),
        (errno.EEXIST, errors.AlreadyExists),
        (errno.ENAMETOOLONG, errors.BadName),
        (errno.EIO, HostError),
    ],
)
@pytest.mark.parametrize(
    "text",
    ["", "Permission denied", "Datei oder Verzeichnis nicht gefunden", "ディスクがいっぱい"],
    ids=ascii,
)
def test_no_text_of_this_system_decides(number: int, kind: type[HostError], text: str) -> None:
    with pytest.raises(HostError) as told, telling("read", "C:\\x"):
        raise OSError(number, text)
    assert type(told.value) is kind
