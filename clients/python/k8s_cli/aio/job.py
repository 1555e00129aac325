"""Jobs and groups: what a submission returns."""

import os
import time
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Callable,
    Container,
    Dict,
    Iterable,
    Iterator,
    List,
    Mapping,
    Optional,
    Sequence,
    Set,
    Tuple,
    Union,
    overload,
)

from .. import _html as views
from .. import models
from .._options import GroupFilters, LogOptions
from .._times import Since
from .._unpack import Directory
from ..errors import ArgumentInvalid, Error, GroupFailed, Gone, LogNotFound, OutputsNotFound, TaskFailed, WaitTimeout
from ..task import TaskFields
from ._io import opened, sleep, spawn
from ._requests import query_of, segment
from .events import EventStream
from .operations import PAGE

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .client import Client


class Job:
    """A submitted task."""

    def __init__(
        self,
        client: "Client",
        id: str,
        *,
        name: str = "",
        group: str = "",
        warnings: Sequence[str] = (),
        status: Optional[models.TaskStatus] = None,
    ) -> None:
        self.id = id
        self.name = name  # of a task that was submitted without a name, only after the first status
        self.group = group
        self.warnings = list(warnings)  # of the server, about the task
        self.last = status
        self._client = client

    @property
    def last(self) -> Optional[models.TaskStatus]:
        """The status that the client read last."""
        return self._last

    @last.setter
    def last(self, status: Optional[models.TaskStatus]) -> None:
        self._last = status
        if status:
            self.name, self.group = status.name, status.metadata.group

    async def status(self) -> models.TaskStatus:
        """Returns the status of the task."""
        self.last = await self._client.status(self.id)
        return self.last

    async def spec(self) -> Dict[str, Any]:
        """Returns the task as submitted, with secrets redacted."""
        return await self._client.spec(self.id)

    async def top(self) -> models.TopTask:
        """Returns the CPUs and the memory that the nodes of the task use."""
        return await self._client.top(self.id)

    async def stop(self) -> None:
        """Stops the task. If the task is over, stop changes nothing."""
        await self._client.stop(self.id)

    async def rerun(
        self, *, group: Optional[str] = None, key: str = "", notify: str = "", **fields: "Unpack[TaskFields]"
    ) -> "Job":
        """Submits the task again with its original settings, and returns the new job, as Client.rerun."""
        return await self._client.rerun(self.id, group=group, key=key, notify=notify, **fields)

    async def wait(self, timeout: Optional[float] = None, *, check: bool = False) -> models.TaskStatus:
        """Waits until the task is over, and returns its status.

        The error is WaitTimeout after timeout seconds. With check, the error is TaskFailed if the task failed or was
        stopped.
        """
        status = await self._wait(models.OVER, timeout, "over")
        if check and status.status != "completed":
            raise TaskFailed(f"task {self.id} is {described(status)}", status)
        return status

    async def wait_running(self, timeout: Optional[float] = None) -> models.TaskStatus:
        """Waits until the task runs, for example before exec, and returns its status.

        wait_running also returns if the task is over. The error is WaitTimeout after timeout seconds.
        """
        return await self._wait(models.OVER | {"running"}, timeout, "running")

    async def _wait(self, phases: Container[str], timeout: Optional[float], wanted: str) -> models.TaskStatus:
        """Waits until the task is in one of the phases, and returns its status."""
        deadline = _deadline(timeout)
        status = await self.status()
        while status.status not in phases:
            stream = self._stream("")
            try:
                while status.status not in phases:
                    event = await stream.next(deadline, patient=True)
                    if event is None:
                        break
                    if event.status in phases:  # the event may be older than the status
                        status = await self.status()
            except Gone:  # events were missed during an interruption
                pass
            except WaitTimeout:
                status = await self._present(status)
                said = f"task {self.id} is not {wanted} after {timeout:g} s; it is {described(status)}"
                raise WaitTimeout(said, status) from None
            finally:
                stream.close()
            if status.status not in phases:
                status = await self.status()
        return status

    async def _present(self, status: models.TaskStatus) -> models.TaskStatus:
        """Returns the present status, or the given one if the server cannot be asked at once."""
        try:
            path = f"/tasks/{segment(self.id)}"
            self.last = await self._client.fetch(models.TaskStatus, path, retry=False, about=("task_id", self.id))
        except Error:
            return status
        return self.last

    async def logs(
        self,
        *,
        follow: bool = True,
        tail: Optional[int] = None,
        since: Optional[Since] = None,
        node: Optional[int] = None,
        attempt: Optional[int] = None,
        timestamps: bool = False,
    ) -> AsyncIterator[str]:
        """Returns the lines of the log with their newlines, as they arrive, until the task is over.

        The iterator resumes the log after a break of the connection, without loss or repeats. Without follow, it
        returns only the present lines. since is an age (`3h`, seconds, or a timedelta), or a time. Lines of multi-node
        tasks begin with `node-RANK | `. Bytes that are not UTF-8 are replaced; log_bytes returns the bytes.
        """
        lines = self.log_bytes(follow=follow, tail=tail, since=since, node=node, attempt=attempt, timestamps=timestamps)
        async for line in lines:
            yield line.decode("utf-8", "replace")

    async def download(
        self, directory: Directory, *, node: Optional[int] = None, force: bool = False, wait: float = 0
    ) -> List[str]:
        """Downloads the stored outputs of the task, and returns the paths of the files, as Client.download_outputs."""
        return await self._client.download_outputs(self.id, directory, node=node, force=force, wait=wait)

    def log_bytes(self, **options: "Unpack[LogOptions]") -> AsyncIterator[bytes]:
        """Returns the lines of the log, byte for byte. The options are those of logs."""
        return self._client.log_bytes(self.id, **options)

    async def log_lines(
        self, lines: str, *, node: Optional[int] = None, attempt: Optional[int] = None, timestamps: bool = False
    ) -> models.LogLines:
        """Returns lines of the log of one node by number: `101-200`, `101-`, or `-100` for the last 100 lines."""
        return await self._client.log_lines(self.id, lines, node=node, attempt=attempt, timestamps=timestamps)

    async def exec(
        self, command: Union[str, Sequence[str]], *, node: int = 0, timeout: Optional[float] = None
    ) -> models.Executed:
        """Runs a command in a node of the running task, as Client.exec."""
        return await self._client.exec(self.id, command, node=node, timeout=timeout)

    def events(self, *, after: str = "") -> EventStream:
        """Returns the stream of the events of the task, from the first event on, until the task is over."""
        return opened(self._stream(after))

    def _stream(self, after: str) -> EventStream:
        return EventStream(self._client, f"/tasks/{segment(self.id)}/events", [], after, about=("task_id", self.id))

    async def past_events(self, *, after: str = "", limit: Optional[int] = None) -> List[models.Event]:
        """Returns the events so far, oldest first."""
        return await self._client.task_events(self.id, after=after, limit=limit)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and (self.id, self._client.url) == (other.id, other._client.url)

    def __hash__(self) -> int:
        return hash((self.id, self._client.url))

    def __repr__(self) -> str:
        reason = f" ({self.last.metadata.reason})" if self.last and self.last.metadata.reason else ""
        shown = f": {self.last.status}{reason}" if self.last else ""
        return f"<Job {self.id}" + (f" {self.name!r}" if self.name else "") + shown + ">"

    def _html(self) -> str:
        return views.job(self.id, self.name, self.last)

    def _repr_html_(self) -> str:
        return self._html()

    def _ipython_display_(self) -> None:
        """Shows the job in a notebook, and keeps the view up to date until the task is over."""
        handle = views.show(self._html, repr(self))
        if handle and not (self.last and self.last.over):
            spawn(self._live, handle)

    async def _live(self, handle: views.Handle) -> None:
        await _refresh(handle, self._html, self.status, lambda: bool(self.last and self.last.over))


