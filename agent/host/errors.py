"""What can go wrong at the door, told apart by Win32 error code and never by a message's text.

Windows words its messages in the machine's language, so nothing may be decided by them. Both hosts raise
these classes; the sandbox gives the codes that Windows would give.
"""

from __future__ import annotations


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
    1: Unsupported,  # INVALID_FUNCTION
    2: NotFound,  # FILE_NOT_FOUND
    3: NotFound,  # PATH_NOT_FOUND
    5: AccessDenied,
    32: InUse,  # SHARING_VIOLATION
    33: InUse,  # LOCK_VIOLATION
    39: NoSpace,  # HANDLE_DISK_FULL
    50: Unsupported,  # NOT_SUPPORTED
    80: AlreadyExists,  # FILE_EXISTS
    87: HostError,  # INVALID_PARAMETER is a fault of ours: no condition of the machine
    112: NoSpace,  # DISK_FULL
    120: Unsupported,  # CALL_NOT_IMPLEMENTED
    123: BadName,  # INVALID_NAME
    124: Unsupported,  # INVALID_LEVEL: Wine's SCM, for info levels that it lacks
    126: Unsupported,  # MOD_NOT_FOUND: a DLL that comes with a feature of Windows
    127: Unsupported,  # PROC_NOT_FOUND
    145: NotEmpty,  # DIR_NOT_EMPTY
    161: BadName,  # BAD_PATHNAME
    183: AlreadyExists,
    206: BadName,  # FILENAME_EXCED_RANGE
    267: WrongKind,  # DIRECTORY: a file where a folder was meant
    303: InUse,  # DELETE_PENDING
    336: WrongKind,  # DIRECTORY_NOT_SUPPORTED: a folder where a file was meant
    740: AccessDenied,  # ELEVATION_REQUIRED
    1051: DependentsRunning,
    1052: ServiceCannotAccept,  # INVALID_SERVICE_CONTROL
    1053: TimedOut,  # SERVICE_REQUEST_TIMEOUT
    1055: InUse,  # SERVICE_DATABASE_LOCKED
    1056: ServiceAlreadyRunning,
    1058: ServiceDisabled,
    1060: NotFound,  # SERVICE_DOES_NOT_EXIST
    1061: ServiceCannotAccept,
    1062: ServiceNotRunning,
    1063: NotAService,  # FAILED_SERVICE_CONTROLLER_CONNECT
    1068: DependencyFailed,
    1072: MarkedForDeletion,
    1073: AlreadyExists,  # SERVICE_EXISTS
    1075: DependencyFailed,  # SERVICE_DEPENDENCY_DELETED
    1078: AlreadyExists,  # DUPLICATE_SERVICE_NAME: its display name is taken
    1168: NotFound,  # ERROR_NOT_FOUND
    1224: InUse,  # USER_MAPPED_FILE
    1307: AccessDenied,  # INVALID_OWNER: only with a privilege may a file be given to others
    1314: AccessDenied,  # PRIVILEGE_NOT_HELD
    1722: ServiceNotRunning,  # RPC_S_SERVER_UNAVAILABLE
    1753: ServiceNotRunning,  # EPT_S_NOT_REGISTERED: what listens for such calls is a service that is stopped
    4390: WrongKind,  # NOT_A_REPARSE_POINT
    4395: ReparsePoint,  # REPARSE_POINT_ENCOUNTERED
    5010: AlreadyExists,  # OBJECT_ALREADY_EXISTS: a route
    0x800106BA: ServiceNotRunning,  # Microsoft Defender's own, of its service
    0x80041002: NotFound,  # WBEM_E_NOT_FOUND
    0x80041003: AccessDenied,  # WBEM_E_ACCESS_DENIED
    0x8004100E: NotInstalled,  # WBEM_E_INVALID_NAMESPACE
    0x80041010: NotInstalled,  # WBEM_E_INVALID_CLASS
    0x80041013: NotInstalled,  # WBEM_E_PROVIDER_LOAD_FAILURE
    0x800F080C: NotFound,  # DISMAPI_E_UNKNOWN_FEATURE
    0x803B0001: NotFound,  # HCN_E_NETWORK_NOT_FOUND
    0x803B0002: NotFound,  # HCN_E_ENDPOINT_NOT_FOUND
    0x803B0010: AlreadyExists,  # HCN_E_NETWORK_ALREADY_EXISTS
    0x800B0001: NotSigned,  # TRUST_E_PROVIDER_UNKNOWN: a kind of file that has no signatures
    0x800B0003: NotSigned,  # TRUST_E_SUBJECT_FORM_UNKNOWN
    0x800B0004: BadSignature,  # TRUST_E_SUBJECT_NOT_TRUSTED
    0x800B0100: NotSigned,  # TRUST_E_NOSIGNATURE
    0x800B0101: SignerExpired,  # CERT_E_EXPIRED
    0x800B0109: UntrustedSigner,  # CERT_E_UNTRUSTEDROOT
    0x800B010A: UntrustedSigner,  # CERT_E_CHAINING
    0x800B010C: SignerRevoked,  # CERT_E_REVOKED
    0x800B0110: BadSignature,  # CERT_E_WRONG_USAGE
    0x800B0111: SignerRevoked,  # TRUST_E_EXPLICIT_DISTRUST
    0x80092004: NotFound,  # CRYPT_E_NOT_FOUND
    0x80096010: AlteredSinceSigned,  # TRUST_E_BAD_DIGEST
    0x80092003: NotSigned,  # CRYPT_E_FILE_ERROR, of what is open: too short for a program
}


def host_error(action: str, subject: str, code: int, advice: str = "") -> HostError:
    """The error whose class says what `code` means."""
    return _BY_CODE.get(code, HostError)(action, subject, code, advice)
