"""What this system refuses is told apart by its number; its words, in whatever language, decide nothing."""

from __future__ import annotations

import errno

import pytest

from agent.host.errors import AccessDenied, AlreadyExists, HostError, InUse, NoSpace, NotEmpty, NotFound
from agent.host.sandbox.failure import telling

KINDS = [
    (errno.ENOENT, 2, NotFound),
    (errno.EACCES, 5, AccessDenied),
    (errno.EBUSY, 32, InUse),
    (errno.EEXIST, 183, AlreadyExists),
    (errno.ENOSPC, 112, NoSpace),
    (errno.ENOTEMPTY, 145, NotEmpty),
    (errno.EIO, 31, HostError),
]
# Of another error each, so that whoever goes by a text goes astray.
TEXTS = {
    "empty": "",
    "missing": "No such file or directory",
    "denied": "Permission denied",
    "there": "File exists",
    "full": "No space left on device",
    "not empty": "Directory not empty",
    "German": "Datei oder Verzeichnis nicht gefunden",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize(("number", "code", "kind"), KINDS, ids=lambda each: getattr(each, "__name__", None))
def test_the_number_alone_decides(number: int, code: int, kind: type[HostError], text: str) -> None:
    with pytest.raises(HostError) as told, telling("read", "a file"):
        raise OSError(number, text)
    assert (type(told.value), told.value.code) == (kind, code)
