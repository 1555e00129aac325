"""Streams of events."""

import json
import time
from typing import Optional, Sequence, Tuple

from .. import _retry, _streams, models
from ..errors import ApiError, ConnectionFailed, NotFound, WaitTimeout, is_unavailable
from ._io import Response, sleep
from ._requests import Requests, check_answer, query_of, segment

_QUIET = 45.0  # seconds of silence after which the client treats a stream as broken


class EventStream:
    """An iterator of events. After a break of the connection, the stream resumes on any pod of the server.

    The stream contains every event that happens after its connection was opened. A blocking call that returns a stream
    opens the connection; for asyncio, `async with`, `open` and the first step of an iteration open it. The stream of
    one object ends when the object is over, and the stream of a group when all tasks of the group are over. The error
    is EventsExpired if events were missed during an interruption, and ConnectionFailed or Unavailable if the stream
    cannot reconnect.
    """

    def __init__(
        self,
        client: Requests,
        path: str,
        query: Sequence[Tuple[str, str]],
        after: str,
        *,
        about: Tuple[str, str] = ("", ""),
        group: str = "",
    ) -> None:
        """about is the field that names the object of the stream, and its value, if the stream is of one object.

        group is the name of the group whose end ends the stream.
        """
        self.last_id = after  # id of the last event
        self._client, self._path, self._query = client, path, query
        self._about, self._group = about, group
        self._left = 0  # events to deliver until the group may be over
        self._late = False  # the group is over: _left counts all stored events, and not only those that end a task
        self._over = self._opened = False
        self._response: Optional[Response] = None
        self._reader = _streams.EventReader()
        self._ready: "list[_streams.Message]" = []

    async def __aenter__(self) -> "EventStream":
        await self.open()
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def __aiter__(self) -> "EventStream":
        return self

    async def __anext__(self) -> models.Event:
        event = await self.next()
        if event is None:
            raise StopAsyncIteration
        return event

    async def open(self, timeout: float = _QUIET) -> None:
        """Opens the connection, if the stream has none. timeout is the longest time in seconds for one attempt."""
        if self._response is None and not self._over:
            await self._connect(None, timeout)

    async def _open(self, timeout: float) -> None:
        headers = {"Accept": "text/event-stream", "Accept-Encoding": "identity", "Last-Event-ID": self.last_id}
        response = await self._client.open("GET", self._path, query=self._query, headers=headers, timeout=timeout)
        self._opened = True
        if response.status == 204:  # the object is over, and there are no more events
            self._over = True
            response.close()
            return
        self._response, self._reader = response, _streams.EventReader()

    async def next(self, deadline: Optional[float] = None, *, patient: bool = False) -> Optional[models.Event]:
        """Waits for the next event. Returns None after the last event of an object.

        deadline is a value of time.monotonic; the error is WaitTimeout if no event arrives until then. A patient stream
        tries to reconnect until the deadline, and not only until the timeout of the client.
        """
        while True:
            while self._ready:
                message = self._ready.pop(0)
                self.last_id = message.id or self.last_id
                if message.data:
                    fields = json.loads(message.data)
                    field, asked = self._about
                    if field:
                        check_answer(self._client.url, field, asked, fields.get(field))
                    event = models.decode(models.Event, fields)
                    self._over = bool(field) and event.over
                    if self._over:
                        self.close()
                    self._left -= 1 if event.id and (self._late or event.kind == "task" and event.over) else 0
                    return event
            if self._over:
                return None
            if self._response is None:
                await self._connect(deadline, _QUIET, patient)
            elif self._group and self._left <= 0 and self.last_id:
                await self._count()
            else:
                await self._read(self._response, deadline)

    async def _count(self) -> None:
        """Asks how many tasks of the group are not over. If there are none, asks which events are still to come."""
        try:
            path = f"/groups/{segment(self._group)}"
            status = await self._client.fetch(models.GroupStatus, path, about=("group", self._group))
        except NotFound:  # the first task is not submitted yet
            self._left, self._late = 1, False
            return
        self._left, self._late = status.unfinished, status.unfinished == 0
        if self._late:
            query = [*self._query, *query_of(last_event_id=self.last_id)]
            answer = await self._client.request("GET", self._path, query=query)
            self._left = len(answer.json()["events"])
            self._over = self._left == 0
            if self._over:
                self.close()

    async def _read(self, response: Response, deadline: Optional[float]) -> None:
        try:
            data = await response.chunk(_left(deadline))
            self._ready += self._reader.feed(data)
            if data:
                return
        except ConnectionFailed:
            pass
        self.close()

    async def _connect(self, deadline: Optional[float], limit: float, patient: bool = False) -> None:
        """Opens the connection, and tries again until the timeout of the client, or a patient one until the deadline.

        An attempt lasts limit seconds at most.
        """
        began, attempt = time.monotonic(), 0
        pause = _retry.LISTEN_PAUSE if self._opened else 0.0
        while True:
            await sleep(min(_retry.jittered(pause), _left(deadline)))
            try:
                return await self._open(min(limit, _left(deadline)))
            except (ApiError, ConnectionFailed) as err:
                _left(deadline)
                again: Optional[float] = _retry.LISTEN_PAUSE if is_unavailable(err) else None
                if not self._opened:
                    again = _retry.pause_before_retry(err, attempt, self._client.reached)
                if again is None or not patient and time.monotonic() + again - began > self._client.timeout:
                    raise
                attempt, pause = attempt + 1, again

    def close(self) -> None:
        """Closes the connection. The next step of an iteration opens another one."""
        if self._response:
            self._response.close()
            self._response = None


def _left(deadline: Optional[float]) -> float:
    """Returns how long to wait for a stream, in seconds."""
    left = _QUIET if deadline is None else min(_QUIET, deadline - time.monotonic())
    if left <= 0:
        raise WaitTimeout("no event arrived in time")
    return left
