"""What can go wrong at the door, told apart by Win32 error code and never by a message's text.

Windows words its messages in the machine's language, so nothing may be decided by them. Both hosts raise
these classes; the sandbox gives the codes that Windows would give.
"""

from __future__ import annotations

from agent.host import winerror


class HostError(Exception):
    """The machine refused or failed something. Shown to a person as one line."""

    meaning = "Windows refused"

    def __init__(self, action: str, subject: str, code: int, advice: str = "") -> None:
        """`action` is a verb in the infinitive, `subject` what it was done to; `advice` says what to do."""
        super().__init__(action, subject, code, advice)
        self.action = action
        self.subject = subject
        self.code = code
        self.advice = advice

    def __str__(self) -> str:
        # An HRESULT is known by its hexadecimal form only.
        code = self.code if self.code < 1 << 16 else f"{self.code:#010x}"
        line = f"cannot {self.action} {self.subject}: {self.meaning} (Windows error {code})"
        return f"{line}; {self.advice}" if self.advice else line


class NotFound(HostError):
    """No such file, folder, registry key, service, process, network or route."""

    meaning = "it does not exist"


class AlreadyExists(HostError):
    """Something of that name is there."""

    meaning = "it already exists"


class AccessDenied(HostError):
    """The caller lacks a right or a privilege."""

    meaning = "access is denied"


class InUse(HostError):
    """Somebody holds it open: a running program, an editor, a virus scanner."""

    meaning = "another program has it open"


class ProgramRunning(InUse):
    """A program runs from the file: that doesn't pass in a moment."""

    meaning = "a program is running from it"


class NoSpace(HostError):
    """The volume is full."""

    meaning = "the disk is full"


class BadName(HostError):
    """A name that Windows cannot have, or that it would take for another."""

    meaning = "Windows cannot have such a name"


class NoAnswer(NotFound):
    """Nobody listens at a port of this machine, or whoever does hangs up or speaks no HTTP."""

    meaning = "nobody answers there"


class NotInstalled(HostError):
    """A part of Windows that this machine does not have."""

    meaning = "this Windows does not have it"


class BadCommand(HostError):
    """A command line that would not reach its program as it stands."""

    meaning = "its command would not reach the program word for word"


class NotEmpty(HostError):
    """A folder, or a key of the registry, that still holds something."""

    meaning = "it is not empty"


class WrongKind(HostError):
    """A folder where a file was meant, or a file where a folder was meant."""

    meaning = "it is not of the expected kind"


class ReparsePoint(HostError):
    """A link, junction or mount point on the way: whoever made it decides where the path leads."""

    meaning = "there is a link or junction on the way"


class Unsupported(HostError):
    """This Windows does not know the question (an info level, a function)."""

    meaning = "this version of Windows does not support it"


class MarkedForDeletion(HostError):
    """A deleted service that lives until the last handle to it is closed."""

    meaning = "the service is marked for deletion until every program that has it open closes it"


class ServiceNotRunning(HostError):
    """A control for a service that isn't running."""

    meaning = "the service is not running"


class ServiceAlreadyRunning(HostError):
    """A start of a service that runs."""

    meaning = "the service is already running"


class ServiceDisabled(HostError):
    """A start of a service that is disabled."""

    meaning = "the service, or one that it depends on, is disabled"


class ServiceCannotAccept(HostError):
    """A control that the service does not take in its present state."""

    meaning = "the service cannot take that request in its present state"


class DependencyFailed(HostError):
    """A service that this one depends on did not start, or does not exist."""

    meaning = "a service that it depends on is missing or did not start"


class DependentsRunning(HostError):
    """A stop of a service on which running ones depend."""

    meaning = "running services depend on it"


class NotAService(HostError):
    """The service dispatcher was called by a program that the SCM didn't start."""

    meaning = "the service control manager did not start this program"


class ServiceFailed(HostError):
    """A service that was to run has stopped, or its process is gone."""

    meaning = "the service stopped"


class TimedOut(HostError):
    """It did not happen within its limit."""

    meaning = "it took too long"


class NotSigned(HostError):
    """No signature, or none in the file itself."""

    meaning = "it is not signed"


class BadSignature(HostError):
    """A signature that Windows does not vouch for."""

    meaning = "Windows does not vouch for its signature"


class AlteredSinceSigned(BadSignature):
    """TRUST_E_BAD_DIGEST."""

    meaning = "it was changed after it had been signed"


class UntrustedSigner(BadSignature):
    """CERT_E_UNTRUSTEDROOT, CERT_E_CHAINING."""

    meaning = "nobody that this machine trusts vouches for its signer"


class SignerExpired(BadSignature):
    """CERT_E_EXPIRED."""

    meaning = "its signer's certificate has expired, and no timestamp says that it was signed before"


class SignerRevoked(BadSignature):
    """CERT_E_REVOKED, TRUST_E_EXPLICIT_DISTRUST."""

    meaning = "its signer's certificate is not to be trusted any more"


