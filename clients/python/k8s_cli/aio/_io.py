"""The input and output of the client on asyncio: a small HTTP/1.1 client. A task that is cancelled
closes its connection."""

import asyncio
import math
import os
import socket
import time
from typing import Any, Awaitable, BinaryIO, Callable, Coroutine, List, Mapping, Optional, Set, Tuple, TypeVar

from .._http import (
    CONNECT_TIMEOUT,
    IDLE_TIMEOUT,
    MAX_HEAD,
    Body,
    File,
    Headers,
    Origin,
    keep_alive,
    merged,
    not_inherited,
    of_parent,
    open_tunnel,
    process,
    unreachable,
)
from ..errors import ConnectionFailed

T = TypeVar("T")

sleep = asyncio.sleep
_background: Set["asyncio.Task[None]"] = set()  # the event loop itself keeps only weak references


async def call(function: Callable[..., T], *arguments: Any) -> T:
    """Calls a function that may block, in another thread."""
    return await asyncio.to_thread(function, *arguments)


async def within(work: Coroutine[Any, Any, T], limit: float, lost: Optional[Callable[[T], None]] = None) -> T:
    """Returns the result of work, or raises asyncio.TimeoutError after limit seconds.

    asyncio.wait_for of Python before 3.12 ignores a cancellation that comes together with the result. Here, the
    caller is cancelled, and lost is called with the result.
    """
    if limit == math.inf:
        return await work
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=limit)
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled() and not task.exception() and lost:
            lost(task.result())
        raise
    if task.cancelled():
        raise asyncio.TimeoutError
    return task.result()


def opened(stream: T) -> T:
    """Returns a stream of events, which opens its connection when the caller awaits it."""
    return stream


def spawn(function: Callable[..., Awaitable[None]], *arguments: Any) -> None:
    """Runs a function in the background, if an event loop runs."""

    async def run() -> None:
        await function(*arguments)

    try:
        task = asyncio.get_running_loop().create_task(run())
    except RuntimeError:
        return
    _background.add(task)
    task.add_done_callback(_background.discard)


class _Reader(asyncio.StreamReader):
    """A reader that still has the bytes that arrived before a reset."""

    def set_exception(self, exc: BaseException) -> None:
        self.feed_eof()


class _Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.loop = asyncio.get_running_loop()
        self.since = time.monotonic()  # when the connection became idle
        not_inherited(self)

    def after_fork(self) -> None:
        """Puts an unconnected socket in the place of the socket of the parent.

        The event loop of the parent and its copy in the child share an epoll. If the child closed the transport, as
        Python does when it deletes a writer, the epoll would no longer watch the socket for the parent.
        """
        if not self.writer.is_closing():
            with socket.socket() as other:
                os.dup2(other.fileno(), self.writer.get_extra_info("socket").fileno(), inheritable=False)

    def is_usable(self) -> bool:
        return (
            self.loop is asyncio.get_running_loop()
            and time.monotonic() - self.since < IDLE_TIMEOUT
            and not self.reader.at_eof()
            and not self.writer.is_closing()
        )

    def close(self) -> None:
        if not self.loop.is_closed():
            self.writer.transport.abort()


async def _open_connection(**options: Any) -> _Connection:
    loop = asyncio.get_running_loop()
    reader = _Reader(loop=loop)
    protocol = asyncio.StreamReaderProtocol(reader, loop=loop)
    transport, _ = await loop.create_connection(lambda: protocol, **options)
    return _Connection(reader, asyncio.StreamWriter(transport, protocol, reader, loop))