def described(status: models.TaskStatus) -> str:
    """Returns the status with its reason in words."""
    why = ": ".join(filter(None, [status.metadata.reason, status.metadata.message]))
    return status.status + (f" ({why})" if why else "")


def counted(status: models.GroupStatus) -> str:
    """Returns the numbers of tasks of a group in words."""
    return ", ".join(f"{n} {s}" for s, n in sorted(status.by_status.items()) if n)


def _deadline(timeout: Optional[float]) -> Optional[float]:
    """Returns the value of time.monotonic at which a wait ends."""
    if timeout is not None and not isinstance(timeout, (int, float)):
        raise ArgumentInvalid(f"timeout: {timeout!r} is not a number of seconds", "timeout")
    return None if timeout is None else time.monotonic() + timeout


async def as_completed(jobs: Iterable[Job], timeout: Optional[float] = None) -> AsyncIterator[Job]:
    """Returns the jobs in the order in which their tasks end or ended, each with its final status in `last`.

    The jobs are those of one client, and their tasks belong to its user. The error is WaitTimeout if a task is not over
    after timeout seconds.
    """
    left = {job.id: job for job in jobs}
    deadline = _deadline(timeout)
    while left:
        client = next(iter(left.values()))._client
        groups = {job.group for job in left.values()}
        group = groups.pop() if len(groups) == 1 else ""
        stream = EventStream(client, "/events", query_of(group=group), "")
        try:
            await stream.open()
            await _read(client, group, left)
            for job in sorted((j for j in left.values() if j.last and j.last.over), key=_ended_at):
                yield left.pop(job.id)
            while left:
                event = await stream.next(deadline, patient=True)
                if event and event.over and event.task_id in left:
                    await left[event.task_id].status()
                    yield left.pop(event.task_id)
        except Gone:  # events were missed during an interruption
            pass
        except WaitTimeout:
            first = next(iter(left.values()))
            said = f"{len(left)} tasks are not over after {timeout:g} s; one of them is {first.id}"
            raise WaitTimeout(said, first.last) from None
        finally:
            stream.close()


