"""The server, the user and the credentials, from the same environment and files as the CLI."""

import ipaddress
import json
import os
import tempfile
from typing import Any, Dict, Mapping, Optional
from urllib.parse import urlsplit

from .errors import CredentialsUnusable, NotLoggedIn

DEFAULT_URL = "http://localhost:8000"
_URL, _INSECURE, _NAME = "K8S_CLI_API_URL", "K8S_CLI_INSECURE_HTTP", "K8S_CLI_USER"
_CREDENTIALS, _USER = "credentials.json", "user.json"


def server_url(url: Optional[str], environ: Mapping[str, str]) -> str:
    """Returns the URL of the server, with a scheme and without a slash at the end."""
    url = url or environ.get(_URL) or DEFAULT_URL
    return (url if "://" in url else "http://" + url).rstrip("/")


def allows_plain_http(environ: Mapping[str, str]) -> bool:
    """Reports whether the user accepts that tokens are sent unencrypted to other machines."""
    return environ.get(_INSECURE, "") in ("1", "t", "T", "true", "TRUE", "True")


def user_of(environ: Mapping[str, str]) -> Optional[str]:
    """Returns the name of the user for a server with `--auth header`, or None if the environment has none."""
    return environ.get(_NAME) or None


def is_confidential(url: str) -> bool:
    """Reports whether TLS encrypts a request to url, or the request does not leave this machine."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "https" or host == "localhost":
        return bool(host) and parts.scheme in ("http", "https")
    try:
        return parts.scheme == "http" and ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Settings:
    """The directory with the name and the credentials of the user."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        base, home = environ.get("XDG_CONFIG_HOME", ""), environ.get("HOME") or os.path.expanduser("~")
        if not os.path.isabs(base) and os.path.isabs(home):
            base = os.path.join(home, ".config")
        self._directory = os.path.join(base, "k8s-cli") if os.path.isabs(base) else ""

    def user(self) -> str:
        """Returns the name of the user who logged in by name."""
        name = str((self._read(_USER) or {}).get("username") or "")
        if not name:
            raise NotLoggedIn("not logged in; run 'k8s-cli auth login', or pass user= or token= to Client")
        return name

    def credential(self, url: str) -> Optional[Dict[str, Any]]:
        """Returns the credential for a server, or None if the user logs in by name."""
        servers = (self._read(_CREDENTIALS, private=True) or {}).get("servers") or {}
        found: Optional[Dict[str, Any]] = servers.get(url)
        return found

    def save_session(self, url: str, session: Mapping[str, Any]) -> None:
        """Stores a renewed session."""
        content = self._read(_CREDENTIALS, private=True) or {}
        content.setdefault("servers", {}).setdefault(url, {})["session"] = dict(session)
        handle, name = tempfile.mkstemp(prefix=_CREDENTIALS + "-", dir=self._directory)  # mode 0600
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(content, file)
                file.write("\n")
            os.replace(name, os.path.join(self._directory, _CREDENTIALS))
        except BaseException:
            os.remove(name)
            raise

    def _read(self, name: str, private: bool = False) -> Optional[Dict[str, Any]]:
        if not self._directory:
            return None
        path = os.path.join(self._directory, name)
        try:
            with open(path, encoding="utf-8") as file:
                if private and os.name == "posix" and os.fstat(file.fileno()).st_mode & 0o077:
                    raise CredentialsUnusable(
                        f"{path} is readable by other users, who could log in as you; run chmod 600 on it, "
                        "and log in again if others may have read it"
                    )
                content = json.load(file)
        except FileNotFoundError:
            return None
        except ValueError as err:
            raise CredentialsUnusable(f"cannot read {path}: {err}; log in again with 'k8s-cli auth login'") from err
        if not isinstance(content, dict):
            raise CredentialsUnusable(f"cannot read {path}: not a JSON object; log in again with 'k8s-cli auth login'")
        return content
