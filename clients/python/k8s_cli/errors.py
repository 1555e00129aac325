"""The errors of the client.

Every error is an `Error`. An `ApiError` is a response of the server with a status other than 2xx;
its class is the reason in the response. The class of a specific reason is a subclass of the class
of the general reason: `except errors.NotFound` also catches a `TaskNotFound`. An unknown reason of
a newer server has the class of the general reason of its status.
"""

from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Type

from .models import GroupStatus, TaskStatus


class Error(Exception):
    """The base of all errors of the client."""

    status: int = 0  # HTTP status; 0 if there was no response
    reason: str = ""  # one word for programs: of the server or the task, or else the name of the class
    field: str = ""  # path of the wrong field, or name of the wrong parameter or header
    task_id: str = ""  # id of the task that the error is about

    def __init__(self, detail: str, field: str = "") -> None:
        super().__init__(detail)
        self.detail = detail  # a sentence for people
        self.field = field

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.reason = cls.__name__

    def __reduce__(self) -> Tuple[Any, ...]:
        """Lets an error pass from a process to another one: the constructors take more than args."""
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: Type["Error"], args: Tuple[Any, ...], attributes: Dict[str, Any]) -> "Error":
    error: Error = (OSError if issubclass(kind, OSError) else Exception).__new__(kind, *args)  # as the layout requires
    error.args = args
    error.__dict__.update(attributes)
    return error


class ArgumentInvalid(Error, ValueError, TypeError):
    """An argument of a method is of the wrong type, or has a value that the method does not accept."""


class ConnectionFailed(Error, ConnectionError):
    """The server could not be reached, or the connection broke."""

    def __init__(self, detail: str, broke: bool = False, late: bool = False) -> None:
        super().__init__(detail)
        self.broke = broke  # the connection broke after it was established
        self.late = late  # the response did not arrive in time


class WrongAnswer(Error, ValueError):
    """The response is about another object than the request, or is not what an API server of k8s-cli sends: something
    between the client and the server mixes up connections, or the URL is that of another server."""


class LogBroken(Error):
    """A log broke off, and the client could not resume it. The task may still run."""


class SessionBroken(Error):
    """A session in a task ended before its command. The command may still run."""


class NotLoggedIn(Error):
    """The machine has no credentials for the server."""


class CredentialsUnusable(Error):
    """The stored credentials cannot be read, or must not be sent to the server."""


class TaskUnusable(Error, ValueError):
    """The client cannot submit the task, for example because a local file does not exist."""


class TaskFileNotFound(TaskUnusable, FileNotFoundError):
    """The task file does not exist."""


class FilesExist(Error, FileExistsError):
    """A download would overwrite a file."""


class WaitTimeout(Error, TimeoutError):
    """The task or the group was not over when the timeout of `wait` ended."""

    def __init__(self, detail: str, task: Optional[TaskStatus] = None, group: Optional[GroupStatus] = None) -> None:
        super().__init__(detail)
        self.task, self.group = task, group  # the status of the task or of the group
        if task:
            self.task_id, self.reason = task.task_id, task.metadata.reason


class TaskFailed(Error):
    """The task failed or was stopped. `wait(check=True)` raises this error."""

    def __init__(self, detail: str, task: TaskStatus) -> None:
        super().__init__(detail)
        self.task = task  # the status of the task
        self.task_id, self.reason = task.task_id, task.metadata.reason


class GroupFailed(Error):
    """A task of the group failed or was stopped. `wait(check=True)` raises this error."""

    def __init__(self, detail: str, group: GroupStatus) -> None:
        super().__init__(detail)
        self.group = group  # the state of the group


class BatchFailed(Error):
    """Tasks of a batch were not submitted. `jobs` has None in the place of each of these tasks."""

    def __init__(self, jobs: Sequence[Any], errors: Mapping[int, Error], group: Any = None) -> None:
        first = min(errors)
        said = f"{len(errors)} of {len(jobs)} tasks were not submitted; task {first + 1}: {errors[first].detail}"
        super().__init__(said)  # counts from 1, as the server does
        self.jobs = jobs
        self.errors = errors  # the error of each of these tasks by its index
        self.group = group  # the Group of the tasks that were submitted, for example to stop them; None without a group