def _ended_at(job: Job) -> float:
    """Returns when a task ended, in seconds since 1970."""
    ended = job.last and job.last.ended_at
    return ended.timestamp() if ended else 0.0


async def _read(client: "Client", group: str, jobs: Mapping[str, Job]) -> None:
    """Reads the status of each job, in pages if the jobs are in one group."""
    found: Dict[str, models.TaskStatus] = {}
    if group:
        async for each in Group(client, group).jobs():
            if each.last:
                found[each.id] = each.last
    for id, job in jobs.items():
        job.last = found.get(id) or await job.status()


async def _refresh(
    handle: views.Handle, html: Callable[[], str], read: Callable[[], Any], is_over: Callable[[], bool]
) -> None:
    """Updates a view until its object is over, for at most MAX_LIVE seconds."""
    ends = time.monotonic() + views.MAX_LIVE
    shown, pause = "", views.FIRST_PAUSE
    try:
        while time.monotonic() < ends:
            try:
                await read()
            except Error as err:
                handle.note(str(err))
                return
            if html() != shown:
                shown, pause = html(), views.FIRST_PAUSE
                handle.update(shown)
            if is_over():
                return
            await sleep(pause)
            pause = min(pause * views.SLOWDOWN, views.MAX_PAUSE)
        handle.note(f"not updated after {views.MAX_LIVE / 3600:g} hours")
    finally:
        handle.close()


class Group:
    """The tasks of the user with one name of a group."""

    def __init__(self, client: "Client", name: str) -> None:
        self.name = name
        self.last: Optional[models.GroupStatus] = None  # the state that the client read last
        self._replaced: Set[str] = set()  # ids of the tasks that Sweep.rerun_failed replaced
        self._client = client

    async def status(self) -> models.GroupStatus:
        """Returns the state of the group."""
        self.last = await self._client.group_status(self.name)
        return self.last

    async def wait(self, timeout: Optional[float] = None, *, check: bool = False) -> models.GroupStatus:
        """Waits until all tasks of the group are over, and returns the state of the group.

        The error is WaitTimeout after timeout seconds. With check, the error is GroupFailed if a task failed or was
        stopped.
        """
        deadline = _deadline(timeout)
        status = await self.status()
        while status.unfinished:
            stream = self._stream("")
            try:
                while await stream.next(deadline, patient=True):
                    pass
            except Gone:  # events were missed during an interruption
                pass
            except WaitTimeout:
                status = await self._present(status)
                said = f"group {self.name} is not over after {timeout:g} s: {counted(status)}"
                raise WaitTimeout(said, group=status) from None
            finally:
                stream.close()
            status = await self.status()
        if check and status.status != "completed":
            raise GroupFailed(f"group {self.name} is {status.status}: {counted(status)}", status)
        return status

    async def _present(self, status: models.GroupStatus) -> models.GroupStatus:
        """Returns the present state, or the given one if the server cannot be asked at once."""
        try:
            path = f"/groups/{segment(self.name)}"
            self.last = await self._client.fetch(models.GroupStatus, path, retry=False, about=("group", self.name))
        except Error:
            return status
        return self.last

    async def stop(self) -> int:
        """Stops the tasks of the group that are not over. Returns the number of tasks."""
        segment(self.name)  # an empty name could mean all tasks
        return await self._client.stop_all(group=self.name)

    def events(self, *, after: str = "") -> EventStream:
        """Returns the stream of the events of the group, from now on, until all tasks of the group are over.

        If the group has no task yet, the stream waits for the first one.
        """
        return opened(self._stream(after))

    def _stream(self, after: str) -> EventStream:
        return EventStream(self._client, "/events", query_of(group=self.name), after, group=self.name)

    async def jobs(self, **filters: "Unpack[GroupFilters]") -> AsyncIterator[Job]:
        """Returns the tasks of the group, oldest first, with their status. The filters are those of Client.jobs."""
        options: Dict[str, Any] = {"sort": "created", "page_size": PAGE, **filters, "group": self.name}
        async for job in self._client.jobs(**options):
            yield job

    async def logs(self, **options: "Unpack[LogOptions]") -> AsyncIterator[str]:
        """Returns the lines of the logs of all tasks, one task after the other, oldest first.

        Each line begins with the id of its task and ` | `; in a job group, with the name of the task. Tasks without a
        log are left out. The options are those of Job.logs.
        """
        async for job in self.jobs():
            label = job.name if job.last and job.last.metadata.job_group else job.id
            try:
                async for line in job.logs(**options):
                    yield f"{label} | {line}"
            except LogNotFound:
                pass

    async def download(self, directory: Directory, *, force: bool = False, wait: float = 0) -> Dict[str, List[str]]:
        """Downloads the stored outputs of the tasks, each to the directory below directory with the id of the task.

        download returns the paths of the files by the id of the task. Tasks without outputs are left out, and those
        that rerun_failed of this sweep replaced. force and wait are those of Client.download_outputs, for each task.
        """
        files: Dict[str, List[str]] = {}
        async for job in self.jobs():
            if job.id in self._replaced:
                continue
            try:
                files[job.id] = await job.download(os.path.join(os.fspath(directory), job.id), force=force, wait=wait)
            except OutputsNotFound:
                pass
        return files

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}" + (f": {self.last.status}>" if self.last else ">")

    def _html(self) -> str:
        return views.group(self.name, self.last)

    def _repr_html_(self) -> str:
        return self._html()

    def _ipython_display_(self) -> None:
        """Shows the group in a notebook, and keeps the view up to date until all tasks are over."""
        handle = views.show(self._html, repr(self))
        if handle:
            spawn(self._live, handle)

    async def _live(self, handle: views.Handle) -> None:
        await _refresh(handle, self._html, self.status, lambda: bool(self.last and not self.last.unfinished))