_BY_CODE: dict[int, type[HostError]] = {
    winerror.ERROR_INVALID_FUNCTION: Unsupported,
    winerror.ERROR_FILE_NOT_FOUND: NotFound,
    winerror.ERROR_PATH_NOT_FOUND: NotFound,
    winerror.ERROR_ACCESS_DENIED: AccessDenied,
    winerror.ERROR_SHARING_VIOLATION: InUse,
    winerror.ERROR_LOCK_VIOLATION: InUse,
    winerror.ERROR_HANDLE_DISK_FULL: NoSpace,
    winerror.ERROR_NOT_SUPPORTED: Unsupported,
    winerror.ERROR_FILE_EXISTS: AlreadyExists,
    winerror.ERROR_INVALID_PARAMETER: HostError,  # a fault of ours: no condition of the machine
    winerror.ERROR_DISK_FULL: NoSpace,
    winerror.ERROR_CALL_NOT_IMPLEMENTED: Unsupported,
    winerror.ERROR_INVALID_NAME: BadName,
    winerror.ERROR_INVALID_LEVEL: Unsupported,  # Wine's SCM, for info levels that it lacks
    winerror.ERROR_MOD_NOT_FOUND: Unsupported,  # a DLL that comes with a feature of Windows
    winerror.ERROR_PROC_NOT_FOUND: Unsupported,
    winerror.ERROR_DIR_NOT_EMPTY: NotEmpty,
    winerror.ERROR_BAD_PATHNAME: BadName,
    winerror.ERROR_ALREADY_EXISTS: AlreadyExists,
    winerror.ERROR_FILENAME_EXCED_RANGE: BadName,
    winerror.ERROR_DIRECTORY: WrongKind,  # a file where a folder was meant
    winerror.ERROR_DELETE_PENDING: InUse,
    winerror.ERROR_DIRECTORY_NOT_SUPPORTED: WrongKind,  # a folder where a file was meant
    winerror.ERROR_ELEVATION_REQUIRED: AccessDenied,
    winerror.ERROR_DEPENDENT_SERVICES_RUNNING: DependentsRunning,
    winerror.ERROR_INVALID_SERVICE_CONTROL: ServiceCannotAccept,
    winerror.ERROR_SERVICE_REQUEST_TIMEOUT: TimedOut,
    winerror.ERROR_SERVICE_DATABASE_LOCKED: InUse,
    winerror.ERROR_SERVICE_ALREADY_RUNNING: ServiceAlreadyRunning,
    winerror.ERROR_SERVICE_DISABLED: ServiceDisabled,
    winerror.ERROR_SERVICE_DOES_NOT_EXIST: NotFound,
    winerror.ERROR_SERVICE_CANNOT_ACCEPT_CTRL: ServiceCannotAccept,
    winerror.ERROR_SERVICE_NOT_ACTIVE: ServiceNotRunning,
    winerror.ERROR_FAILED_SERVICE_CONTROLLER_CONNECT: NotAService,
    winerror.ERROR_SERVICE_DEPENDENCY_FAIL: DependencyFailed,
    winerror.ERROR_SERVICE_MARKED_FOR_DELETE: MarkedForDeletion,
    winerror.ERROR_SERVICE_EXISTS: AlreadyExists,
    winerror.ERROR_SERVICE_DEPENDENCY_DELETED: DependencyFailed,
    winerror.ERROR_DUPLICATE_SERVICE_NAME: AlreadyExists,  # its display name is taken
    winerror.ERROR_NOT_FOUND: NotFound,
    winerror.ERROR_USER_MAPPED_FILE: InUse,
    winerror.ERROR_INVALID_OWNER: AccessDenied,  # only with a privilege may a file be given to others
    winerror.ERROR_PRIVILEGE_NOT_HELD: AccessDenied,
    winerror.RPC_S_SERVER_UNAVAILABLE: ServiceNotRunning,
    winerror.EPT_S_NOT_REGISTERED: ServiceNotRunning,  # what listens for such calls is a stopped service
    winerror.ERROR_TIMEOUT: TimedOut,
    winerror.ERROR_NOT_A_REPARSE_POINT: WrongKind,
    winerror.ERROR_REPARSE_POINT_ENCOUNTERED: ReparsePoint,
    winerror.ERROR_OBJECT_ALREADY_EXISTS: AlreadyExists,  # a route
    0x800106BA: ServiceNotRunning,  # Microsoft Defender's own, of its service
    winerror.WBEM_E_NOT_FOUND: NotFound,
    winerror.WBEM_E_ACCESS_DENIED: AccessDenied,
    winerror.WBEM_E_INVALID_NAMESPACE: NotInstalled,
    winerror.WBEM_E_INVALID_CLASS: NotInstalled,
    winerror.WBEM_E_PROVIDER_LOAD_FAILURE: NotInstalled,
    winerror.DISMAPI_E_UNKNOWN_FEATURE: NotFound,
    winerror.HCN_E_NETWORK_NOT_FOUND: NotFound,
    winerror.HCN_E_ENDPOINT_NOT_FOUND: NotFound,
    winerror.HCN_E_NETWORK_ALREADY_EXISTS: AlreadyExists,
    winerror.TRUST_E_PROVIDER_UNKNOWN: NotSigned,  # a kind of file that has no signatures
    winerror.TRUST_E_SUBJECT_FORM_UNKNOWN: NotSigned,
    winerror.TRUST_E_SUBJECT_NOT_TRUSTED: BadSignature,
    winerror.TRUST_E_NOSIGNATURE: NotSigned,
    winerror.CERT_E_EXPIRED: SignerExpired,
    winerror.CERT_E_UNTRUSTEDROOT: UntrustedSigner,
    winerror.CERT_E_CHAINING: UntrustedSigner,
    winerror.CERT_E_REVOKED: SignerRevoked,
    winerror.CERT_E_WRONG_USAGE: BadSignature,
    winerror.TRUST_E_EXPLICIT_DISTRUST: SignerRevoked,
    winerror.CRYPT_E_NOT_FOUND: NotFound,
    winerror.TRUST_E_BAD_DIGEST: AlteredSinceSigned,
    winerror.CRYPT_E_FILE_ERROR: NotSigned,  # of what is open: too short for a program
}


def host_error(action: str, subject: str, code: int, advice: str = "") -> HostError:
    """The error whose class says what `code` means."""
    return _BY_CODE.get(code, HostError)(action, subject, code, advice)
