"""The responses of the server. The client ignores fields that it does not know."""

import dataclasses
import functools
import re
import typing
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Callable, Dict, Generic, List, Literal, Mapping, Optional, Tuple, Type, TypeVar, Union

T = TypeVar("T")

Phase = Literal["pending", "running", "completed", "failed", "stopped"]
Sort = Literal["", "created", "-created", "started", "-started", "ended", "-ended", "name", "-name", "status", "-status"]
UsageKey = Literal["day", "user", "group"]
VolumePhase = Literal["Pending", "Bound", "Lost", "Failed", "Deleted"]

OVER = frozenset({"completed", "failed", "stopped"})  # the final phases of a task


@dataclass(frozen=True)
class Attempt:
    """An ended attempt of a node."""

    rank: int = 0
    attempt: int = 1
    pod: str = ""
    uid: str = ""
    created_at: Optional[datetime] = None
    max_attempts: Optional[int] = None
    host: str = ""
    exit_code: Optional[int] = None
    reason: str = ""
    message: str = ""
    output: str = ""
    free: bool = False  # the restart does not count towards max_restarts_on_errors
    started_at: Optional[datetime] = None
    finished_at: Optional[datetime] = None


@dataclass(frozen=True)
class UsedAmounts:
    """CPUs and memory."""

    cpus: float = 0
    memory_bytes: int = 0


@dataclass(frozen=True)
class Node:
    """A node of a task."""

    rank: int
    status: Phase = "pending"
    job: str = ""
    pod: str = ""
    host: str = ""
    exit_code: Optional[int] = None
    reason: str = ""
    message: str = ""
    hint: str = ""
    output: str = ""  # the last lines of a failed node
    started_at: Optional[datetime] = None
    finished_at: Optional[datetime] = None
    attempt: Optional[int] = None
    max_attempts: Optional[int] = None
    attempts: List[Attempt] = field(default_factory=list)
    max_used: Optional[UsedAmounts] = None  # once the task has completed or failed


@dataclass(frozen=True)
class Output:
    """The stored outputs of a node."""

    node: int
    bytes: int = 0  # size of the archive; 0 if there is none
    sha256: str = ""  # of the archive
    missing: List[str] = field(default_factory=list)  # paths that did not exist
    error: str = ""  # why the outputs were not stored


@dataclass(frozen=True)
class TaskMetadata:
    """The details of a task."""

    job_name: str = ""
    namespace: str = ""
    num_nodes: int = 1
    node_jobs: List[str] = field(default_factory=list)
    succeeded_nodes: int = 0
    failed_nodes: int = 0
    running_nodes: int = 0
    pending_nodes: int = 0
    user: str = ""
    group: str = ""
    job_group: str = ""
    job_group_id: str = ""  # id of the first task of the job group
    job_group_role: Literal["", "primary", "auxiliary"] = ""
    reason: str = ""  # why the task is pending or failed, in one word
    message: str = ""  # the same in a sentence
    hint: str = ""  # what to do
    position: Optional[int] = None  # among the tasks whose Jobs do not exist yet
    attempt: Optional[int] = None
    restarts: int = 0
    max_restarts: Optional[int] = None
    max_duration: str = ""
    ports: List[str] = field(default_factory=list)
    deadline: Optional[datetime] = None
    stops_at: Optional[datetime] = None  # when the server ends an auxiliary task of a job group
    nodes: List[Node] = field(default_factory=list)
    outputs: List[Output] = field(default_factory=list)
    annotations: Dict[str, str] = field(default_factory=dict)  # of the task file


