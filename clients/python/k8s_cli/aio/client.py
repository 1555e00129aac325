"""The client of the API server."""

import hashlib
import os
import random
import re
import string
import time
from typing import TYPE_CHECKING, Any, AsyncIterator, Callable, Dict, Iterable, List, Mapping, Optional, Tuple, Union

from .. import _retry, models
from .._options import Filters
from ..errors import ArgumentInvalid, BatchFailed, Error, TaskUnusable, UploadMissing, api_error
from ..task import REDACTED, Item, OtherFields, Packer, Task, TaskFields, TaskLike, check, grid, has_files, names, read, taskfile
from ._io import call, sleep
from ._requests import body_of, json_of, query_of
from .job import Group, Job, Sweep
from .operations import PAGE, Operations
from .session import BrowserSession

if TYPE_CHECKING:
    from typing_extensions import Unpack

_BATCH_TASKS = 5000  # largest number of tasks in one request
_BATCH_BYTES = 32 << 20  # largest size of one request; a single task may be larger
_LETTERS = string.ascii_lowercase + string.digits


class Client(Operations):
    """A client of one server in the name of one user.

    Without arguments, the client uses the server and the login of the CLI: `K8S_CLI_API_URL`, `K8S_CLI_INSECURE_HTTP`,
    and the files that `k8s-cli auth login` writes. The client opens no connection before the first request.
    """

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def submit(
        self,
        task: TaskLike = None,
        *,
        group: str = "",
        after: Union[str, Job, Iterable[Union[str, Job]]] = (),
        after_any: Union[str, Job, Iterable[Union[str, Job]]] = (),
        key: str = "",
        max_parallel: int = 0,
        fail_fast: bool = False,
        notify: str = "",
        **fields: "Unpack[TaskFields]",
    ) -> Job:
        """Submits a task, and uploads the local files that the task names.

        task is a Task, a dict of its fields, or its command. The keywords are the fields of a task without task, and of
        a command, as for Task. The task starts after the tasks in after have completed and the tasks in after_any have
        ended. When submit returns, the server has stored the task. A repeated submission with the same key has no
        effect and returns the same job. With max_parallel, the task waits while so many tasks of its group are active.
        With fail_fast, a failure of the task stops the other tasks of its group. The server sends the phase changes of
        the task to the URL notify, in place of the event_callback of the task.
        """
        query = query_of(group=group, after=names(after), after_any=names(after_any))
        query += query_of(max_parallel=max_parallel or None, fail_fast=fail_fast, notify=notify)
        return await self._submit(Task.of(task, fields), group, query, key or _retry.new_key())

    async def submit_all(
        self, tasks: Iterable[Union[Task, Mapping[str, Any], str, Item]], *, group: str = "", atomic: bool = False
    ) -> List[Job]:
        """Submits many tasks in one request, or in one request for each 5,000 tasks.

        An item can name earlier items by their keys. With atomic, the server accepts all tasks or none, and an item can
        name any item. The error is BatchFailed if the server rejects some of the tasks.
        """
        items = [i if isinstance(i, Item) else Item(i) for i in tasks]
        packer = Packer(0)
        try:
            bodies = [await self._item(i, group, packer) for i in items]
            results = await self._submit_uploaded(bodies, atomic, packer)
        finally:
            packer.close()
        return self._jobs_of(bodies, results, self.group(group) if group else None)

    async def map(
        self,
        task: Union[Task, Mapping[str, Any], str, Callable[[Any], Union[Task, Mapping[str, Any], str]]],
        points: Union[Mapping[str, Iterable[Any]], Iterable[Any]],
        *,
        group: str = "",
        max_parallel: int = 0,
        fail_fast: bool = False,
        atomic: bool = False,
        key: str = "",
        notify: str = "",
    ) -> Sweep:
        """Submits one task for each point, as one group.

        points is a grid (`{"LR": [0.1, 0.01], "EPOCHS": [3, 10]}`, one point for each combination), or an iterable. If
        task is a function, the function returns the task of a point. Otherwise, points are dicts of environment
        variables. SKYPILOT_JOB_RANK and SKYPILOT_NUM_JOBS tell each task its number and the number of tasks. At most
        max_parallel tasks are active at once; 0 means no limit. With fail_fast, the first failure stops the other
        tasks. With atomic, the server accepts all tasks or none. A repeated map with the same key and points has no
        effect and returns the same jobs. The server sends the phase changes of the tasks to the URL notify. The
        lists of the CLI show the variables of each point; they do not show points for which a function returns the task.
        """
        chosen: List[Any] = list(grid(points)) if isinstance(points, Mapping) else list(points)
        if not chosen:
            raise TaskUnusable("the sweep has no points")
        tasks = []
        for rank, point in enumerate(chosen):
            envs = {"SKYPILOT_JOB_RANK": str(rank), "SKYPILOT_NUM_JOBS": str(len(chosen))}
            if callable(task):
                made = Task.of(task(point))
            elif isinstance(point, Mapping):
                made, envs = Task.of(task), {**point, **envs}
            else:
                raise ArgumentInvalid(f"the point {point!r} is not a dict of variables; pass a function that returns its task")
            tasks.append(made.with_envs(envs))
            if not callable(task):  # the point of a function may hold secrets
                tasks[-1].store_point(point)
            if notify:
                tasks[-1].fields["event_callback"] = notify
        name = group or self._group_name(tasks[0], key)
        limits: Dict[str, Any] = {"max_parallel": max_parallel, "fail_fast": fail_fast}
        items = [Item(t, key=f"{key}/{rank}" if key else "", **limits) for rank, t in enumerate(tasks)]
        jobs = await self.submit_all(items, group=name, atomic=atomic)
        return Sweep(self, name, jobs, chosen)

    async def submit_file(
        self,
        path: Union[str, "os.PathLike[str]"],
        *,
        envs: Optional[Mapping[str, Any]] = None,
        secrets: Optional[Mapping[str, Any]] = None,
        group: str = "",
        key: str = "",
        notify: str = "",
        **fields: "Unpack[OtherFields]",
    ) -> Union[Job, Sweep]:
        """Submits a task file as the CLI does. Several documents are a pipeline or a job group; the result is a Sweep.

        envs and secrets are added to those of each task, and the keywords of Task replace fields of each task. Local
        paths are relative to the current directory. Without PyYAML, the file has one document, and nothing is added or
        replaced.
        """
        text = read(path)
        file = taskfile(text)
        if notify:
            fields["event_callback"] = notify
        tasks = file.tasks
        if envs or secrets or fields:
            tasks = [t.with_envs(envs or {}).with_secrets(secrets or {}).with_fields(**fields) for t in tasks]
        check([t.parsed() or {} for t in tasks], "{}={{{}}}")
        if not file.several:
            return await self.submit(tasks[0], group=group, key=key)
        chosen = group or self._group_name(Task("", name=file.name or tasks[0].name), key)
        if not file.parallel:
            return await self.chain(tasks, group=chosen, key=key)
        delay = file.termination_delay
        return await self.job_group(file.name, tasks, primary=file.primary, termination_delay=delay, group=chosen, key=key)

    async def chain(
        self, tasks: Iterable[Union[Task, Mapping[str, Any], str]], *, group: str = "", key: str = ""
    ) -> Sweep:
        """Submits tasks that run one after the other, as one group. The server accepts all tasks or none.

        Each task starts when the task before has completed. A repeated chain with the same key has no effect.
        """
        base = key or _retry.new_key()
        items: List[Item] = []
        for i, task in enumerate(tasks):
            items.append(Item(Task.of(task), key=f"{base}/{i}", after=[f"{base}/{i - 1}"] if i else []))
        if not items:
            raise TaskUnusable("the chain has no tasks")
        name = group or self._group_name(Task.of(items[0].task), key)
        jobs = await self.submit_all(items, group=name, atomic=True)
        return Sweep(self, name, jobs, list(range(len(jobs))), independent=False)

    async def job_group(
        self,
        name: str,
        tasks: Iterable[Union[Task, Mapping[str, Any]]],
        *,
        primary: Iterable[str] = (),
        termination_delay: Union[str, Mapping[str, str]] = "",
        group: str = "",
        key: str = "",
    ) -> Sweep:
        """Submits tasks that start together or not at all, as one group. Each task needs a name of its own.

        The tasks reach each other as {task}-{rank}.{name}. When the tasks in primary have completed, the server ends
        the others after termination_delay, which may be a dict of default and names of tasks; without primary, all
        tasks are primary. A repeated job group with the same key has no effect.
        """
        made, first = [Task.of(t) for t in tasks], set(primary)
        unknown = first - {t.name for t in made}
        if unknown:
            raise TaskUnusable(f"primary: the job group has no task {sorted(unknown)[0]!r}", "primary")
        delays = {"default": termination_delay} if isinstance(termination_delay, str) else termination_delay
        wrong = set(delays) - {"default"} - ({t.name for t in made} - first if first else set())
        if wrong:
            said = f"termination_delay: {sorted(wrong)[0]!r} is no auxiliary task of the job group"
            raise TaskUnusable(said, "termination_delay")
        items: List[Item] = []
        for i, t in enumerate(made):
            auxiliary = bool(first) and t.name not in first
            delay = delays.get(t.name, delays.get("default", "")) if auxiliary else ""
            own = f"{key}/{i}" if key else ""
            items.append(Item(t, key=own, job_group=name, auxiliary=auxiliary, termination_delay=delay))
        chosen = group or self._group_name(Task("", name=name), key)
        jobs = await self.submit_all(items, group=chosen, atomic=True)
        return Sweep(self, chosen, jobs, list(range(len(jobs))), independent=False)

    async def rerun(
        self,
        id: str,
        *,
        envs: Optional[Mapping[str, Any]] = None,
        secrets: Optional[Mapping[str, Any]] = None,
        group: Optional[str] = None,
        key: str = "",
        notify: str = "",
        **fields: "Unpack[OtherFields]",
    ) -> Job:
        """Submits a task again with its original settings, and returns the new job, which has a new id.

        envs and secrets are added to those of the task, and the keywords of Task replace fields. group replaces the
        group of the task. The server returns no values of secrets, so the caller passes them all. The error is
        TaskUnusable if a secret is missing, or if the server no longer has the files of the task.
        """
        task = Task.from_dict(await self.spec(id)).with_envs(envs or {}).with_secrets(secrets or {}).with_fields(**fields)
        missing = sorted(name for name, value in (task.fields.get("secrets") or {}).items() if value == REDACTED)
        if missing:
            said = f"the server does not return the secrets of task {id}; pass secrets= with {', '.join(missing)}"
            raise TaskUnusable(said, "secrets")
        for sha256 in sorted(set((task.fields.get("uploads") or {}).values())):
            if not await self.has_upload(sha256):
                said = f"the files of task {id} have expired; submit the task again from the directory with its files"
                raise TaskUnusable(said, "uploads")
        if group is None:
            group = (await self.status(id)).metadata.group
        return await self.submit(task, group=group, key=key, notify=notify)

    async def preview(self, task: TaskLike = None, **fields: "Unpack[TaskFields]") -> models.Preview:
        """Returns the Kubernetes objects that the server would create for a task. preview submits and uploads nothing.

        The server reports findings only for text in YAML: of a Task that from_file or from_yaml returned, without
        changes and without local files.
        """
        packer = Packer(0)
        try:
            body, kind = body_of(await self._content(Task.of(task, fields), packer))
        finally:
            packer.close()
        answer = await self.request("POST", "/tasks/preview", body=body, content_type=kind, safe=True)
        return models.decode(models.Preview, answer.json())

    async def get(self, id: str) -> Job:
        """Returns the job of a task, with its status."""
        status = await self.status(id)
        return Job(self, id, status=status)

    def job(self, id: str) -> Job:
        """Returns the job of a task without a request."""
        return Job(self, id)

    async def jobs(
        self,
        *,
        limit: Optional[int] = None,
        page_size: int = PAGE,
        **filters: "Unpack[Filters]",
    ) -> AsyncIterator[Job]:
        """Returns the tasks that match all filters, newest first, with their status. Reads one page after the other.

        The filters are all_users, user, status, name, name_prefix, name_contains, label, annotation, point, reason,
        group, gpus, machine, exit, since and before, and those with not_ in front, for example not_status. limit is the
        largest number of tasks. label and annotation are KEY=VALUE, KEY for any value, a list of these, or a dict; point
        is NAME=VALUE, a list of these, or a dict. since and before are an age (`3h`, seconds, or a timedelta), or a time
        (in RFC 3339, or a datetime). sort is created, started, ended, name or status, with - in front for descending.
        """
        if limit is not None and (isinstance(limit, bool) or not isinstance(limit, int) or limit < 0):
            raise ArgumentInvalid(f"limit: {limit!r} is not a number of tasks", "limit")
        cursor, left = "", limit
        while left is None or left > 0:
            page = await self.page(limit=page_size if left is None else min(page_size, left), cursor=cursor, **filters)
            for found in page.items[:left]:
                yield Job(self, found.task_id, status=found)
            left = None if left is None else left - len(page.items)
            cursor = page.next
            if not cursor:
                return

    def group(self, name: str) -> Group:
        """Returns a group without a request."""
        return Group(self, name)

    def browser_session(self, cookie: str = "", key: str = "") -> BrowserSession:
        """Returns a session of a browser, for programs that open the dashboard for a user."""
        return BrowserSession(self, cookie, key)

    async def _submit(self, task: Task, group: str, query: List[Tuple[str, str]], key: str) -> Job:
        packer = Packer(0)
        try:
            content = await self._content(task, packer)
            await self._upload_all(packer)
            body, kind = body_of(content)
            try:
                answer = await self.request("POST", "/tasks/submit", query=query, body=body, content_type=kind, key=key)
            except UploadMissing:  # the server has deleted an archive since the check
                if not packer.archives:
                    raise
                await self._upload_all(packer)
                answer = await self.request("POST", "/tasks/submit", query=query, body=body, content_type=kind, key=key)
        finally:
            packer.close()
        got = models.decode(models.Submitted, answer.json())
        return Job(self, got.task_id, name=task.name, group=group, warnings=packer.skipped + got.warnings)

    async def _content(self, task: Task, packer: Packer) -> Union[str, Dict[str, Any]]:
        """Returns what to send for a task: its text if possible, because the findings of the server name lines."""
        fields = task.parsed()
        if fields is None:
            return task.yaml or ""
        packed = await self._pack(fields, packer)
        return task.yaml if task.yaml is not None and task.is_text(packed) else packed

    async def _pack(self, fields: Dict[str, Any], packer: Packer) -> Dict[str, Any]:
        """Replaces the local files of a task by uploads."""
        check([fields])
        if not await call(has_files, fields):
            return fields
        if not packer.limit:
            packer.limit = await self.upload_limit()
        return await call(packer.pack, fields)

    async def _upload_all(self, packer: Packer) -> None:
        """Uploads the archives that the server does not have."""
        for sha256 in packer.archives:
            if not await self.has_upload(sha256):
                archive = await call(packer.packed, sha256)
                await self.upload(archive.path, sha256)

    async def _item(self, item: Item, group: str, packer: Packer) -> Dict[str, Any]:
        """Returns an item of a batch in JSON."""
        fields = await self._pack(Task.of(item.task).json(), packer)
        more = {
            "idempotency_key": item.key,
            "group": item.group or group,
            "after": names(item.after),
            "after_any": names(item.after_any),
            "max_parallel": item.max_parallel,
            "fail_fast": item.fail_fast,
            "job_group": item.job_group,
            "auxiliary": item.auxiliary,
            "termination_delay": item.termination_delay,
        }
        return {**fields, **{k: v for k, v in more.items() if v}}

    async def _submit_uploaded(
        self, bodies: List[Dict[str, Any]], atomic: bool, packer: Packer
    ) -> List[Dict[str, Any]]:
        """Uploads the archives and submits the items. If the server has deleted archives since the check, it does so twice."""
        await self._upload_all(packer)
        try:
            results = await self._submit_batches(bodies, atomic)
        except UploadMissing:
            if not packer.archives:
                raise
            await self._upload_all(packer)
            return await self._submit_batches(bodies, atomic)
        missing = [i for i, r in enumerate(results) if r.get("reason") == UploadMissing.__name__]
        if missing and packer.archives:
            await self._upload_all(packer)
            for i, result in zip(missing, await self._submit_batches([bodies[i] for i in missing], False)):
                results[i] = result
        return results

    async def _submit_batches(self, bodies: List[Dict[str, Any]], atomic: bool) -> List[Dict[str, Any]]:
        raws = [json_of(b) for b in bodies]
        results: List[Dict[str, Any]] = []
        while len(results) < len(raws):
            end, size = len(results), 0
            while end < len(raws) and (atomic or end - len(results) < _BATCH_TASKS):
                size += len(raws[end]) + 2
                if size > _BATCH_BYTES and end > len(results) and not atomic:
                    break
                end += 1
            try:
                results += await self._submit_batch(raws[len(results) : end], atomic)
            except Error as err:
                if not results:
                    raise
                results += [{"error": err}] * (len(raws) - len(results))  # the server has accepted earlier tasks
        return results

    async def _submit_batch(self, raws: List[str], atomic: bool) -> List[Dict[str, Any]]:
        """Submits a batch, and repeats the request while the server is too busy for some of the tasks."""
        body, key, began = ("[" + ", ".join(raws) + "]").encode(), _retry.new_key(), time.monotonic()
        while True:
            query = query_of(atomic=atomic)
            answer = await self.request(
                "POST", "/tasks/batch", query=query, body=body, content_type="application/json", key=key
            )
            results: List[Dict[str, Any]] = answer.json()["results"]
            if len(results) != len(raws):
                raise Error(f"{self.url} answered for {len(results)} of {len(raws)} tasks")
            if not any(r.get("code") == 503 for r in results) or time.monotonic() - began > self.timeout:
                return results
            await sleep(_retry.jittered(_retry.BUSY_PAUSE))

    def _jobs_of(self, bodies: List[Dict[str, Any]], results: List[Dict[str, Any]], group: Optional[Group]) -> List[Job]:
        wrong: Dict[int, Error] = {}
        jobs: List[Optional[Job]] = []
        accepted: List[Job] = []
        for i, (body, result) in enumerate(zip(bodies, results)):
            if "error" in result or result.get("code"):
                wrong[i] = result.get("error") or api_error(int(result["code"]), result)
                jobs.append(None)
                continue
            got = models.decode(models.Submitted, result)
            accepted.append(
                Job(self, got.task_id, name=body.get("name") or "", group=body.get("group", ""), warnings=got.warnings)
            )
            jobs.append(accepted[-1])
        if wrong:
            raise BatchFailed(jobs, wrong, group)
        return accepted

    @staticmethod
    def _group_name(task: Task, key: str = "") -> str:
        """Returns a name for the group of a sweep: a new one, or without a difference for the same key."""
        base = re.sub(r"[^A-Za-z0-9_.-]+", "-", task.name)[:40].strip("-_.") or "sweep"
        suffix = hashlib.sha256(key.encode()).hexdigest()[:8] if key else "".join(random.choices(_LETTERS, k=5))
        return base + "-" + suffix

    def __repr__(self) -> str:
        return f"<k8s_cli.aio.Client of {self.url}>"
