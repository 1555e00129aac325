"""The operations of the server on objects that the caller names by their ids."""

import json
import math
import os
import re
import time
from datetime import date
from typing import TYPE_CHECKING, Any, AsyncIterator, Dict, List, Literal, Optional, Sequence, Tuple, Union, cast

from .. import _http, _retry, _streams, _websocket, models
from .._options import Filters, StopFilters
from .._times import Since, age, day, moment
from .._unpack import Directory, Download
from ..errors import (
    ApiError,
    ArgumentInvalid,
    ConnectionFailed,
    Error,
    LogBroken,
    NotFound,
    SessionBroken,
    WrongAnswer,
    is_unavailable,
)
from ._io import Response, call, opened, sleep
from ._requests import Query, Requests, body_of, query_of, segment
from .events import EventStream

if TYPE_CHECKING:
    from typing_extensions import Unpack

PAGE = 500  # objects on a page of a list that the client reads page by page
_EVENT_PAGE = 1000  # events in one response
_OUTPUTS_PAUSE = 1.0  # seconds between two requests while the client waits for outputs
_UPLOAD_TIMEOUT = 86400.0  # seconds; an upload lasts as long as the network needs


class Operations(Requests):
    """The operations that return data."""

    # Tasks

    async def status(self, id: str) -> models.TaskStatus:
        """Returns the status of a task."""
        return await self.fetch(models.TaskStatus, f"/tasks/{segment(id)}", about=("task_id", id))

    async def spec(self, id: str) -> Dict[str, Any]:
        """Returns the task as submitted, with secrets redacted."""
        answer = await self.request("GET", f"/tasks/{segment(id)}/spec")
        spec: Dict[str, Any] = answer.json()
        return spec

    async def top(self, id: str) -> models.TopTask:
        """Returns the CPUs and the memory that the nodes of a task use."""
        return await self.fetch(models.TopTask, f"/tasks/{segment(id)}/top", about=("task_id", id))

    async def download_outputs(
        self, id: str, directory: Directory, *, node: Optional[int] = None, force: bool = False, wait: float = 0
    ) -> List[str]:
        """Downloads the stored outputs of a task, and returns the paths of the files.

        The files of a task with several nodes are in the directories node-0, node-1 and so on, unless node names one
        node. Unless force is set, existing files stay, and the error is raised before any file of that node is written.
        Nodes send their outputs when their scripts have ended, also after a stop: wait is how long to wait for them, in
        seconds.
        """
        ends = time.monotonic() + wait
        if wait > 0 and (await self.spec(id)).get("outputs"):
            while not await self._have_outputs(id, node) and time.monotonic() < ends:
                await sleep(_OUTPUTS_PAUSE)
        if node is not None:
            return await self._download_node(id, node, directory, force)
        found = (await self.status(id)).metadata
        stored = [o.node for o in found.outputs if o.bytes > 0] or [0]  # without outputs, the server says why
        files: List[str] = []
        for rank in stored:
            to = os.path.join(os.fspath(directory), f"node-{rank}") if found.num_nodes > 1 else directory
            files += await self._download_node(id, rank, to, force)
        return files

    async def _have_outputs(self, id: str, node: Optional[int]) -> bool:
        """Reports whether the outputs of the node, or of all nodes, have arrived."""
        found = (await self.status(id)).metadata
        return {o.node for o in found.outputs} >= (set(range(found.num_nodes)) if node is None else {node})

    async def _download_node(self, id: str, node: int, directory: Directory, force: bool) -> List[str]:
        archive = Download()
        try:
            etag = await self._receive(f"/tasks/{segment(id)}/outputs/{node}", archive)
            archive.check(etag.strip('"'))
            return await call(archive.unpack, directory, force)
        finally:
            archive.close()

    async def _receive(self, path: str, archive: Download) -> str:
        """Receives an archive, and returns its ETag. After a break of the connection, the download resumes.

        The error is that of the last attempt if no byte arrives for the timeout of the client.
        """
        etag, furthest, advanced, attempt = "", 0, time.monotonic(), 0
        while True:
            headers = {"Accept-Encoding": "identity"}
            if archive.size and etag:
                headers.update({"Range": f"bytes={archive.size}-", "If-Range": etag})
            response: Optional[Response] = None
            try:
                response = await self.open("GET", path, headers=headers, timeout=self.timeout)
                if response.status != 206:  # the response is the whole archive
                    await call(archive.restart)
                    etag = response.header.get("etag", "")
                elif not response.header.get("content-range", "").startswith(f"bytes {archive.size}-"):
                    said = f"the API server at {self.url} was asked for bytes from {archive.size} on and sent others"
                    raise WrongAnswer(said)
                while True:
                    data = await response.chunk(self.timeout)
                    if not data:
                        return etag
                    await call(archive.write, data)
                    if archive.size > furthest:
                        furthest, advanced, attempt = archive.size, time.monotonic(), 0
            except (ApiError, ConnectionFailed) as err:
                pause = _retry.pause_before_retry(err, attempt, self.reached)
                if err.status == 416 and archive.size:  # the connection broke after the last byte
                    await call(archive.restart)
                    continue
                if pause is None and furthest and is_unavailable(err):
                    pause = _retry.resume_pause(attempt)
                if pause is None or time.monotonic() + pause - advanced > self.timeout:
                    raise
                attempt += 1
                await sleep(_retry.jittered(pause))
            finally:
                if response:
                    response.close()

    async def stop(self, id: str) -> None:
        """Stops a task. If the task is over, stop changes nothing."""
        await self.request("POST", f"/tasks/{segment(id)}/stop", key=_retry.new_key())

    async def stop_all(self, *, group: str = "", all_users: bool = False, **filters: "Unpack[StopFilters]") -> int:
        """Stops all tasks of the user, of a group, or of all users. Returns the number of tasks.

        With filters, stop_all stops only the tasks that match all of them. A filter with an empty value is an error.
        """
        query = query_of(group=group, all_users=all_users)
        for name, value in filters.items():
            given = query_of(**{name: moment(cast(Since, value)) if name in ("since", "before") else value})
            if not given:
                raise ArgumentInvalid(f"{name}: the value is empty; give a value, or omit the filter", name)
            query += given
        answer = await self.request("POST", "/tasks/stop", query=query, key=_retry.new_key())
        return int(answer.json()["count"])

    async def page(
        self, *, limit: Optional[int] = None, cursor: str = "", offset: Optional[int] = None, **filters: "Unpack[Filters]"
    ) -> models.Page[models.TaskStatus]:
        """Returns one page of tasks. The filters are those of jobs."""
        filters["since"], filters["before"] = moment(filters.get("since", "")), moment(filters.get("before", ""))
        return await self.fetch_page(models.TaskStatus, "/tasks", "tasks", limit=limit, cursor=cursor, offset=offset, **filters)

    async def rows(
        self, *, limit: Optional[int] = None, cursor: str = "", offset: Optional[int] = None, **filters: "Unpack[Filters]"
    ) -> models.Page[models.Row]:
        """Returns one page of tasks in short form. The filters are those of jobs."""
        filters["since"], filters["before"] = moment(filters.get("since", "")), moment(filters.get("before", ""))
        return await self.fetch_page(
            models.Row, "/tasks", "tasks", **filters, view="row", limit=limit, cursor=cursor, offset=offset
        )

    async def summary(self, *, all_users: bool = False) -> models.Summary:
        """Returns counts of the tasks of the user, or of all users."""
        return await self.fetch(models.Summary, "/summary", query_of(all_users=all_users))

    async def capacity(self) -> models.Capacity:
        """Returns what the machines of the cluster offer, and what tasks have requested of it."""
        return await self.fetch(models.Capacity, "/capacity")

    async def usage(
        self,
        *,
        since: Union[Since, date] = "",
        by: Union[models.UsageKey, Sequence[models.UsageKey]] = (),
        group: str = "",
        all_users: bool = False,
    ) -> models.UsageReport:
        """Returns the resources that ended tasks have used.

        since is the first day: an age such as 30d, a timedelta, seconds, or a date such as 2026-11-01. by names what
        the rows distinguish: day, user and group.
        """
        names = by if isinstance(by, str) else ",".join(by)
        query = query_of(since=day(since), by=names, group=group, all_users=all_users)
        return await self.fetch(models.UsageReport, "/usage", query)

    # Groups

    async def group_status(self, name: str, *, user: str = "") -> models.GroupStatus:
        """Returns the state of a group. Only administrators may name a user."""
        return await self.fetch(models.GroupStatus, f"/groups/{segment(name)}", query_of(user=user), about=("group", name))

    async def groups(
        self,
        *,
        all_users: bool = False,
        name: str = "",
        status: Union[models.Phase, Literal[""]] = "",
        page_size: int = PAGE,
    ) -> AsyncIterator[models.GroupStatus]:
        """Returns the groups of the user, or of all users, newest first. Reads one page after the other."""
        filters = {"all_users": all_users, "name": name, "status": status, "limit": page_size}
        async for found in self.fetch_pages(models.GroupStatus, "/groups", "groups", **filters):
            yield found

    # Logs and events

    async def log_bytes(
        self,
        id: str,
        *,
        follow: bool = True,
        tail: Optional[int] = None,
        since: Optional[Since] = None,
        node: Optional[int] = None,
        attempt: Optional[int] = None,
        timestamps: bool = False,
    ) -> AsyncIterator[bytes]:
        """Returns the lines of the log of a task, byte for byte and without delay, until the log ends.

        After a break of the connection, the iterator resumes the log on any pod of the server, without loss or repeats.
        A connection that is silent for three times the pause between two pings of the server counts as broken. The
        error is LogBroken if the log stays unavailable for longer than the timeout of the client, or if the server
        cannot resume the log. since is an age (`3h`, seconds, or a timedelta), or a time. Lines of multi-node tasks
        begin with `node-RANK | `.
        """
        reader = _streams.LogReader(timestamps)
        first = None if since is None else age(since)  # seconds
        began, asked, attempt_number = False, time.monotonic(), 0
        silence = math.inf  # seconds without a byte after which the connection counts as broken
        down: Optional[float] = None  # since when the connection is down
        while True:
            lines, opened = reader.lines, time.monotonic()
            heard = opened  # when the last byte arrived
            back = first + opened - asked if first and began else first
            query = query_of(tail=tail, since=back and f"{back:.3f}s", node=node, attempt=attempt, timestamps=timestamps)
            query += [] if follow else [("follow", "false")]
            response: Optional[Response] = None
            try:
                headers = {_streams.RESUME: reader.token(), _streams.PING: "true", "Accept-Encoding": "identity"}
                target = f"/tasks/{segment(id)}/logs"
                limit = min(silence, _streams.FIRST_SILENCE)
                response = await self.open("GET", target, query=query, headers=headers, timeout=limit)
                began = True
                silence = reader.begin(response.header)
                while True:
                    data = await response.chunk(silence)
                    heard = time.monotonic()
                    for line in reader.feed(data) if data else reader.end():
                        yield line
                    if not data:
                        return
            except (ApiError, ConnectionFailed) as err:
                pause = _retry.pause_before_retry(err, attempt_number, self.reached)
                if began:
                    pause = _retry.resume_pause(attempt_number) if reader.can_resume() and is_unavailable(err) else None
                if pause is None:
                    raise _broken(id, err) if began and isinstance(err, ConnectionFailed) else err
                now = time.monotonic()
                lasted = (now if silence == math.inf else heard) - opened
                if began and (reader.lines > lines or lasted > _retry.STEADY):
                    attempt_number, down = 0, None
                down = now if down is None else down
                if now - down + (0 if began else pause) > self.timeout:
                    raise _broken(id, err) if began else err
                attempt_number += 1
                await sleep(_retry.jittered(pause))
            finally:
                if response:
                    response.close()

    async def log_lines(
        self,
        id: str,
        lines: str,
        *,
        node: Optional[int] = None,
        attempt: Optional[int] = None,
        timestamps: bool = False,
    ) -> models.LogLines:
        """Returns lines of the log of one node by number: `101-200`, `101-`, or `-100` for the last 100 lines.

        A response has at most 10,000 lines and about 1 MiB.
        """
        query = query_of(lines=lines, node=node, attempt=attempt, timestamps=timestamps)
        answer = await self.request("GET", f"/tasks/{segment(id)}/logs", query=query)
        match = re.match(r"(?:(\d+)-\d+|\*)/(?:(\d+)|\*)$", answer.header.get("x-log-lines", ""))
        first, total = match.groups() if match else (None, None)
        return models.LogLines(
            answer.text().splitlines(keepends=True), int(first) if first else None, int(total) if total else None
        )

    def events(self, *, all_users: bool = False, group: str = "", after: str = "") -> EventStream:
        """Returns the stream of the events of the user, of a group, or of all users, from now on. The stream never
        ends.

        after is the id of an event: the stream then begins with the event after it. The stream resumes after a break of
        the connection, without loss or repeats.
        """
        return opened(EventStream(self, "/events", query_of(all_users=all_users, group=group), after))

    async def past_events(
        self, *, all_users: bool = False, group: str = "", after: str = "", limit: Optional[int] = None
    ) -> List[models.Event]:
        """Returns the events so far, oldest first; after the event with the id after, if it is given."""
        return await self._events("/events", query_of(all_users=all_users, group=group), after, limit)

    async def task_events(self, id: str, *, after: str = "", limit: Optional[int] = None) -> List[models.Event]:
        """Returns the events of a task so far, oldest first."""
        return await self._events(f"/tasks/{segment(id)}/events", [], after, limit)

    async def _events(self, path: str, query: Query, after: str, limit: Optional[int]) -> List[models.Event]:
        found: List[models.Event] = []
        while True:
            size = min(limit - len(found), _EVENT_PAGE) if limit is not None else _EVENT_PAGE
            answer = await self.request("GET", path, query=[*query, *query_of(limit=size, last_event_id=after)])
            page = [models.decode(models.Event, e) for e in answer.json()["events"]]
            found += page
            if len(page) < size or len(found) == limit:
                return found
            after = page[-1].id

    # Sessions

    async def exec(
        self, id: str, command: Union[str, Sequence[str]], *, node: int = 0, timeout: Optional[float] = None
    ) -> models.Executed:
        """Runs a command without input in the container of a node, and returns its exit code and its output.

        A text is a command of sh; a list is a program with its arguments. The exit code is 127 if the
        image has no such command. The error is SessionBroken if the session ends before the command, also after timeout
        seconds; the command may then continue. exec never runs a command twice.
        """
        arguments = ["sh", "-c", command] if isinstance(command, str) else list(command)
        query = query_of(node=str(node), command=arguments)
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        session = await self._session(f"/tasks/{segment(id)}/exec", query)
        output = {_websocket.STDOUT: bytearray(), _websocket.STDERR: bytearray()}
        try:
            while True:
                channel, data = await self._message(session, deadline)
                if channel in output:
                    output[channel] += data
                elif channel == _websocket.STATUS:
                    end = json.loads(data)
                    if end.get("exit_code") is None:
                        raise SessionBroken(end.get("error") or "the server did not report an exit code")
                    out, err = output.values()
                    return models.Executed(int(end["exit_code"]), bytes(out), bytes(err))
        except (ConnectionFailed, SessionBroken, TimeoutError, ValueError) as err:
            said = f"the session broke off, and the command may still run: task {id}: {err}"
            if isinstance(err, TimeoutError):
                said = f"the command did not end within {timeout:g} s, and may still run: task {id}"
            broken = SessionBroken(said)
            broken.task_id = id
            raise broken from err
        finally:
            session.close()

    async def _session(self, path: str, query: Query) -> Response:
        """Opens a WebSocket. If the server is too busy, it tries again until the timeout of the client."""
        began, attempt = time.monotonic(), 0
        while True:
            headers, accept = _websocket.handshake()
            try:
                response = await self.open("GET", path, query=query, headers=headers, reuse=False, upgrade=True)
            except ApiError as err:
                pause = _retry.pause_before_retry(err, attempt, self.reached)
                if pause is None or time.monotonic() + pause - began > self.timeout:
                    raise
                attempt += 1
                await sleep(_retry.jittered(pause))
                continue
            if (
                response.header.get("sec-websocket-accept") != accept
                or response.header.get("sec-websocket-protocol") != _websocket.PROTOCOL
            ):
                response.close()
                raise WrongAnswer(f"the API server at {self.url} does not support the protocol {_websocket.PROTOCOL}")
            return response

    async def _message(self, session: Response, deadline: float) -> Tuple[int, bytes]:
        """Returns the channel and the content of the next message, and answers pings."""
        message = b""
        while True:
            first, size = await self._exactly(session, 2, deadline)
            if size in (126, 127):
                size = int.from_bytes(await self._exactly(session, 2 if size == 126 else 8, deadline), "big")
            if len(message) + size > _websocket.LIMIT:
                raise SessionBroken(f"the server sent a message of {size} bytes")
            data = await self._exactly(session, size, deadline)
            opcode = first & _websocket.OPCODE
            if opcode == _websocket.CLOSE:
                raise SessionBroken(data[2:].decode("utf-8", "replace") or "the server closed the session")
            if opcode == _websocket.PING:
                await session.write(_websocket.frame(_websocket.PONG, data))
            elif opcode != _websocket.PONG:
                message += data
                if first & _websocket.FINAL and message:
                    return message[0], message[1:]

    async def _exactly(self, session: Response, size: int, deadline: float) -> bytes:
        """Returns bytes of a session. The error is TimeoutError at the deadline, a value of time.monotonic."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        try:
            return await session.exactly(size, min(_websocket.SILENCE, left))
        except ConnectionFailed as err:
            if err.late and left <= _websocket.SILENCE:
                raise TimeoutError from err
            raise

    # Volumes

    async def create_volume(
        self,
        name: str,
        size: str,
        *,
        storage_class: Optional[str] = None,
        access_modes: Sequence[str] = (),
        key: str = "",
    ) -> models.Volume:
        """Creates a volume. The cluster may provision the volume later.

        Without storage_class, the volume uses the default class of the cluster; "" requests a claim without a class.
        """
        fields: Dict[str, Any] = {"name": name, "size": size}
        if storage_class is not None:
            fields["storage_class"] = storage_class
        if access_modes:
            fields["access_modes"] = list(access_modes)
        body, kind = body_of(fields)
        answer = await self.request(
            "POST", "/volumes/create", body=body, content_type=kind, key=key or _retry.new_key()
        )
        return await self.volume(str(answer.json()["volume_id"]))

    async def volume(self, id: str) -> models.Volume:
        """Returns the status of a volume."""
        return await self.fetch(models.Volume, f"/volumes/{segment(id)}", about=("volume_id", id))

    async def volumes(
        self,
        *,
        all_users: bool = False,
        name: str = "",
        status: Union[models.VolumePhase, Literal[""]] = "",
        page_size: int = PAGE,
    ) -> AsyncIterator[models.Volume]:
        """Returns the volumes of the user, or of all users, newest first. Reads one page after the other."""
        filters = {"all_users": all_users, "name": name, "status": status, "limit": page_size}
        async for found in self.fetch_pages(models.Volume, "/volumes", "volumes", **filters):
            yield found

    async def delete_volume(self, id: str, *, force: bool = False) -> None:
        """Deletes a volume and its content. The error is VolumeInUse if tasks use the volume, unless force is set."""
        await self.request("DELETE", f"/volumes/{segment(id)}", query=query_of(force=force), key=_retry.new_key())

    def volume_events(self, id: str, *, after: str = "") -> EventStream:
        """Returns the stream of the events of a volume, from the first event on, until the volume is deleted."""
        return opened(EventStream(self, f"/volumes/{segment(id)}/events", [], after, about=("volume_id", id)))

    # Uploads

    async def upload_limit(self) -> int:
        """Returns the largest size of an archive in bytes. The error is Invalid if the server accepts no uploads."""
        answer = await self.request("GET", "/uploads")
        return int(answer.json()["max_bytes"])

    async def has_upload(self, sha256: str) -> bool:
        """Reports whether the server has an archive of the user."""
        try:
            await self.request("HEAD", f"/uploads/{segment(sha256)}", safe=True)
        except NotFound:
            return False
        return True

    async def upload(self, path: str, sha256: str) -> None:
        """Stores an archive, a tar file that is compressed with gzip. upload has no timeout."""
        body = _http.File(path, os.path.getsize(path))
        attempt, paused = 0, 0.0
        while True:
            try:
                target = f"/uploads/{segment(sha256)}"
                response = await self.open("PUT", target, body=body, content_type="application/gzip", timeout=_UPLOAD_TIMEOUT)
                await response.read(time.monotonic() + self.timeout)
                return
            except (ApiError, ConnectionFailed) as err:
                pause = _retry.pause_before_retry(err, attempt, self.reached)
                if pause is None or paused + pause > self.timeout:
                    raise
                attempt, paused = attempt + 1, paused + pause
                await sleep(_retry.jittered(pause))

    async def download(self, sha256: str) -> bytes:
        """Returns an archive of the user."""
        answer = await self.request("GET", f"/uploads/{segment(sha256)}")
        return answer.body

    async def task_file(self, id: str, sha256: str, token: str) -> bytes:
        """Returns an archive of a task, for programs in the pods of the task, which have the token of the task."""
        headers = {"Authorization": "Bearer " + token}
        answer = await self.request("GET", f"/tasks/{segment(id)}/files/{segment(sha256)}", headers=headers, login=False)
        return answer.body

    # The user and the server

    async def whoami(self) -> models.Whoami:
        """Returns the user that the server identified, with limits and usage."""
        return await self.fetch(models.Whoami, "/whoami")

    async def notify_secret(self) -> str:
        """Returns the secret with which the user verifies the signatures of notifications (Standard Webhooks)."""
        got = await self.fetch(models.NotifySecret, "/notify/secret")
        return got.secret

    async def limits(self) -> models.Limits:
        """Returns the limits of the user."""
        who = await self.whoami()
        return who.limits

    async def login_method(self) -> models.LoginMethod:
        """Returns how users authenticate to the server. Needs no login."""
        return await self.fetch(models.LoginMethod, "/auth", login=False)

    async def health(self) -> None:
        """Returns if the server answers and is an API server of k8s-cli; otherwise raises an error."""
        answer = await self.request("GET", "/", login=False, headers={"Accept": "application/json"})
        try:
            said = answer.json()
        except WrongAnswer:
            said = None
        if not isinstance(said, dict) or said.get("status") != "ok" or said.get("service") != "k8s-cli-api":
            raise Error(f"{self.url} is not a healthy API server of k8s-cli")

    async def live(self) -> bool:
        """Reports whether a pod of the server is alive."""
        answer = await self.request("GET", "/healthz", login=False)
        return bool(answer.json()["status"] == "ok")

    async def ready(self) -> models.Readiness:
        """Returns whether a pod of the server answers requests, and what is degraded."""
        try:
            return await self.fetch(models.Readiness, "/readyz", login=False, retry=False)
        except ApiError as err:
            if err.status != 503:
                raise
            return models.Readiness(ready=False, detail=err.detail, reason=err.reason)

    async def metrics(self) -> str:
        """Returns the metrics of a pod of the server in the format of Prometheus."""
        answer = await self.request("GET", "/metrics", login=False)
        return answer.text()

    async def openapi(self) -> Dict[str, Any]:
        """Returns the description of the API in OpenAPI 3.1."""
        answer = await self.request("GET", "/openapi.json", login=False)
        document: Dict[str, Any] = answer.json()
        return document

    async def task_schema(self) -> Dict[str, Any]:
        """Returns the JSON Schema of task files."""
        answer = await self.request("GET", "/schema/task.json", login=False)
        document: Dict[str, Any] = answer.json()
        return document

    async def docs(self, file: str = "") -> str:
        """Returns the page with the description of the API for browsers, or a file of the page."""
        answer = await self.request("GET", f"/docs/{segment(file)}" if file else "/docs", login=False)
        return answer.text()


def _broken(id: str, err: Exception) -> LogBroken:
    broken = LogBroken(f"the log broke off: task {id}: {err}")
    broken.__cause__, broken.task_id = err, id
    return broken