class Response:
    """The response to a request. The caller reads it to the end or closes it."""

    def __init__(
        self, transport: "Transport", connection: _Connection, method: str, status: int, header: Mapping[str, str]
    ) -> None:
        self._transport, self._connection = transport, connection
        self.status, self.header = status, header
        self._chunked = header.get("transfer-encoding", "").lower() == "chunked"
        self._left = 0 if self._chunked else int(header.get("content-length", -1))  # bytes
        self._released = False
        self._process = process()
        self._first = True  # no chunk has begun
        empty = method == "HEAD" or status in (101, 204, 304)
        if self._left < 0 and not self._chunked and not empty:
            raise EOFError("the response has no length")  # its end could be a broken connection
        self._over = empty or (not self._chunked and self._left == 0)

    async def chunk(self, timeout: float) -> bytes:
        """Returns bytes of the body as soon as there are some, and b"" at its end."""
        if self._process is not process():
            raise of_parent(self._transport.url)
        try:
            return await within(self._chunk(), timeout)
        except asyncio.TimeoutError as err:
            self.close()
            raise unreachable(self._transport.url, err, timeout) from err
        except (OSError, EOFError, ValueError) as err:
            self.close()
            raise unreachable(self._transport.url, err) from err
        except BaseException:
            self.close()
            raise

    async def _chunk(self) -> bytes:
        if self._over:
            return b""
        reader = self._connection.reader
        if self._chunked and self._left == 0:
            await self._begin_chunk(reader)
            if self._over:
                return b""
        data = await reader.read(min(self._left, 1 << 16))
        if not data:
            raise EOFError("the connection ended within the response")
        self._left -= len(data)
        self._over = not self._chunked and self._left == 0
        return data

    async def _begin_chunk(self, reader: asyncio.StreamReader) -> None:
        if not self._first:
            await _line(reader)  # the end of the chunk before
        self._first = False
        self._left = int((await _line(reader)).partition(b";")[0], 16)
        if self._left < 0:
            raise ValueError("a chunk of the response has a negative size")
        if self._left == 0:
            while await _line(reader):
                pass  # a trailer
            self._over = True

    async def exactly(self, size: int, timeout: float) -> bytes:
        """Returns bytes that follow the head of a response that switched protocols."""
        try:
            return await within(self._connection.reader.readexactly(size), timeout)
        except asyncio.TimeoutError as err:
            self.close()
            raise unreachable(self._transport.url, err, timeout) from err
        except asyncio.IncompleteReadError:
            self.close()
            raise unreachable(self._transport.url, EOFError("the connection ended")) from None
        except OSError as err:
            self.close()
            raise unreachable(self._transport.url, err) from err
        except BaseException:
            self.close()
            raise

    async def write(self, data: bytes) -> None:
        """Sends bytes after a response that switched protocols."""
        try:
            self._connection.writer.write(data)
            await self._connection.writer.drain()
        except OSError as err:
            self.close()
            raise unreachable(self._transport.url, err) from err

    async def read(self, deadline: float) -> bytes:
        """Returns the rest of the body. The connection can then serve other requests."""
        parts = []
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                self.close()
                said = f"cannot reach the API server at {self._transport.url}: the answer took too long"
                raise ConnectionFailed(said, late=True)
            data = await self.chunk(left)
            if not data:
                break
            parts.append(data)
        if self.header.get("connection", "").lower() == "close":
            self.close()
        else:
            self._released = True
            self._transport.release(self._connection)
        return b"".join(parts)

    def close(self) -> None:
        """Closes the connection, unless the response was read to the end, or the connection is one of the parent."""
        if not self._released and self._process is process():
            self._connection.close()


async def _line(reader: asyncio.StreamReader) -> bytes:
    """Reads a line of a head."""
    line = await reader.readline()
    if not line.endswith(b"\n"):
        raise EOFError("the connection ended within the response")
    return line.rstrip(b"\r\n")


