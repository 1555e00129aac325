"""Tasks to submit."""

import codecs
import json
import os
import re
import shutil
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, TypedDict, Union

from . import _pack, _yaml
from .errors import ArgumentInvalid, TaskFileNotFound, TaskUnusable

Scalar = Union[str, int, float, bool, None]
if TYPE_CHECKING:
    from typing_extensions import Unpack  # type checkers know the module without an installation

REDACTED = "<redacted>"  # in place of the values of secrets
POINT = "k8s-cli/point"  # the annotation with the point of a sweep
_MAX_POINT = 256  # bytes
_MAX_ANNOTATIONS, _MAX_ANNOTATIONS_SIZE = 64, 4096  # limits of the server: number, and bytes as JSON


class _RareFields(TypedDict, total=False):
    """Fields that few tasks have."""

    event_callback: str
    ephemeral_volumes: Mapping[str, Any]
    git: Mapping[str, str]
    sub_paths: Mapping[str, str]
    uploads: Mapping[str, str]


class OtherFields(_RareFields, total=False):
    """The keywords of Task but envs and secrets."""

    run: Optional[str]
    name: Optional[str]
    setup: Optional[str]
    num_nodes: Optional[int]
    workdir: Union[str, "os.PathLike[str]", Mapping[str, str], None]
    file_mounts: Optional[Mapping[str, Union[str, "os.PathLike[str]", Mapping[str, Any]]]]
    volumes: Optional[Mapping[str, Any]]
    resources: Optional[Mapping[str, Any]]
    cpus: Union[str, int, float, None]
    memory: Union[str, int, float, None]
    accelerators: Union[str, int, Mapping[str, int], None]
    image_id: Optional[str]
    max_duration: Optional[str]
    outputs: Optional[Sequence[str]]
    annotations: Optional[Mapping[str, str]]
    config: Optional[Mapping[str, Any]]


class TaskFields(OtherFields, total=False):
    """The keywords of Task, for type checkers. At run time, the server reports unknown fields."""

    envs: Optional[Mapping[str, Scalar]]
    secrets: Optional[Mapping[str, Scalar]]


