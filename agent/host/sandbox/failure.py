"""What this system refuses, told with the code that Windows would give."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from agent.host import winerror
from agent.host.errors import host_error

# fmt: off
_CODES = {
    errno.ENOENT: 2, errno.EACCES: 5, errno.EPERM: 5, errno.ETXTBSY: 5, errno.EROFS: 19, errno.EBUSY: 32,
    errno.EEXIST: 183, errno.ENOSPC: 112, errno.EDQUOT: 112, errno.ENOTEMPTY: 145, errno.ENAMETOOLONG: 206,
    errno.ENOEXEC: 193, errno.ENOTDIR: 267, errno.ESRCH: 87,
}
# fmt: on


@contextmanager
def telling(action: str, subject: object) -> Iterator[None]:
    """What fails inside is told as: cannot `action` `subject`."""
    try:
        yield
    except OSError as failure:
        known = getattr(failure, "winerror", None) or _CODES.get(failure.errno or 0)
        advice = "" if known else str(failure)
        raise host_error(action, str(subject), known or winerror.ERROR_GEN_FAILURE, advice) from failure
