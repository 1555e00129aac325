"""What both transports share: addresses, headers, proxies and errors."""

import base64
import errno
import http.client
import json
import os
import re
import socket
import ssl
import urllib.request
import weakref
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union
from urllib.parse import quote, unquote, urlencode, urljoin, urlsplit

from .errors import ApiError, ArgumentInvalid, ConnectionFailed, api_error

CONNECT_TIMEOUT = 10.0  # longest wait for a connection in seconds
IDLE_TIMEOUT = 30.0  # seconds after which an idle connection is closed instead of reused
MAX_HEAD = 64 << 10  # largest head of a response in bytes
_MAX_DETAIL = 64 << 10  # larger than any message of the server; bounds the error page of a proxy

_process = object()
_inherited: "weakref.WeakSet[Any]" = weakref.WeakSet()


def process() -> object:
    """Returns an object that identifies this process. A child process that `os.fork` creates has another object."""
    return _process


def not_inherited(owner: Any) -> None:
    """Calls owner.after_fork in each child of a fork, before any other code of the child runs.

    A child that used a connection of its parent would read answers to the requests of the parent, and a lock that
    another thread of the parent held would never be released.
    """
    _inherited.add(owner)


def _after_fork() -> None:
    global _process
    _process = object()
    for owner in list(_inherited):
        owner.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

Query = Sequence[Tuple[str, Union[str, int]]]
Headers = List[Tuple[bytes, bytes]]


class File(NamedTuple):
    """A file that is sent unchanged as the body of a request."""

    path: str
    size: int


Body = Union[None, bytes, File]


class Proxy(NamedTuple):
    host: str
    port: int
    authorization: str  # value of Proxy-Authorization; empty without credentials


class Origin:
    """The server, and how to reach it."""

    def __init__(self, url: str, context: Optional[ssl.SSLContext]) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ArgumentInvalid(f"{url!r} is not the URL of a server; for example http://localhost:8000", "url")
        self.url = url
        self.host = parts.hostname
        self.tls = parts.scheme == "https"
        self.port = parts.port or (443 if self.tls else 80)
        self.context = (context or ssl.create_default_context()) if self.tls else None
        self.proxy = _proxy_of(parts.scheme, parts.hostname, parts.netloc)
        self._netloc = parts.netloc.rpartition("@")[2]
        self._path = parts.path.rstrip("/")

    def target(self, path: str, query: Query) -> str:
        """Returns the target of a request in its first line."""
        target = self._path + path + ("?" + urlencode(query, quote_via=quote) if query else "")
        through = self.proxy and not self.tls  # a proxy gets the whole URL of a plain HTTP request
        return f"http://{self._netloc}{target}" if through else target

    def headers(self, headers: Mapping[str, str], method: str, body: Body) -> Headers:
        """Returns the headers of a request in bytes."""
        all_headers = {"Host": self._netloc, **headers}
        if body is not None or method in ("POST", "PUT"):
            all_headers["Content-Length"] = str(body.size if isinstance(body, File) else len(body or b""))
        if self.proxy and self.proxy.authorization and not self.tls:
            all_headers["Proxy-Authorization"] = self.proxy.authorization
        return [(name.encode("ascii"), _value(name, value)) for name, value in all_headers.items() if value]


def _value(name: str, value: str) -> bytes:
    if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", value):
        raise ArgumentInvalid(f"the header {name} must not have control characters", name)
    return value.encode("utf-8")


def _proxy_of(scheme: str, host: str, netloc: str) -> Optional[Proxy]:
    """Returns the proxy that HTTP_PROXY, HTTPS_PROXY and NO_PROXY, or the settings of the system, select."""
    address = urllib.request.getproxies().get(scheme)
    local = host == "localhost" or host.startswith("127.") or host == "::1"
    if not address or local or urllib.request.proxy_bypass(netloc):
        return None
    parts = urlsplit(address if "://" in address else "http://" + address)
    if not parts.hostname:
        return None
    authorization = ""
    if parts.username:
        secret = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = "Basic " + base64.b64encode(secret.encode()).decode()
    return Proxy(parts.hostname, parts.port or 80, authorization)