class ApiError(Error):
    """A response with a status other than 2xx."""

    def __init__(
        self,
        detail: str,
        status: int,
        reason: str = "",
        field: str = "",
        retry_after: float = 0,
        request_id: str = "",
        findings: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.reason = reason
        self.field = field
        self.retry_after = retry_after  # seconds; 0 without the header Retry-After
        self.request_id = request_id  # id of the request in the log of the server
        self.findings = findings  # how the server treats each field of a task file; only of previews


class Malformed(ApiError):
    """The header or the body cannot be read, for example because the body is not JSON (400)."""


class ChecksumMismatch(Malformed):
    """The SHA-256 of the archive is not the one in the URL."""


class Unauthorized(ApiError):
    """The server rejects the credentials (401)."""


class CredentialsMissing(Unauthorized):
    """The request has no credentials."""


class ProxyNotTrusted(Unauthorized):
    """Only trusted proxies may set `X-User`."""


class Forbidden(ApiError):
    """The user may not do this (403)."""


class AdministratorRequired(Forbidden):
    """Only administrators may name other users."""


class OriginNotAllowed(Forbidden):
    """A page of another site sent the request."""


class NotFound(ApiError):
    """The object does not exist (404)."""


class RouteNotFound(NotFound):
    """The server has no such route."""


class TaskNotFound(NotFound):
    """The user has no task with this id, or the task has left the history."""


class VolumeNotFound(NotFound):
    """The user has no volume with this id."""


class GroupNotFound(NotFound):
    """The user has no task in a group of this name, or all its tasks have left the history."""


class UploadNotFound(NotFound):
    """The user has no such archive."""


class LogNotFound(NotFound):
    """The server did not keep the log of this attempt, or not these lines."""


class OutputsNotFound(NotFound):
    """The server has no outputs of this node; the status of the task says why."""


class SubmissionNotFound(NotFound):
    """The server no longer has the task as submitted."""


class MethodNotAllowed(ApiError):
    """The route has other methods (405)."""


class RequestTimeout(ApiError):
    """The request did not arrive in time (408)."""


class Conflict(ApiError):
    """The request conflicts with an object or with an earlier request (409)."""


class KeyReused(Conflict):
    """The `Idempotency-Key` belongs to a request with another body."""


class VolumeInUse(Conflict):
    """Tasks use the volume."""


class UploadMissing(Conflict):
    """An archive of the task is not on the server."""


class Gone(ApiError):
    """The requested data has expired (410)."""


class EventsExpired(Gone):
    """The events after this id have expired."""


class TooLarge(ApiError):
    """The body is too large (413)."""


class UnsupportedMediaType(ApiError):
    """The server does not read this `Content-Type` or `Content-Encoding` (415)."""


class HostNotAllowed(ApiError):
    """The name in `Host` is unknown (421)."""


class Invalid(ApiError):
    """A value is invalid (422)."""


class UnknownField(Invalid):
    """No field has this name."""


class UnsupportedField(Invalid):
    """SkyPilot has this field, and the server does not support the field."""


class NotAllowed(Invalid):
    """The configuration of the server does not allow this value."""


class FeatureDisabled(Invalid):
    """The configuration of the server turns this feature off."""


class UpgradeRequired(ApiError):
    """The route needs a WebSocket (426)."""


class LimitReached(ApiError):
    """The user has reached a limit, and nothing was stored (429)."""


class HeaderTooLarge(ApiError):
    """The header of the request is too large (431)."""


class InternalError(ApiError):
    """The server failed (500)."""


class Unavailable(ApiError):
    """A dependency of the server is unavailable (503)."""


class Starting(Unavailable):
    """This pod of the server is starting or stopping."""


class LogUnavailable(Unavailable):
    """The command log accepts no commands at present, and nothing was stored."""


class LogFull(Unavailable):
    """The command log is nearly full and accepts only stops and deletions."""


class OutcomeUnknown(Unavailable):
    """The server may have stored the command."""


class PodBusy(Unavailable):
    """This pod of the server has reached its own limit."""


class VersionNotSupported(ApiError):
    """The server does not support this version of HTTP (505)."""


def _subclasses(of: Type[ApiError]) -> Dict[str, Type[ApiError]]:
    found = {}
    for each in of.__subclasses__():
        found[each.__name__] = each
        found.update(_subclasses(each))
    return found


REASONS: Mapping[str, Type[ApiError]] = _subclasses(ApiError)

_GENERAL: Mapping[int, Type[ApiError]] = {
    400: Malformed,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    408: RequestTimeout,
    409: Conflict,
    410: Gone,
    413: TooLarge,
    415: UnsupportedMediaType,
    421: HostNotAllowed,
    422: Invalid,
    429: LimitReached,
    431: HeaderTooLarge,
    500: InternalError,
    503: Unavailable,
    505: VersionNotSupported,
}


def api_error(
    status: int, body: Mapping[str, Any], fallback: str = "", retry_after: float = 0, request_id: str = ""
) -> ApiError:
    """Returns the error of a response, or of a failed item of a batch."""
    reason = str(body.get("reason", ""))
    kind: Type[ApiError] = REASONS.get(reason, _GENERAL.get(status, ApiError))
    return kind(
        detail=str(body.get("detail") or fallback),
        status=status,
        reason=reason,
        field=str(body.get("field", "")),
        retry_after=retry_after,
        request_id=request_id,
        findings=body.get("findings") or (),
    )


def is_unavailable(err: Optional[BaseException]) -> bool:
    """Reports whether a later attempt may succeed."""
    return isinstance(err, ConnectionFailed) or isinstance(err, ApiError) and err.status in (429, 503)