class Transport:
    """Connections to the server, for the event loops of one thread. After a fork, both processes may use it."""

    def __init__(self, origin: Origin) -> None:
        self.url = origin.url
        self._origin = origin
        self.after_fork()
        not_inherited(self)

    def after_fork(self) -> None:
        """Forgets the connections of the parent."""
        self._idle: List[_Connection] = []

    async def send(
        self, method: str, target: str, headers: Headers, body: Body, timeout: float, reuse: bool
    ) -> Response:
        """Sends a request and returns the response, whose body is not read yet.

        reuse allows connections that the server may be closing. If such a connection breaks, send
        sends the request again.
        """
        deadline = time.monotonic() + timeout
        while True:
            connection = self._take() if reuse else None
            old = connection is not None
            try:
                connection = connection or await self._connect(timeout)
                left = max(deadline - time.monotonic(), 0.001)
                return await within(self._exchange(connection, method, target, headers, body), left)
            except (asyncio.TimeoutError, OSError, EOFError, ValueError) as err:
                if connection:
                    connection.close()
                limit = timeout if isinstance(err, asyncio.TimeoutError) else None
                failed = unreachable(self.url, err, limit)
                if not (old and failed.broke):
                    raise failed from err
            except BaseException:
                if connection:
                    connection.close()
                raise

    async def _connect(self, timeout: float) -> _Connection:
        origin, limit = self._origin, min(timeout, CONNECT_TIMEOUT)
        name = origin.host if origin.tls else None
        if origin.proxy and origin.tls:
            sock = await call(open_tunnel, origin)
            opening = _open_connection(sock=sock, ssl=origin.context, server_hostname=name)
        else:
            host, port = (origin.proxy.host, origin.proxy.port) if origin.proxy else (origin.host, origin.port)
            opening = _open_connection(host=host, port=port, ssl=origin.context, server_hostname=name)
        connection = await within(opening, limit, _Connection.close)
        keep_alive(connection.writer.get_extra_info("socket"))
        return connection

    async def _exchange(
        self, connection: _Connection, method: str, target: str, headers: Headers, body: Body
    ) -> Response:
        head = [f"{method} {target} HTTP/1.1".encode("ascii")] + [name + b": " + value for name, value in headers]
        writer = connection.writer
        writer.write(b"\r\n".join(head) + b"\r\n\r\n")
        try:
            if isinstance(body, File):
                await _send_file(writer, body.path)
            elif body:
                writer.write(body)
            await writer.drain()
        except (BrokenPipeError, ConnectionResetError):
            try:
                return await self._response(connection, method)  # an error may precede the end of a body
            except (OSError, EOFError, ValueError):
                pass
            raise
        return await self._response(connection, method)

    async def _response(self, connection: _Connection, method: str) -> Response:
        status = 100
        while 100 <= status < 200 and status != 101:
            status, header = await _head(connection.reader)
        return Response(self, connection, method, status, header)

    def _take(self) -> Optional[_Connection]:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_usable():
                return connection
            connection.close()
        return None

    def release(self, connection: _Connection) -> None:
        connection.since = time.monotonic()
        self._idle.append(connection)

    async def close(self) -> None:
        """Closes the idle connections."""
        idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()


async def _send_file(writer: asyncio.StreamWriter, path: str) -> None:
    file = await call(_open, path)
    try:
        while True:
            data = await call(file.read, 1 << 18)
            if not data:
                return
            writer.write(data)
            await writer.drain()
    finally:
        file.close()


def _open(path: str) -> BinaryIO:
    return open(path, "rb")


async def _head(reader: asyncio.StreamReader) -> Tuple[int, Mapping[str, str]]:
    """Reads the status and the headers of a response."""
    first = await _line(reader)
    parts = first.split(b" ", 2)
    if len(parts) < 2 or not parts[0].startswith(b"HTTP/1.") or not parts[1].isdigit():
        raise ValueError(f"the response begins with {first[:80]!r}")
    lines: List[Tuple[str, str]] = []
    size = len(first)
    while True:
        line = await _line(reader)
        if not line:
            return int(parts[1]), merged(lines)
        size += len(line)
        if size > MAX_HEAD:
            raise ValueError("the head of the response is too large")
        name, _, value = line.decode("latin-1").partition(":")
        lines.append((name, value.strip()))