def merged(lines: Iterable[Tuple[str, str]]) -> Mapping[str, str]:
    """Returns the headers of a response by lower-case name. Several values of a header are joined by newlines."""
    headers: Dict[str, str] = {}
    for name, value in lines:
        key = name.strip().lower()
        headers[key] = headers[key] + "\n" + value if key in headers else value
    return headers


def segment(text: str) -> str:
    """Escapes a segment of a path."""
    return quote(text, safe="")


def task_of(path: str) -> str:
    """Returns the id of the task that a path names; empty if the path names none."""
    match = re.match(r"/tasks/([^/]+)", path)
    return unquote(match.group(1)) if match and match.group(1) not in _TASK_ROUTES else ""


_TASK_ROUTES = {"submit", "batch", "preview", "stop"}  # what follows /tasks/ and is no id


def keep_alive(sock: Any) -> None:
    """Makes the kernel detect a dead peer, since a quiet stream may last for days."""
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 15), ("TCP_KEEPCNT", 9)):
            if hasattr(socket, option):
                sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
    except OSError:
        pass  # the connection works without keep-alive


def unreachable(url: str, err: BaseException, limit: Optional[float] = None) -> ConnectionFailed:
    """Returns the error of a request without a response."""
    if isinstance(err, ConnectionFailed):
        return err
    text = str(err) or type(err).__name__
    if limit is not None:
        text = f"no answer within {limit:g} s"
    broke = limit is None and isinstance(
        err, (ConnectionResetError, ConnectionAbortedError, BrokenPipeError, EOFError, http.client.HTTPException)
    )
    if isinstance(err, OSError) and err.errno in (errno.ECONNRESET, errno.EPIPE):
        broke = True
    return ConnectionFailed(f"cannot reach the API server at {url}: {text}", broke=broke, late=limit is not None)


def of_parent(url: str) -> ConnectionFailed:
    """Returns the error of a response whose connection belongs to the parent of this process."""
    return ConnectionFailed(f"the connection to the API server at {url} belongs to the process that opened it", broke=True)


def open_tunnel(origin: Origin) -> socket.socket:
    """Returns a connection to the server through the proxy. TLS is not established yet."""
    assert origin.proxy
    connection = http.client.HTTPConnection(origin.proxy.host, origin.proxy.port, timeout=CONNECT_TIMEOUT)
    connection.set_tunnel(origin.host, origin.port, tunnel_headers(origin.proxy))
    connection.connect()
    sock: socket.socket = connection.sock
    sock.setblocking(False)
    return sock


def tunnel_headers(proxy: Proxy) -> Mapping[str, str]:
    return {"Proxy-Authorization": proxy.authorization} if proxy.authorization else {}


def error_of(url: str, status: int, header: Mapping[str, str], raw: bytes) -> ApiError:
    """Returns the error for a response with a status other than 2xx."""
    try:
        body = json.loads(raw[:_MAX_DETAIL])
    except ValueError:
        body = None  # an error page of a proxy has no detail
    location = header.get("location", "")
    fallback = f"the API server at {url} answered {status}"
    if 300 <= status <= 399 and location:
        to = urljoin(url, location)
        fallback = (
            f"the API server at {url} redirects to {to}, and no redirect is followed: "
            "give that URL as the server's if you trust it"
        )
    return api_error(
        status,
        body if isinstance(body, dict) else {},
        fallback,
        _retry_after(header.get("retry-after", "")),
        header.get("x-request-id", ""),
    )


def _retry_after(value: str) -> float:
    """Parses the header Retry-After, which contains seconds or a date."""
    if value.isdigit():
        return float(value)
    try:
        return max(parsedate_to_datetime(value).timestamp() - time(), 0)
    except (TypeError, ValueError, IndexError):
        return 0