@dataclass(frozen=True)
class TaskStatus:
    """The status of a task."""

    task_id: str
    name: str = ""
    status: Phase = "pending"
    created_at: Optional[datetime] = None
    updated_at: Optional[datetime] = None
    username: str = ""
    metadata: TaskMetadata = field(default_factory=TaskMetadata)

    @property
    def over(self) -> bool:
        """Whether the status is final."""
        return self.status in OVER

    @property
    def exit_code(self) -> Optional[int]:
        """The first exit code of a node that is not 0; else 0 if all nodes ended; else None."""
        codes = [n.exit_code for n in self.metadata.nodes]
        wrong = [c for c in codes if c]
        if wrong:
            return wrong[0]
        return 0 if codes and all(c == 0 for c in codes) else None

    @property
    def started_at(self) -> Optional[datetime]:
        """When the first node began to run; None before."""
        nodes = self.metadata.nodes
        times = [n.started_at for n in nodes] + [a.started_at for n in nodes for a in n.attempts]
        return min((t for t in times if t), default=None)

    @property
    def ended_at(self) -> Optional[datetime]:
        """When the last node ended, or the server ended the task; None if the task is not over."""
        times = [n.finished_at for n in self.metadata.nodes if n.finished_at]
        return (max(times) if times else self.updated_at) if self.over else None

    @property
    def duration(self) -> Optional[timedelta]:
        """The time from the start to the end of the task, or until now; None if no node began to run."""
        began = self.started_at
        return (self.ended_at or datetime.now(timezone.utc)) - began if began else None


@dataclass(frozen=True)
class Row:
    """A task in short form. Times are in seconds since 1970."""

    id: str
    name: str = ""
    user: str = ""
    status: Phase = "pending"
    created: int = 0
    nodes: int = 1
    group: str = ""
    reason: str = ""
    started: Optional[int] = None
    ended: Optional[int] = None
    gpus: str = ""
    restarts: int = 0
    point: str = ""
    exit_code: Optional[int] = None
    last_line: str = ""


@dataclass(frozen=True)
class Submitted:
    """The response to a submission."""

    task_id: str
    status: str = "submitted"
    message: str = ""
    warnings: List[str] = field(default_factory=list)


@dataclass(frozen=True)
class Finding:
    """How the server treats a field of a task file."""

    verdict: Literal["honoured", "warning", "error"]
    text: str
    field: str = ""
    line: Optional[int] = None
    task: Optional[int] = None  # number of the task in a file of several tasks, from 1


@dataclass(frozen=True)
class Preview:
    """What the server would create for a task."""

    status: str
    message: str = ""
    objects: List[Dict[str, Any]] = field(default_factory=list)
    findings: List[Finding] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)
    tasks: Optional[int] = None  # in the file, if there are several


@dataclass(frozen=True)
class FirstFailure:
    """The failed task of a group that ended first."""

    task_id: str
    name: str = ""
    reason: str = ""
    message: str = ""
    exit_code: Optional[int] = None
    ended_at: Optional[datetime] = None
    point: str = ""  # the variables of a task of a sweep


@dataclass(frozen=True)
class GroupStatus:
    """The state of a group."""

    group: str
    user: str = ""
    status: Phase = "pending"
    total: int = 0
    by_status: Dict[Phase, int] = field(default_factory=dict)
    progress: float = 0
    submitted_at: Optional[datetime] = None
    started_at: Optional[datetime] = None
    ended_at: Optional[datetime] = None
    estimated_at: Optional[datetime] = None
    first_failure: Optional[FirstFailure] = None

    @property
    def unfinished(self) -> int:
        """The number of tasks that are not over."""
        return sum(n for status, n in self.by_status.items() if status not in OVER)


@dataclass(frozen=True)
class NodeChange:
    """A node in an event."""

    rank: int
    status: Phase = "pending"
    exit_code: Optional[int] = None
    reason: str = ""


@dataclass(frozen=True)
class Event:
    """A change of a task or a volume."""

    type: Literal["phase", "progress", "restart"]
    kind: Literal["task", "volume"]
    status: Literal[Phase, VolumePhase]
    id: str = ""
    time: Optional[datetime] = None
    task_id: str = ""
    volume_id: str = ""
    name: str = ""
    user: str = ""
    group: str = ""
    reason: str = ""
    message: str = ""
    attempt: Optional[Attempt] = None
    nodes: List[NodeChange] = field(default_factory=list)
    num_nodes: Optional[int] = None
    resources: Dict[str, str] = field(default_factory=dict)
    after: List[str] = field(default_factory=list)
    annotations: Dict[str, str] = field(default_factory=dict)  # of the task

    @property
    def over(self) -> bool:
        """Whether no later event of the object follows."""
        return self.status == "Deleted" if self.kind == "volume" else self.status in OVER


