"""The requests to the server: credentials, retries and errors."""

import functools
import json
import math
import os
import ssl
import time
from typing import (
    Any,
    AsyncIterator,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
)

from .. import _http, _retry, _settings, _tokens, models
from .._version import VERSION
from ..errors import (
    ApiError,
    ArgumentInvalid,
    ConnectionFailed,
    CredentialsUnusable,
    NotFound,
    TaskUnusable,
    WrongAnswer,
    api_error,
)
from ._io import Response, Transport, call, sleep

T = TypeVar("T")
Query = Sequence[Tuple[str, str]]


class Answer(NamedTuple):
    """A response that was read to its end."""

    status: int
    header: Mapping[str, str]  # by lower-case name
    body: bytes

    def json(self) -> Any:
        """Returns the body, which must be JSON."""
        try:
            return json.loads(self.body)
        except ValueError:
            raise WrongAnswer(f"the response is not JSON: {self.body[:80]!r}; check the URL of the API server") from None

    def text(self) -> str:
        """Returns the body as text."""
        return self.body.decode("utf-8", "replace")


class Requests:
    """The requests of a client."""

    def __init__(
        self,
        url: Optional[str] = None,
        *,
        user: Optional[str] = None,
        token: Union[str, Callable[[], str], None] = None,
        timeout: float = 30.0,
        allow_plain_http: Optional[bool] = None,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        """Returns a client.

        user is the name that the client sends to a server with `--auth header`. token is a token, or a function that
        returns a token. timeout is the longest time in seconds for a request and its retries, except for logs and
        events. allow_plain_http allows the client to send tokens over plain HTTP to other machines.
        """
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)) or not timeout > 0:
            raise ArgumentInvalid(f"timeout: {timeout!r} is not a number of seconds above 0", "timeout")
        self.url = _settings.server_url(url, os.environ)
        self.timeout = timeout
        self._made_with: Dict[str, Any] = dict(user=user, token=token, timeout=timeout, ssl_context=ssl_context)
        self._made_with.update(allow_plain_http=allow_plain_http)
        self._plain = _settings.allows_plain_http(os.environ) if allow_plain_http is None else allow_plain_http
        self._user = user
        self._token: Optional[_tokens.TokenSource] = None
        if token is not None:
            fixed = token
            self._token = fixed if callable(fixed) else (lambda: str(fixed))
        self._origin = _http.Origin(self.url, ssl_context)
        self._transport = Transport(self._origin)
        self.reached = False  # the server has answered a request

    def __reduce__(self) -> Tuple[Any, ...]:
        """Lets a client pass to another process, which opens connections of its own."""
        return functools.partial(type(self), self.url, **self._made_with), ()

    async def close(self) -> None:
        """Closes the idle connections. The client stays usable."""
        await self._transport.close()

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: _http.Body = None,
        content_type: str = "",
        key: str = "",
        safe: Optional[bool] = None,
        headers: Optional[Mapping[str, str]] = None,
        login: bool = True,
        retry: bool = True,
        redirect: bool = False,
    ) -> Answer:
        """Sends a request and returns the response, if its status is 2xx.

        The client sends a safe request again if the connection breaks, or if the server asks for a retry, until its
        timeout ends; and also while the server cannot be reached, if the server has answered before. A request is safe
        if it only reads, or if it has a key (Idempotency-Key). safe tells that another request is idempotent. The
        client follows no redirects; redirect accepts a redirect as the response.
        """
        repeatable = (method in ("GET", "HEAD") or bool(key)) if safe is None else safe
        deadline = time.monotonic() + self.timeout
        attempt = 0
        while True:
            try:
                response = await self.open(
                    method,
                    path,
                    query=query,
                    body=body,
                    content_type=content_type,
                    headers={**(headers or {}), "Idempotency-Key": key},
                    timeout=max(deadline - time.monotonic(), 0.001),
                    reuse=repeatable,
                    login=login,
                    redirect=redirect,
                )
                return Answer(response.status, response.header, await response.read(deadline))
            except (ApiError, ConnectionFailed) as err:
                pause = _retry.pause_before_retry(err, attempt, self.reached) if repeatable and retry else None
                pause = None if pause is None else _retry.jittered(pause)
                if pause is None or time.monotonic() + pause > deadline:
                    err.task_id = _http.task_of(path)
                    raise
                attempt += 1
                await sleep(pause)

    async def open(
        self,
        method: str,
        path: str,
        *,
        query: Query = (),
        body: _http.Body = None,
        content_type: str = "",
        headers: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        reuse: bool = True,
        login: bool = True,
        redirect: bool = False,
        upgrade: bool = False,
    ) -> Response:
        """Sends a request once. The caller reads or closes the response. With upgrade, the response has the status 101."""
        all_headers = {"User-Agent": f"k8s-cli-python/{VERSION}", "Content-Type": content_type, **(headers or {})}
        if login:
            all_headers.update(await self._credentials())
        try:
            response = await self._transport.send(
                method,
                self._origin.target(path, query),
                self._origin.headers(all_headers, method, body),
                body,
                self.timeout if timeout is None else timeout,
                reuse,
            )
            self.reached = True
            if response.status == 101 if upgrade else 200 <= response.status <= (399 if redirect else 299):
                return response
            raw = await response.read(time.monotonic() + self.timeout)
            raise self.error(response.status, response.header, raw)
        except (ApiError, ConnectionFailed) as err:
            err.task_id = _http.task_of(path)
            raise

    def error(self, status: int, header: Mapping[str, str], body: bytes) -> ApiError:
        """Returns the error for a response with a status other than 2xx."""
        return _http.error_of(self.url, status, header, body)

    async def _credentials(self) -> Dict[str, str]:
        """Returns the headers that identify the user."""
        if self._token is None and self._user is None:
            self._user = _settings.user_of(os.environ)
        if self._token is None and self._user is None:
            settings = _settings.Settings(os.environ)
            credential = settings.credential(self.url)
            if credential is None:
                self._user = settings.user()
            else:
                self._token = _tokens.source_of(credential, lambda session: settings.save_session(self.url, session))
        if self._token is None:
            return {"X-User": self._user or ""}
        if not self._plain and not _settings.is_confidential(self.url):
            raise CredentialsUnusable(
                f"plain HTTP shows a token to everybody on the network, and none was sent to {self.url}: use an https:// "
                "URL, or set K8S_CLI_INSECURE_HTTP=true if you trust the network"
            )
        return {"Authorization": "Bearer " + await call(self._token)}

    async def fetch(
        self,
        kind: Type[T],
        path: str,
        query: Query = (),
        *,
        login: bool = True,
        retry: bool = True,
        about: Tuple[str, str] = ("", ""),
    ) -> T:
        """Returns the object in a response. about is the field that names the object, and its value."""
        answer = await self.request("GET", path, query=query, login=login, retry=retry)
        found = answer.json()
        field, asked = about
        if field:
            check_answer(self.url, field, asked, found.get(field))
        return models.decode(kind, found)

    async def fetch_page(self, kind: Type[T], path: str, field: str, **filters: Any) -> models.Page[T]:
        answer = await self.request("GET", path, query=query_of(**filters))
        total = answer.header.get("x-total-count")
        return models.Page(
            [models.decode(kind, each) for each in answer.json()[field]],
            int(total) if total else None,
            answer.header.get("x-next-cursor", ""),
            answer.header.get("x-stale", ""),
        )

    async def fetch_pages(self, kind: Type[T], path: str, field: str, **filters: Any) -> AsyncIterator[T]:
        """Returns the items of all pages, and reads one page after the other."""
        cursor = ""
        while True:
            page = await self.fetch_page(kind, path, field, cursor=cursor, **filters)
            for found in page.items:
                yield found
            cursor = page.next
            if not cursor:
                return


