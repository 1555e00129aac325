"""The input and output of the client. `k8s_cli.aio._io` has the same names for asyncio."""

import http.client
import math
import socket
import threading
import time
from typing import Any, Callable, List, Mapping, Optional, Protocol, Tuple, TypeVar

from ._http import (
    CONNECT_TIMEOUT,
    IDLE_TIMEOUT,
    Body,
    File,
    Headers,
    Origin,
    keep_alive,
    merged,
    not_inherited,
    of_parent,
    process,
    tunnel_headers,
    unreachable,
)
from .errors import ConnectionFailed

T = TypeVar("T")


class _Stream(Protocol):
    def open(self) -> None: ...


S = TypeVar("S", bound=_Stream)

sleep = time.sleep


def call(function: Callable[..., T], *arguments: Any) -> T:
    """Calls a function that may block."""
    return function(*arguments)


def opened(stream: S) -> S:
    """Opens the connection of a stream of events."""
    stream.open()
    return stream


def spawn(function: Callable[..., None], *arguments: Any) -> None:
    """Runs a function in the background."""
    threading.Thread(target=function, args=arguments, daemon=True).start()


def _is_timeout(err: BaseException) -> bool:
    return isinstance(err, (socket.timeout, TimeoutError))


class _Head:
    """The head of a response. http.client takes the end of the connection for the end of the head."""

    def __init__(self, file: Any) -> None:
        self._file = file

    def readline(self, limit: int = -1) -> bytes:
        line: bytes = self._file.readline(limit)
        if not line.endswith(b"\n"):
            raise ConnectionResetError("the connection ended within the head of the response")
        return line

    def close(self) -> None:
        self._file.close()


class _HTTPResponse(http.client.HTTPResponse):
    fp: Any

    def begin(self) -> None:
        file, self.fp = self.fp, _Head(self.fp)
        try:
            super().begin()
        finally:
            self.fp = file if self.fp else None  # http.client forgets the file of a response that it cannot read
        if self.length is None and not self.chunked:
            raise ConnectionResetError("the response has no length")  # its end could be a broken connection


class Response:
    """The response to a request. The caller reads it to the end or closes it."""

    def __init__(self, transport: "Transport", connection: http.client.HTTPConnection, sock: Any, raw: Any) -> None:
        self._transport, self._connection, self._sock, self._raw = transport, connection, sock, raw
        self.status: int = raw.status
        self._released = False
        self._process = process()
        self.header: Mapping[str, str] = merged(raw.getheaders())

    def chunk(self, timeout: float) -> bytes:
        """Returns bytes of the body as soon as there are some, and b"" at its end."""
        if self._process is not process():
            raise of_parent(self._transport.url)
        try:
            if self._raw.isclosed():
                return b""
            self._sock.settimeout(None if timeout == math.inf else timeout)
            data: bytes = self._raw.read1(1 << 16)
            if not data and self._raw.length:
                raise EOFError("the connection ended within the response")
            return data
        except (OSError, http.client.HTTPException, EOFError, ValueError) as err:
            self.close()
            raise unreachable(self._transport.url, err, timeout if _is_timeout(err) else None) from err

    def exactly(self, size: int, timeout: float) -> bytes:
        """Returns bytes that follow the head of a response that switched protocols."""
        try:
            self._sock.settimeout(timeout)
            data: bytes = self._raw.fp.read(size)
            if len(data) < size:
                raise EOFError("the connection ended")
            return data
        except (OSError, EOFError) as err:
            self.close()
            raise unreachable(self._transport.url, err, timeout if _is_timeout(err) else None) from err

    def write(self, data: bytes) -> None:
        """Sends bytes after a response that switched protocols."""
        try:
            self._sock.sendall(data)
        except OSError as err:
            self.close()
            raise unreachable(self._transport.url, err) from err

    def read(self, deadline: float) -> bytes:
        """Returns the rest of the body. The connection can then serve other requests."""
        parts = []
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                self.close()
                said = f"cannot reach the API server at {self._transport.url}: the answer took too long"
                raise ConnectionFailed(said, late=True)
            data = self.chunk(left)
            if not data:
                break
            parts.append(data)
        if self._raw.will_close:
            self.close()
        else:
            self._raw.close()  # http.client requires it before the next request
            self._released = True
            self._transport.release(self._connection)
        return b"".join(parts)

    def close(self) -> None:
        """Closes the connection, unless the response was read to the end, or the connection is one of the parent."""
        if not self._released and self._process is process():
            self._raw.close()
            self._connection.close()


class Transport:
    """Connections to the server. A transport is safe for concurrent use, and after a fork in both processes."""

    def __init__(self, origin: Origin) -> None:
        self.url = origin.url
        self._origin = origin
        self.after_fork()
        not_inherited(self)

    def after_fork(self) -> None:
        """Forgets the connections of the parent."""
        self._lock = threading.Lock()
        self._idle: List[Tuple[http.client.HTTPConnection, float]] = []

    def send(
        self, method: str, target: str, headers: Headers, body: Body, timeout: float, reuse: bool
    ) -> Response:
        """Sends a request and returns the response, whose body is not read yet.

        reuse allows connections that the server may be closing. If such a connection breaks, send
        sends the request again.
        """
        while True:
            connection = self._take() if reuse else None
            old = connection is not None
            try:
                connection = connection or self._connect(timeout)
                return self._exchange(connection, method, target, headers, body, timeout)
            except (OSError, http.client.HTTPException) as err:
                if connection:
                    connection.close()
                failed = unreachable(self.url, err, timeout if _is_timeout(err) else None)
                if not (old and failed.broke):
                    raise failed from err
            except BaseException:
                if connection:
                    connection.close()
                raise

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        origin, proxy = self._origin, self._origin.proxy
        host, port = (proxy.host, proxy.port) if proxy else (origin.host, origin.port)
        limit = min(timeout, CONNECT_TIMEOUT)
        connection: http.client.HTTPConnection
        if origin.tls:
            connection = http.client.HTTPSConnection(host, port, timeout=limit, context=origin.context)
            if proxy:
                connection.set_tunnel(origin.host, origin.port, tunnel_headers(proxy))
        else:
            connection = http.client.HTTPConnection(host, port, timeout=limit)
        connection.response_class = _HTTPResponse
        connection.connect()
        keep_alive(connection.sock)
        return connection

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        target: str,
        headers: Headers,
        body: Body,
        timeout: float,
    ) -> Response:
        sock = connection.sock
        sock.settimeout(None if timeout == math.inf else timeout)
        connection.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        put: Callable[..., None] = connection.putheader  # type stubs allow only text
        for name, value in headers:
            put(name, value)
        try:
            if isinstance(body, File):
                with open(body.path, "rb") as file:
                    connection.endheaders(file)
            else:
                connection.endheaders(body)
        except (BrokenPipeError, ConnectionResetError):
            try:
                return Response(self, connection, sock, connection.getresponse())  # an error may precede the end of a body
            except (OSError, http.client.HTTPException):
                pass
            raise
        return Response(self, connection, sock, connection.getresponse())

    def _take(self) -> Optional[http.client.HTTPConnection]:
        with self._lock:
            while self._idle:
                connection, since = self._idle.pop()
                if time.monotonic() - since < IDLE_TIMEOUT:
                    return connection
                connection.close()
        return None

    def release(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            self._idle.append((connection, time.monotonic()))

    def close(self) -> None:
        """Closes the idle connections."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()