@dataclass(frozen=True)
class Backlog:
    """The tasks whose Jobs do not exist yet."""

    tasks: int = 0
    tasks_per_second: float = 0
    oldest: Optional[datetime] = None


@dataclass(frozen=True)
class Summary:
    """Counts of tasks."""

    total: int
    by_status: Dict[Phase, int] = field(default_factory=dict)
    by_reason: Dict[str, int] = field(default_factory=dict)
    backlog: Backlog = field(default_factory=Backlog)
    by_user: Dict[str, Dict[Phase, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class UsageHours:
    """What the nodes of ended tasks requested, multiplied by the hours for which the nodes ran."""

    tasks: int = 0
    node_hours: float = 0
    cpu_hours: float = 0
    gpu_hours: float = 0
    memory_gib_hours: float = 0


@dataclass(frozen=True)
class UsageRow(UsageHours):
    """The usage of a day, a user or a group. What the report does not distinguish is empty."""

    day: str = ""
    user: str = ""
    group: str = ""


@dataclass(frozen=True)
class UsageReport:
    """The resources that ended tasks have used."""

    since: str
    rows: List[UsageRow] = field(default_factory=list)
    total: UsageHours = field(default_factory=UsageHours)


@dataclass(frozen=True)
class TopNode:
    """The CPUs and the memory that a node of a task uses."""

    rank: int
    status: Phase = "pending"
    pod: str = ""
    host: str = ""
    used: Optional[UsedAmounts] = None  # only while the node runs
    max_used: Optional[UsedAmounts] = None
    sampled_at: Optional[datetime] = None


@dataclass(frozen=True)
class TopTask:
    """The CPUs and the memory that the nodes of a task use."""

    task_id: str
    name: str = ""
    status: Phase = "pending"
    requested: Optional[UsedAmounts] = None  # of each node
    sampled_at: Optional[datetime] = None
    problem: str = ""  # why there are no new samples
    nodes: List[TopNode] = field(default_factory=list)


@dataclass(frozen=True)
class Amounts:
    """Resources of machines or pods."""

    cpus: float = 0
    memory_bytes: int = 0
    gpus: int = 0
    pods: int = 0


@dataclass(frozen=True)
class Resources:
    """What machines offer, and what tasks have requested of it."""

    allocatable: Amounts = field(default_factory=Amounts)
    requested: Amounts = field(default_factory=Amounts)
    free: Amounts = field(default_factory=Amounts)


@dataclass(frozen=True)
class GPUs:
    """The GPUs of one model."""

    model: str
    nodes: int = 0
    largest: int = 0
    allocatable: int = 0
    requested: int = 0
    free: int = 0
    largest_free: int = 0


@dataclass(frozen=True)
class Machine(Resources):
    """A machine of the cluster."""

    name: str = ""
    gpu: str = ""
    ready: bool = False
    schedulable: bool = False
    taint: str = ""


@dataclass(frozen=True)
class Capacity:
    """What the machines of the cluster offer."""

    known: bool
    total: Resources = field(default_factory=Resources)
    waiting: Amounts = field(default_factory=Amounts)
    gpus: List[GPUs] = field(default_factory=list)
    nodes: List[Machine] = field(default_factory=list)


@dataclass(frozen=True)
class Limits:
    """The limits of a user. None means no limit."""

    active_tasks: Optional[int] = None
    waiting_tasks: Optional[int] = None
    nodes_per_task: Optional[int] = None
    log_streams: Optional[int] = None
    submits_per_second: Optional[float] = None
    submit_burst: Optional[int] = None
    upload_bytes: Optional[int] = None


@dataclass(frozen=True)
class Usage:
    """What a user has of the limits."""

    active_tasks: int = 0
    waiting_tasks: int = 0
    log_streams: int = 0
    upload_bytes: int = 0


@dataclass(frozen=True)
class Whoami:
    """The user that the server identified."""

    user: str
    groups: List[str] = field(default_factory=list)
    admin: bool = False
    identified_by: str = ""
    limits: Limits = field(default_factory=Limits)
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class NotifySecret:
    """The secret that signs the notifications of the user."""

    secret: str


@dataclass(frozen=True)
class LoginMethod:
    """How users authenticate to the server."""

    identified_by: Literal["header", "token", "tokenreview", "oidc"]
    audience: str = ""
    issuer: str = ""
    client_id: str = ""


@dataclass(frozen=True)
class Readiness:
    """Whether a pod of the server answers, and what is degraded."""

    ready: bool
    leading: bool = False
    degraded: List[str] = field(default_factory=list)
    detail: str = ""
    reason: str = ""


@dataclass(frozen=True)
class VolumeMetadata:
    """The details of a volume."""

    pvc_name: str = ""
    namespace: str = ""
    user: str = ""
    reason: str = ""
    message: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Volume:
    """The status of a volume."""

    volume_id: str
    name: str = ""
    size: str = ""
    storage_class: Optional[str] = None
    access_modes: List[str] = field(default_factory=list)
    status: VolumePhase = "Pending"
    created_at: Optional[datetime] = None
    username: str = ""
    metadata: VolumeMetadata = field(default_factory=VolumeMetadata)


@dataclass(frozen=True)
class Executed:
    """The result of a command in a running task."""

    exit_code: int
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        """stdout as text. Bytes that are not UTF-8 are replaced."""
        return self.stdout.decode("utf-8", "replace")


@dataclass(frozen=True)
class LogLines:
    """A part of the log of one node, by the numbers of its lines."""

    lines: List[str]
    first: Optional[int]  # number of the first line, from 1; None if there is no line
    total: Optional[int]  # lines that the log has at present; None if unknown


@dataclass(frozen=True)
class Page(Generic[T]):
    """A page of a list."""

    items: List[T]
    total: Optional[int] = None  # objects on all pages; None if unknown
    next: str = ""  # cursor of the next page; empty on the last page
    stale: str = ""  # in what respect the page may be out of date, for example "log; age=3"


_TIME = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))$")