class _Field:
    """A field of a task as an attribute; None if the task does not have the field."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, task: Optional["Task"], owner: Optional[type] = None) -> Any:
        return self if task is None else task.fields.get(self._name)

    def __set__(self, task: "Task", value: Any) -> None:
        task.fields[self._name] = value
        if value is None:
            del task.fields[self._name]


class Task:
    """A task: the fields of a task file.

    The fields are keywords, a dict (`from_dict`), or the YAML text of a task file (`from_yaml`, `from_file`). `cpus`,
    `memory`, `accelerators` and `image_id` are fields of `resources`. Tasks with equal fields are equal.
    """

    run, setup, num_nodes, workdir, envs, secrets = _Field(), _Field(), _Field(), _Field(), _Field(), _Field()
    file_mounts, volumes, resources, max_duration = _Field(), _Field(), _Field(), _Field()
    outputs, annotations, config = _Field(), _Field(), _Field()

    def __init__(
        self,
        run: Optional[str] = None,
        *,
        name: Optional[str] = None,
        setup: Optional[str] = None,
        num_nodes: Optional[int] = None,
        workdir: Union[str, "os.PathLike[str]", Mapping[str, str], None] = None,
        envs: Optional[Mapping[str, Scalar]] = None,
        secrets: Optional[Mapping[str, Scalar]] = None,
        file_mounts: Optional[Mapping[str, Union[str, "os.PathLike[str]", Mapping[str, Any]]]] = None,
        volumes: Optional[Mapping[str, Any]] = None,
        resources: Optional[Mapping[str, Any]] = None,
        cpus: Union[str, int, float, None] = None,
        memory: Union[str, int, float, None] = None,
        accelerators: Union[str, int, Mapping[str, int], None] = None,
        image_id: Optional[str] = None,
        max_duration: Optional[str] = None,
        outputs: Optional[Sequence[str]] = None,
        annotations: Optional[Mapping[str, str]] = None,
        config: Optional[Mapping[str, Any]] = None,
        **fields: "Unpack[_RareFields]",
    ) -> None:
        self.yaml: Optional[str] = None  # the text of the task file
        request = {"cpus": cpus, "memory": memory, "accelerators": accelerators, "image_id": image_id}
        merged = {**(resources or {}), **{k: v for k, v in request.items() if v is not None}}
        known: Dict[str, Any] = {
            "name": name,
            "num_nodes": num_nodes,
            "workdir": os.fspath(workdir) if isinstance(workdir, os.PathLike) else workdir,
            "resources": merged or None,
            "envs": envs,
            "secrets": secrets,
            "file_mounts": {k: os.fspath(v) if isinstance(v, os.PathLike) else v for k, v in file_mounts.items()} if file_mounts else None,
            "volumes": volumes,
            "config": config,
            "max_duration": max_duration,
            "outputs": list(outputs) if outputs else None,
            "annotations": annotations,
            "setup": setup,
            "run": run,
        }
        self._fields: Optional[Dict[str, Any]] = {k: v for k, v in {**known, **fields}.items() if v is not None}

    @property
    def fields(self) -> Dict[str, Any]:
        """The fields of the task. The error is TaskUnusable for YAML text if PyYAML is not installed."""
        if self._fields is None:
            self._fields = _yaml.one(self.yaml or "")
        return self._fields

    @fields.setter
    def fields(self, fields: Dict[str, Any]) -> None:
        self._fields = fields

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Task":
        """Returns the task with the fields of a task file."""
        task = cls()
        task._fields = dict(fields)
        return task

    @classmethod
    def from_yaml(cls, text: str) -> "Task":
        """Returns the task of the text of a task file.

        If PyYAML is not installed, only the server parses the text: the client then uploads no files for the task, and
        cannot change the task or submit it in a batch. The error is TaskUnusable for text with several documents.
        """
        task = cls()
        task.yaml, task._fields = text, None
        task.parsed()
        return task

    @classmethod
    def from_file(cls, path: Union[str, "os.PathLike[str]"]) -> "Task":
        """Returns the task of a task file, as from_yaml."""
        return cls.from_yaml(read(path))

    @classmethod
    def of(cls, task: "TaskLike", fields: Optional[Mapping[str, Any]] = None) -> "Task":
        """Returns the task that the argument of a method means: a task, a dict, or a command."""
        if task is None:
            return cls(**(fields or {}))
        if isinstance(task, str):
            if re.fullmatch(r"\S+\.ya?ml", task):
                raise ArgumentInvalid(f"{task!r} would be a command; for a task file, pass Task.from_file({task!r})")
            if "\n" in task and re.search(r"^(run|resources):(\s|$)", task, re.MULTILINE):
                raise ArgumentInvalid("the text of a task file would be a command; pass Task.from_yaml(text)")
            if "run" in (fields or {}):
                raise ArgumentInvalid("run: the command is given twice, as the first argument and as run=", "run")
            return cls(task, **(fields or {}))
        if fields:
            raise ArgumentInvalid("give either a task or its fields, not both; Task.with_fields replaces fields of a task")
        if isinstance(task, Task):
            return task
        if not isinstance(task, Mapping):
            raise ArgumentInvalid(f"a task is a Task, a dict of its fields, or its command, and not {task!r}")
        return cls.from_dict(task)

    @property
    def name(self) -> str:
        """The name of the task; empty if the task has none, or if the client cannot read the task."""
        return str((self.parsed() or {}).get("name") or "")

    def parsed(self) -> Optional[Dict[str, Any]]:
        """Returns the fields, or None if only the server can parse the text of the task."""
        try:
            return self.json()
        except _yaml.Unreadable:
            if _yaml.has_several(self.yaml or ""):
                raise _yaml.several() from None
            return None

    def is_text(self, fields: Mapping[str, Any]) -> bool:
        """Reports whether these fields are those of the text of the task."""
        return self.yaml is not None and _yaml.one(self.yaml) == fields

    def with_envs(self, envs: Mapping[str, Any]) -> "Task":
        """Returns the task with more environment variables."""
        return self._with_values("envs", envs)

    def with_secrets(self, secrets: Mapping[str, Any]) -> "Task":
        """Returns the task with more secrets."""
        return self._with_values("secrets", secrets)

    def _with_values(self, name: str, values: Mapping[str, Any]) -> "Task":
        fields = self.json()
        merged = {**(fields.get(name) or {}), **{k: _scalar(v) for k, v in values.items()}}
        return Task.from_dict({**fields, **({name: merged} if merged else {})})

    def store_point(self, point: Mapping[str, Any]) -> None:
        """Stores the point of a sweep in an annotation, unless the annotations have no room for it."""
        text = " ".join(f"{name}={value}" for name, value in point.items()).encode("utf-8", "replace")
        annotations = {POINT: text[:_MAX_POINT].decode("utf-8", "ignore"), **(self.fields.get("annotations") or {})}
        if len(annotations) <= _MAX_ANNOTATIONS and len(json.dumps(annotations)) <= _MAX_ANNOTATIONS_SIZE:
            self.fields["annotations"] = annotations

    def with_fields(self, **fields: "Unpack[TaskFields]") -> "Task":
        """Returns the task with other values of fields, given as the keywords of Task.

        Fields of resources are replaced one by one, in each alternative (`any_of`, `ordered`).
        """
        changes, merged = Task(**fields).fields, self.json()
        resources = changes.pop("resources", {})
        merged.update(changes)
        if "workdir" in changes or "git" in changes:  # in place of the files that an earlier submission uploaded
            merged["uploads"] = {k: v for k, v in (merged.get("uploads") or {}).items() if k != _pack.WORKDIR}
            if not merged["uploads"]:
                del merged["uploads"]
        if resources:
            merged["resources"] = _alternatives(merged.get("resources") or {}, resources)
        return Task.from_dict(merged)

    def json(self) -> Dict[str, Any]:
        """Returns a copy of the fields. The error is TaskUnusable for YAML text if PyYAML is not installed."""
        return dict(self.fields)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Task):
            return NotImplemented
        if self._fields is None and other._fields is None and self.yaml == other.yaml:
            return True
        fields = self.parsed()
        return fields is not None and fields == other.parsed()

    def __repr__(self) -> str:
        if self.yaml is not None:
            return f"<Task of {len(self.yaml)} characters of YAML>"
        shown = {k: v for k, v in self.fields.items() if k != "secrets"}
        if self.fields.get("secrets"):
            shown["secrets"] = {k: REDACTED for k in self.fields["secrets"]}
        return f"Task.from_dict({shown!r})"


def _alternatives(resources: Mapping[str, Any], changes: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns resources with changes in each alternative."""
    lists = {k: [{**a, **changes} for a in resources[k]] for k in ("any_of", "ordered") if resources.get(k)}
    return {**resources, **(lists or changes)}


