"""What can go wrong at the door, told apart by Win32 error code and never by a message's text.

Windows words its messages in the machine's language, so nothing may be decided by them. Both hosts raise
these classes; the sandbox gives the codes that Windows would give.
"""

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


# fmt: off
_CODES: dict[type[HostError], tuple[int, ...]] = {
    Unsupported: (
        winerror.ERROR_INVALID_FUNCTION, winerror.ERROR_NOT_SUPPORTED, winerror.ERROR_CALL_NOT_IMPLEMENTED,
        winerror.ERROR_INVALID_LEVEL,  # Wine's SCM, for info levels that it lacks
        winerror.ERROR_MOD_NOT_FOUND,  # a DLL that comes with a feature of Windows
        winerror.ERROR_PROC_NOT_FOUND,
    ),
    NotFound: (
        winerror.ERROR_FILE_NOT_FOUND, winerror.ERROR_PATH_NOT_FOUND, winerror.ERROR_SERVICE_DOES_NOT_EXIST,
        winerror.ERROR_NOT_FOUND, winerror.WBEM_E_NOT_FOUND, winerror.DISMAPI_E_UNKNOWN_FEATURE,
        winerror.HCN_E_NETWORK_NOT_FOUND, winerror.HCN_E_ENDPOINT_NOT_FOUND, winerror.CRYPT_E_NOT_FOUND,
    ),
    AccessDenied: (
        winerror.ERROR_ACCESS_DENIED, winerror.ERROR_ELEVATION_REQUIRED, winerror.ERROR_PRIVILEGE_NOT_HELD,
        winerror.WBEM_E_ACCESS_DENIED,
        winerror.ERROR_INVALID_OWNER,  # only with a privilege may a file be given to others
    ),
    InUse: (
        winerror.ERROR_SHARING_VIOLATION, winerror.ERROR_LOCK_VIOLATION, winerror.ERROR_DELETE_PENDING,
        winerror.ERROR_SERVICE_DATABASE_LOCKED, winerror.ERROR_USER_MAPPED_FILE,
    ),
    NoSpace: (winerror.ERROR_HANDLE_DISK_FULL, winerror.ERROR_DISK_FULL),
    AlreadyExists: (
        winerror.ERROR_FILE_EXISTS, winerror.ERROR_ALREADY_EXISTS, winerror.ERROR_SERVICE_EXISTS,
        winerror.ERROR_DUPLICATE_SERVICE_NAME,  # its display name is taken
        winerror.HCN_E_NETWORK_ALREADY_EXISTS, winerror.ERROR_OBJECT_ALREADY_EXISTS,  # the last: a route
    ),
    BadName: (winerror.ERROR_INVALID_NAME, winerror.ERROR_BAD_PATHNAME, winerror.ERROR_FILENAME_EXCED_RANGE),
    NotEmpty: (winerror.ERROR_DIR_NOT_EMPTY,),
    WrongKind: (
        winerror.ERROR_DIRECTORY,  # a file where a folder was meant
        winerror.ERROR_DIRECTORY_NOT_SUPPORTED,  # a folder where a file was meant
        winerror.ERROR_NOT_A_REPARSE_POINT,
    ),
    ReparsePoint: (winerror.ERROR_REPARSE_POINT_ENCOUNTERED,),
    TimedOut: (winerror.ERROR_SERVICE_REQUEST_TIMEOUT, winerror.ERROR_TIMEOUT),
    DependentsRunning: (winerror.ERROR_DEPENDENT_SERVICES_RUNNING,),
    DependencyFailed: (winerror.ERROR_SERVICE_DEPENDENCY_FAIL, winerror.ERROR_SERVICE_DEPENDENCY_DELETED),
    MarkedForDeletion: (winerror.ERROR_SERVICE_MARKED_FOR_DELETE,),
    NotAService: (winerror.ERROR_FAILED_SERVICE_CONTROLLER_CONNECT,),
    ServiceAlreadyRunning: (winerror.ERROR_SERVICE_ALREADY_RUNNING,),
    ServiceCannotAccept: (winerror.ERROR_INVALID_SERVICE_CONTROL, winerror.ERROR_SERVICE_CANNOT_ACCEPT_CTRL),
    ServiceDisabled: (winerror.ERROR_SERVICE_DISABLED,),
    ServiceNotRunning: (
        winerror.ERROR_SERVICE_NOT_ACTIVE, winerror.RPC_S_SERVER_UNAVAILABLE,
        winerror.EPT_S_NOT_REGISTERED,  # what listens for such calls is a stopped service
        0x800106BA,  # Microsoft Defender's own, of its service
    ),
    NotInstalled: (
        winerror.WBEM_E_INVALID_NAMESPACE, winerror.WBEM_E_INVALID_CLASS,
        winerror.WBEM_E_PROVIDER_LOAD_FAILURE,
    ),
    NotSigned: (
        winerror.TRUST_E_PROVIDER_UNKNOWN,  # a kind of file that has no signatures
        winerror.TRUST_E_SUBJECT_FORM_UNKNOWN, winerror.TRUST_E_NOSIGNATURE,
        winerror.CRYPT_E_FILE_ERROR,  # of what is open: too short for a program
    ),
    BadSignature: (winerror.TRUST_E_SUBJECT_NOT_TRUSTED, winerror.CERT_E_WRONG_USAGE),
    AlteredSinceSigned: (winerror.TRUST_E_BAD_DIGEST,),
    UntrustedSigner: (winerror.CERT_E_UNTRUSTEDROOT, winerror.CERT_E_CHAINING),
    SignerExpired: (winerror.CERT_E_EXPIRED,),
    SignerRevoked: (winerror.CERT_E_REVOKED, winerror.TRUST_E_EXPLICIT_DISTRUST),
}
# fmt: on
_BY_CODE = {code: kind for kind, codes in _CODES.items() for code in codes}
"""ERROR_INVALID_PARAMETER is not among them: a fault of ours, and no condition of the machine."""


def host_error(action: str, subject: str, code: int, advice: str = "") -> HostError:
    """The error whose class says what `code` means."""
    return _BY_CODE.get(code, HostError)(action, subject, code, advice)
