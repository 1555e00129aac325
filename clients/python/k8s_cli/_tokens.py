"""Where tokens come from: a fixed token, a kubeconfig, or a login at an OpenID Connect issuer."""

import base64
import json
import os
import shutil
import subprocess
import threading
import time
import urllib.parse
import urllib.request
from typing import Any, Callable, Dict, Mapping, Optional

from ._http import not_inherited
from ._settings import is_confidential
from .errors import CredentialsUnusable

TokenSource = Callable[[], str]  # may block; the client calls it for each request

_NEAR_END = 60  # seconds; a token with less time until its expiry is renewed
_TIMEOUT = 30
_EXEC_TIMEOUT = 300  # a credential plugin may ask for a password
_MAX_ANSWER = 1 << 20


def source_of(credential: Mapping[str, Any], save: Callable[[Mapping[str, Any]], None]) -> TokenSource:
    """Returns the source of the tokens of a stored credential. save stores a renewed session."""
    if credential.get("kubeconfig"):
        return _Once(lambda: kubeconfig_token(credential["kubeconfig"]))
    if credential.get("session"):
        return Session(credential["session"], save)
    token = str(credential.get("token", ""))
    return lambda: token


class _Once:
    """A source that asks until the first token, and then returns that token."""

    def __init__(self, ask: TokenSource) -> None:
        self._ask, self._token = ask, ""
        self.after_fork()
        not_inherited(self)

    def after_fork(self) -> None:
        self._lock = threading.Lock()

    def __call__(self) -> str:
        with self._lock:
            self._token = self._token or self._ask()
            return self._token


def kubeconfig_token(place: Mapping[str, Any]) -> str:
    """Returns the token with which a context of kubeconfig files authenticates to Kubernetes."""
    context = str(place.get("context", ""))
    files = [str(f) for f in place.get("files") or []]
    users = _view(files, context).get("users") or []
    user: Dict[str, Any] = (users[0].get("user") or {}) if users else {}
    directory = os.path.dirname(files[0]) if files else ""
    if user.get("exec"):
        return _run_plugin(user["exec"], directory)
    if user.get("tokenFile"):
        with open(os.path.join(directory, user["tokenFile"]), encoding="utf-8") as file:
            return file.read().strip()
    if user.get("token"):
        return str(user["token"])
    raise CredentialsUnusable(
        f"the context {context!r} has no token; create one with kubectl create token, and pass token= to Client"
    )


def _view(files: "list[str]", context: str) -> Dict[str, Any]:
    """Reads kubeconfig files, which are YAML, with kubectl."""
    kubectl = shutil.which("kubectl")
    if not kubectl:
        raise CredentialsUnusable(
            "your login uses a kubeconfig, which the client reads with kubectl; install kubectl, or pass token= to Client"
        )
    command = [kubectl, "config", "view", "--raw", "--minify", "--context", context, "-o", "json"]
    environ = dict(os.environ, KUBECONFIG=os.pathsep.join(files))
    done = subprocess.run(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=_TIMEOUT)
    if done.returncode != 0:
        raise CredentialsUnusable(f"read your kubeconfig: {done.stderr.decode(errors='replace').strip()}")
    content: Dict[str, Any] = json.loads(done.stdout)
    return content


def _run_plugin(plugin: Mapping[str, Any], directory: str) -> str:
    """Gets a token from a credential plugin, as client-go does."""
    command = str(plugin.get("command", ""))
    if os.sep in command:
        command = os.path.join(directory, command)
    spec = {"apiVersion": plugin.get("apiVersion"), "kind": "ExecCredential", "spec": {"interactive": False}}
    environ = dict(os.environ, KUBERNETES_EXEC_INFO=json.dumps(spec))
    environ.update({str(v["name"]): str(v["value"]) for v in plugin.get("env") or []})
    try:
        done = subprocess.run(
            [command, *(plugin.get("args") or [])], env=environ, stdout=subprocess.PIPE, timeout=_EXEC_TIMEOUT, check=True
        )
        token = json.loads(done.stdout)["status"]["token"]
    except (OSError, subprocess.SubprocessError, ValueError, LookupError, TypeError) as err:
        raise CredentialsUnusable(f"the credential plugin {command} of your kubeconfig returned no token: {err}") from err
    return str(token)


class Session:
    """A login at an OpenID Connect issuer. The session renews its ID token before the expiry."""

    def __init__(self, session: Mapping[str, Any], save: Callable[[Mapping[str, Any]], None]) -> None:
        self._session, self._save = dict(session), save
        self.after_fork()
        not_inherited(self)

    def after_fork(self) -> None:
        self._lock = threading.Lock()

    def __call__(self) -> str:
        with self._lock:
            token = str(self._session.get("id_token", ""))
            if expiry(token) - time.time() > _NEAR_END or not self._session.get("refresh_token"):
                return token
            self._session = self._renew()
            self._save(self._session)
            return str(self._session["id_token"])

    def _renew(self) -> Dict[str, Any]:
        issuer = str(self._session.get("issuer", ""))
        form = {
            "grant_type": "refresh_token",
            "refresh_token": self._session["refresh_token"],
            "client_id": self._session.get("client_id", ""),
        }
        try:
            about = _fetch(issuer.rstrip("/") + "/.well-known/openid-configuration")
            if about.get("issuer") != issuer:
                raise ValueError(f"the issuer calls itself {about.get('issuer')!r}")
            got = _fetch(str(about.get("token_endpoint", "")), urllib.parse.urlencode(form).encode())
            if not got.get("id_token"):
                raise ValueError("the issuer returned no ID token")
        except (OSError, ValueError) as err:
            raise CredentialsUnusable(
                f"renew your login at {issuer}: {err}; log in again with 'k8s-cli auth login'"
            ) from err
        renewed = dict(self._session, id_token=got["id_token"])
        if got.get("refresh_token"):
            renewed["refresh_token"] = got["refresh_token"]
        return renewed


def expiry(token: str) -> float:
    """Returns the expiry in the claims of an ID token, without a check of the signature; 0 if unreadable."""
    try:
        middle = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
        return float(claims["exp"])
    except (IndexError, KeyError, ValueError, TypeError):
        return 0


class _SameHost(urllib.request.HTTPRedirectHandler):
    """Follows no redirect to another host, because requests to an issuer contain refresh tokens."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        before, after = urllib.parse.urlsplit(req.full_url), urllib.parse.urlsplit(newurl)
        if (before.scheme, before.netloc) != (after.scheme, after.netloc):
            raise ValueError(f"the issuer redirects to another host, {newurl}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _fetch(url: str, body: Optional[bytes] = None) -> Dict[str, Any]:
    if not is_confidential(url):
        raise ValueError(f"{url!r} is not an https:// URL")
    opener = urllib.request.build_opener(_SameHost())
    with opener.open(urllib.request.Request(url, body, {"Accept": "application/json"}), timeout=_TIMEOUT) as response:
        content = json.loads(response.read(_MAX_ANSWER))
    if not isinstance(content, dict):
        raise ValueError("the issuer returned no JSON object")
    return content
