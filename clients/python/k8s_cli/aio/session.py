"""Sessions of browsers, for programs that open the dashboard for a user."""

import re
from typing import Any, Dict

from ._requests import Answer, Requests, body_of, query_of

_PAGE = {"X-Requested-With": "k8s-cli-ui", "Sec-Fetch-Site": "same-origin"}  # what pages of the dashboard send


class BrowserSession:
    """A session of a browser. A program that has the cookie acts as the user.

    Without HTTPS, a program also needs the key, because browsers send a cookie to all ports of an address.
    """

    def __init__(self, client: Requests, cookie: str = "", key: str = "") -> None:
        self.cookie = cookie  # NAME=VALUE; empty without a login
        self.key = key  # empty over HTTPS
        self._client = client

    async def describe(self) -> Dict[str, Any]:
        """Returns the user of the session, and how browsers can log in."""
        answer = await self._send("GET", "/session")
        described: Dict[str, Any] = answer.json()
        return described

    async def log_in(self, *, user: str = "", token: str = "") -> Dict[str, Any]:
        """Begins a session by name or by token, and stores its cookie."""
        body, kind = body_of({"token": token} if token else {"user": user})
        answer = await self._send("POST", "/session", body=body, content_type=kind)
        self.cookie = _cookie(answer)
        described: Dict[str, Any] = answer.json()
        self.key = described.get("session_key", "")
        return described

    async def log_out(self, *, everywhere: bool = False) -> None:
        """Ends the session, or all sessions of the user, on all pods of the server."""
        await self._send("DELETE", "/session", query=query_of(all=everywhere))
        self.cookie = self.key = ""

    async def begin_at_issuer(self, next_page: str = "/ui/") -> str:
        """Begins a login at the OpenID Connect issuer of the server. Returns the URL that a browser opens."""
        answer = await self._send("GET", "/session/oidc/start", query=query_of(next=next_page), redirect=True)
        self.cookie = _cookie(answer)
        return answer.header.get("location", "")

    async def finish_at_issuer(self, state: str, code: str) -> None:
        """Ends a login at the issuer with the parameters of the page to which the issuer led the browser."""
        answer = await self._send("GET", "/session/oidc/callback", query=query_of(state=state, code=code))
        self.cookie = _cookie(answer)
        key = re.search(r"#session_key=(\w+)", answer.text())
        self.key = key.group(1) if key else ""

    async def _send(self, method: str, path: str, *, redirect: bool = False, **options: Any) -> Answer:
        headers = {**_PAGE, "Cookie": self.cookie}
        if self.key:
            headers["X-Session-Key"] = self.key
        return await self._client.request(
            method, path, headers=headers, login=False, safe=False, redirect=redirect, **options
        )


def _cookie(answer: Answer) -> str:
    """Returns the cookie of a session or a login that a response sets, and not the cookies that it deletes."""
    set_cookies = (c.partition(";")[0] for c in answer.header.get("set-cookie", "").split("\n"))
    return next((c for c in set_cookies if c.partition("=")[2] and "-login-error=" not in c), "")