class Sweep(Group):
    """A group that `map` or `chain` submitted. A sweep is a sequence of its jobs, in the order of the points."""

    def __init__(
        self, client: "Client", name: str, jobs: Sequence[Job], points: Sequence[Any], *, independent: bool = True
    ) -> None:
        """independent says that no task depends on another one."""
        super().__init__(client, name)
        self.points = list(points)
        self._jobs = list(jobs)
        self._independent = independent

    def __len__(self) -> int:
        return len(self._jobs)

    @overload
    def __getitem__(self, index: int) -> Job: ...

    @overload
    def __getitem__(self, index: slice) -> List[Job]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Job, List[Job]]:
        return self._jobs[index]

    def __iter__(self) -> Iterator[Job]:
        return iter(self._jobs)

    async def rerun_failed(self, **fields: "Unpack[TaskFields]") -> List[Job]:
        """Submits each task that failed or was stopped again, as Client.rerun, and returns the new jobs.

        The new jobs belong to the same group, without its limits, and replace the old ones in the sweep, in results and
        in download. wait(check=True) then ignores the tasks that were replaced; status, jobs, logs and events still have
        them. Tasks that are not over stay. The error is ArgumentInvalid for a chain or a job group.
        """
        if not self._independent:
            raise ArgumentInvalid("the tasks of a chain or a job group depend on each other; submit all of them again")
        made: List[Job] = []
        status = {id: s.status for id, s in (await self._statuses()).items()}
        for i, job in enumerate(self._jobs):
            if status.get(job.id) in ("failed", "stopped"):
                self._jobs[i] = await job.rerun(group=self.name, **fields)
                self._replaced.add(job.id)
                made.append(self._jobs[i])
        return made

    async def wait(self, timeout: Optional[float] = None, *, check: bool = False) -> models.GroupStatus:
        """Waits until all tasks of the group are over, as Group.wait. check ignores tasks that rerun_failed replaced."""
        if not (check and self._replaced):
            return await super().wait(timeout, check=check)
        status = await super().wait(timeout)
        wrong = [(point, s) for point, s in await self.results() if s.status != "completed"]
        if wrong:
            point, first = wrong[0]
            said = f"{len(wrong)} of {len(self)} tasks did not complete; the task of {point!r} is {described(first)}"
            raise GroupFailed(f"group {self.name}: {said}", status)
        return status

    async def results(self) -> List[Tuple[Any, models.TaskStatus]]:
        """Returns each point with the status of its task."""
        by_id = await self._statuses()
        return [(point, by_id[job.id]) for point, job in zip(self.points, self._jobs) if job.id in by_id]

    async def _statuses(self) -> Dict[str, models.TaskStatus]:
        """Returns the status of each task of the group by its id."""
        by_id = {}
        async for job in self.jobs():
            if job.last:
                by_id[job.id] = job.last
        return by_id