def check_answer(url: str, field: str, asked: str, found: Any) -> None:
    """Raises an error if a response is about another object than the request, so that no mistake on the way stays unseen."""
    if found != asked:
        raise WrongAnswer(f"the API server at {url} was asked about {field} {asked!r} and answered about {found!r}")


def segment(text: str) -> str:
    """Escapes an id in a path. An id that does not fit into one segment would be a different route."""
    if not isinstance(text, str):
        raise ArgumentInvalid(f"an id or a name is a str, and not {text!r}")
    if not text.strip(".") or "/" in text or "\\" in text:
        raise api_error(404, {"detail": f"{text!r} is not an id or a name", "reason": NotFound.__name__})
    return _http.segment(text)


def query_of(**parameters: Any) -> List[Tuple[str, str]]:
    """Returns the parameters of a request. Empty values and False are left out; a dict is a list of KEY=VALUE."""
    pairs = []
    for name, value in parameters.items():
        if isinstance(value, Mapping):
            value = [f"{key}={each}" for key, each in value.items()]
        for each in value if isinstance(value, (list, tuple)) else [value]:
            if each is True:
                pairs.append((name, "true"))
            elif each is not None and each is not False and each != "":
                pairs.append((name, str(each)))
    return pairs


def body_of(content: Any) -> Tuple[bytes, str]:
    """Returns a body and its media type: text is a task file in YAML, everything else is sent as JSON."""
    if isinstance(content, str):
        return content.encode("utf-8"), "application/yaml"
    return json_of(content).encode("utf-8"), "application/json"


def json_of(content: Any) -> str:
    """Returns content as JSON. The error is TaskUnusable, and names the field that JSON cannot represent."""
    try:
        return json.dumps(content, allow_nan=False)
    except (TypeError, ValueError):
        field, value = next(_not_json(content, ""), ("", content))
        raise TaskUnusable(
            f"{field}: JSON cannot represent {value!r}; give a str, a finite number, a bool, None, a list or a dict", field
        ) from None


def _not_json(value: Any, field: str) -> Iterator[Tuple[str, Any]]:
    """Returns the values that JSON cannot represent, each with the path of its field."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _not_json(inner, f"{field}.{key}".lstrip("."))
    elif isinstance(value, (list, tuple)):
        for i, inner in enumerate(value):
            yield from _not_json(inner, f"{field}[{i}]")
    elif not isinstance(value, (str, int, float, type(None))) or isinstance(value, float) and not math.isfinite(value):
        yield field, value