def parse_time(text: str) -> datetime:
    """Parses a time in RFC 3339 and truncates it to microseconds."""
    match = _TIME.match(text)
    if not match:
        raise ValueError(f"{text!r} is not a time in RFC 3339")
    *parts, fraction, sign, hours, minutes = match.groups()
    zone = timezone.utc
    if sign:
        offset = timedelta(hours=int(hours), minutes=int(minutes))
        zone = timezone(-offset if sign == "-" else offset)
    year, month, day, hour, minute, second = map(int, parts)
    return datetime(year, month, day, hour, minute, second, int((fraction or "0").ljust(6, "0")[:6]), zone)


_Converter = Callable[[Any], Any]


def decode(kind: Type[T], data: Mapping[str, Any]) -> T:
    """Returns the dataclass kind with the fields of data."""
    values = {}
    for name, convert in _plan(kind):
        value = data.get(name)
        if value is not None:
            values[name] = convert(value) if convert else value
    return kind(**values)


def _convert_all(convert: _Converter, values: List[Any]) -> List[Any]:
    return [convert(v) for v in values]


_plans: Dict[Any, List[Tuple[str, Optional[_Converter]]]] = {}


def _plan(kind: Any) -> List[Tuple[str, Optional[_Converter]]]:
    if kind not in _plans:
        hints = typing.get_type_hints(kind)
        _plans[kind] = [(f.name, _converter(hints[f.name])) for f in dataclasses.fields(kind)]
    return _plans[kind]


def _converter(hint: Any) -> Optional[_Converter]:
    """Returns the function that converts a value of JSON to the type hint, or None if it needs no conversion."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Union:  # only Optional
        return _converter(arguments[0])
    if origin is list:
        inner = _converter(arguments[0])
        return functools.partial(_convert_all, inner) if inner else None
    if hint is datetime:
        return parse_time
    if dataclasses.is_dataclass(hint):
        return functools.partial(decode, hint)
    return None