TaskLike = Union[Task, Mapping[str, Any], str, None]


def read(path: Union[str, "os.PathLike[str]"]) -> str:
    """Returns the text of a task file. PowerShell writes UTF-16."""
    try:
        with open(path, "rb") as file:
            raw = file.read()
        return raw.decode("utf-16" if raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig")
    except FileNotFoundError:
        raise TaskFileNotFound(f"the task file {os.fspath(path)} does not exist") from None
    except (OSError, UnicodeDecodeError) as err:
        raise TaskUnusable(f"cannot read the task file {os.fspath(path)}: {err}") from err


class TaskFile(NamedTuple):
    """The content of a task file."""

    tasks: List[Task]
    several: bool = False  # the file is a pipeline or a job group
    parallel: bool = False  # the file is a job group
    name: str = ""  # of the first document without a task; empty without such a document
    primary: Sequence[str] = ()  # names of the primary tasks of the job group; empty means all
    termination_delay: Union[str, Mapping[str, str]] = ""


_HEADER = {"name", "execution", "primary_tasks", "termination_delay"}  # fields of a first document without a task


def taskfile(text: str) -> TaskFile:
    """Reads a task file, which may have several documents."""
    try:
        documents = _yaml.documents(text)
    except _yaml.Unreadable:
        if _yaml.has_several(text) and not _yaml.installed():
            raise
        return TaskFile([Task.from_yaml(text)])
    if len(documents) < 2:
        return TaskFile([Task.from_yaml(text)])
    header: Dict[str, Any] = documents.pop(0) if documents[0] and _HEADER.issuperset(documents[0]) else {}
    tasks = [Task.from_dict(d) for d in documents]
    execution, primary = header.get("execution") or "serial", header.get("primary_tasks")
    if execution not in ("serial", "parallel"):
        raise TaskUnusable(f"execution: {execution!r} is not serial or parallel", "execution")
    parallel, name = execution == "parallel", str(header.get("name") or "")
    for field in ("primary_tasks", "termination_delay"):
        if header.get(field) is not None and not parallel:
            raise TaskUnusable(f"{field}: is valid only with execution: parallel", field)
    if parallel and not name:
        raise TaskUnusable("name: a job group needs a name; add name beside execution", "name")
    if primary is not None and (not isinstance(primary, list) or not primary):
        raise TaskUnusable("primary_tasks: must be a list of the names of tasks, for example [trainer]", "primary_tasks")
    delay = header.get("termination_delay")
    delays: Union[str, Dict[str, str]] = {k: str(v) for k, v in delay.items()} if isinstance(delay, dict) else str(delay or "")
    return TaskFile(tasks, True, parallel, name, [str(p) for p in primary or ()], delays)


def check(tasks: Iterable[Mapping[str, Any]], way: str = "with_{}({{{}}})") -> None:
    """Raises an error if a variable of a task has no value. way says how to add values to a section."""
    missing: Dict[str, Dict[str, None]] = {"envs": {}, "secrets": {}}
    for fields in tasks:
        for section, found in missing.items():
            values = fields.get(section)
            found.update({n: None for n, v in values.items() if v is None} if isinstance(values, Mapping) else {})
    names = [f"{section}.{name}" for section, found in missing.items() for name in found]
    if names:
        ways = [way.format(s, ", ".join(f"{name!r}: ..." for name in found)) for s, found in missing.items() if found]
        needs = "a value; add it" if len(names) == 1 else "values; add them"
        raise TaskUnusable(f"{', '.join(names)}: the task needs {needs} with {' and '.join(ways)}", names[0])


def _scalar(value: Any) -> Scalar:
    return value if value is None or isinstance(value, (str, int, float, bool)) else str(value)


class Item(NamedTuple):
    """A task of a batch."""

    task: Union[Task, Mapping[str, Any], str]
    key: str = ""  # idempotency key, by which other items can name the task; empty for a key of its own
    group: str = ""
    after: Sequence[Any] = ()  # ids, keys or jobs that must complete before the task starts
    after_any: Sequence[Any] = ()  # ids, keys or jobs that must end before the task starts
    max_parallel: int = 0  # the task waits while so many tasks of its group are active; 0 means no limit
    fail_fast: bool = False  # if the task fails, the server stops the other tasks of its group
    job_group: str = ""  # name of the job group that all tasks of the batch form; needs atomic
    auxiliary: bool = False  # the job group does not wait for the task, and ends it
    termination_delay: str = ""  # how long an auxiliary task goes on after the primary tasks, for example 30s


def names(predecessors: Union[str, Iterable[Any], Any]) -> List[str]:
    """Returns the ids or keys of tasks, given as jobs, ids or keys."""
    if predecessors is None:
        return []
    if isinstance(predecessors, str) or hasattr(predecessors, "id"):
        predecessors = [predecessors]
    if not isinstance(predecessors, Iterable):
        raise ArgumentInvalid(f"after: {predecessors!r} is neither a job, nor an id, nor a list of jobs or ids")
    return [str(getattr(p, "id", p)) for p in predecessors]


def grid(axes: Mapping[str, Iterable[Any]]) -> List[Dict[str, Any]]:
    """Returns one dict for each combination of values. The last variable changes first. A text or a number is one value."""
    points: List[Dict[str, Any]] = [{}]
    for name, values in axes.items():
        all_values = [values] if isinstance(values, (str, int, float)) else list(values)
        points = [{**p, name: v} for p in points for v in all_values]
    return points


class Packer:
    """Packs the local files that tasks name, each of them once."""

    def __init__(self, limit: int) -> None:
        self.limit = limit  # largest archive in bytes; 0 while unknown
        self._by_source: Dict[Tuple[str, ...], _pack.Archive] = {}
        self.skipped: List[str] = []

    @property
    def archives(self) -> Dict[str, _pack.Archive]:
        """The archives by SHA-256."""
        return {a.sha256: a for a in self._by_source.values()}

    def pack(self, fields: Mapping[str, Any]) -> Dict[str, Any]:
        """Returns the fields of a task with uploads in place of local files and directories."""
        fields = dict(fields)
        uploads: Dict[str, str] = dict(fields.get("uploads") or {})
        workdir, git, envs = fields.get("workdir"), fields.pop("git", None), fields.get("envs") or {}
        if isinstance(workdir, Mapping):
            git = workdir
        if git:
            url, ref = (expanded(str(git.get(name) or ""), envs) for name in ("url", "ref"))
            uploads[_pack.WORKDIR] = self._repository(url, ref)
            fields["workdir"] = _pack.WORKDIR
        elif isinstance(workdir, str) and _pack.WORKDIR not in uploads and _pack.is_local(expanded(workdir, envs)):
            uploads[_pack.WORKDIR] = self._path("workdir", expanded(workdir, envs))
            fields["workdir"] = _pack.WORKDIR
        buckets: Dict[str, Any] = {}
        for target, source in sorted((fields.pop("file_mounts", None) or {}).items()):
            field = f"file_mounts.{target}"
            local = local_files(target, source, envs)
            if not isinstance(source, str):  # a bucket, which the server checks, and which gets the files
                buckets[target] = {k: v for k, v in source.items() if k != "source"} if local else source
            elif not local:
                buckets[target] = source
            for place, path in local.items():
                if place in uploads:
                    raise TaskUnusable(f"{field}: another entry also writes to {place}")
                uploads[place] = self._path(field, path)
        if buckets:
            fields["file_mounts"] = buckets
        if uploads:
            fields["uploads"] = uploads
        return fields

    def _path(self, field: str, source: str) -> str:
        path = os.path.abspath(_pack.expand(source))
        if (path,) not in self._by_source:
            try:
                archive = _pack.pack(path, self.limit, reuse=True)
            except FileNotFoundError as err:
                raise TaskUnusable(f"{field}: {err.filename} does not exist on this machine", field) from err
            except OSError as err:
                raise TaskUnusable(f"{field}: cannot read {err.filename or path}: {err.strerror}", field) from err
            self._by_source[(path,)] = archive
            self.skipped += [f"{field}: skipped {name}, which is not a file, directory or link" for name in archive.skipped]
        return self._by_source[(path,)].sha256

    def _repository(self, url: str, ref: str) -> str:
        if (url, ref) not in self._by_source:
            directory = _pack.checkout(url, ref)
            try:
                self._by_source[(url, ref)] = _pack.pack(directory, self.limit, tracked=True, changed=_pack.commit_time(directory))
            finally:
                shutil.rmtree(directory, ignore_errors=True)
        return self._by_source[(url, ref)].sha256

    def packed(self, sha256: str) -> _pack.Archive:
        """Returns an archive with its file."""
        source, archive = next((s, a) for s, a in self._by_source.items() if a.sha256 == sha256)
        if not archive.path:
            archive = _pack.pack(source[0], self.limit)
            if archive.sha256 != sha256:
                archive.remove()
                raise TaskUnusable(f"{source[0]} changed during the submission; submit the task again")
            self._by_source[source] = archive
        return archive

    def close(self) -> None:
        """Removes the archives from this machine."""
        for archive in self._by_source.values():
            archive.remove()


def has_files(fields: Mapping[str, Any]) -> bool:
    """Reports whether a task names files on this machine or a repository."""
    workdir = fields.get("workdir")
    envs = fields.get("envs") or {}
    if any(local_files(target, source, envs) for target, source in (fields.get("file_mounts") or {}).items()):
        return True
    if fields.get("git") or isinstance(workdir, Mapping):
        return True
    if not isinstance(workdir, str) or _pack.WORKDIR in (fields.get("uploads") or {}):
        return False
    return _pack.is_local(expanded(workdir, envs))


def local_files(target: str, source: Any, envs: Mapping[str, Any]) -> Dict[str, str]:
    """Returns the local paths of an entry of file_mounts by their path in a container; none for a bucket without files."""
    if isinstance(source, str):
        path = expanded(source, envs)
        return {} if "://" in path else {_pack.target_of(target, path): path}
    source = source.get("source") if isinstance(source, Mapping) else None
    paths = [expanded(str(path), envs) for path in (source if isinstance(source, list) else [source] if source else [])]
    if any("://" in path for path in paths):
        return {}
    place = _pack.target_of(target.rstrip("/"), "")
    return {f"{place}/{os.path.basename(os.path.normpath(p))}" if isinstance(source, list) else place: p for p in paths}


def expanded(path: str, envs: Mapping[str, Any]) -> str:
    """Returns a local path with the values of variables in place of $NAME and ${NAME}. Unknown variables stay."""

    def value(match: "re.Match[str]") -> str:
        name = match[1] or match[2]
        found = envs.get(name)
        if found is None:
            return match[0]
        return json.dumps(found) if isinstance(found, (bool, int, float)) else str(found)

    return re.sub(r"\$(?:\{([A-Za-z0-9_]+)\}|([A-Za-z0-9_]+))", value, path)
