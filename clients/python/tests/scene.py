"""What the stories have: servers, clients of both kinds, and a record of routes and reasons."""

import json
import os
import re
import tempfile
import threading
import urllib.request
from typing import Any, Callable, Dict, List, NamedTuple, Set, Tuple

from .proxy import BreakingProxy

SERVERS: Dict[str, str] = json.loads(os.environ.get("K8S_CLI_TEST_SERVERS", "{}"))  # URLs by name
CONTROL = os.environ.get("K8S_CLI_TEST_CONTROL", "")  # URL that kills and restarts the server "mortal"
RUN = os.getpid()  # distinguishes the users of several runs on the same servers
UNSCHEDULABLE = {"cpus": 100_000}  # resources of a task that stays pending


class Story(NamedTuple):
    name: str
    holds: str  # what must hold
    tell: Callable[..., Any]


STORIES: List[Story] = []


def story(holds: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds a function to the stories."""

    def add(tell: Callable[..., Any]) -> Callable[..., Any]:
        STORIES.append(Story(tell.__name__, holds, tell))
        return tell

    return add


class Record:
    """The routes that the stories requested, and the reasons of errors that servers sent."""

    def __init__(self) -> None:
        self.routes: Set[Tuple[str, str]] = set()
        self.reasons: Set[str] = set()

    def watch(self, client: Any) -> None:
        send, error = client._transport.send, client.error

        def recorded(method: str, target: str, *rest: Any) -> Any:
            self.routes.add((method, re.sub(r"^http://[^/]*", "", target).partition("?")[0]))
            return send(method, target, *rest)

        def noted(*args: Any) -> Any:
            err = error(*args)
            self.reasons.add(err.reason)
            return err

        client._transport.send, client.error = recorded, noted

    def requested(self, method: str, template: str) -> bool:
        pattern = re.compile("^" + re.sub(r"\{\w+\}", "[^/]+", template) + "$")
        return any(m == method and pattern.match(path) for m, path in self.routes)


_mortal = threading.RLock()  # one story at a time uses the server that dies


class Scene:
    """The surroundings of one run of a story."""

    def __init__(self, kind: Any, flavour: str, name: str, record: Record) -> None:
        self.kind = kind  # k8s_cli or k8s_cli.aio
        self.flavour = flavour
        self.user = f"{name}-{flavour}-{RUN}@example.com"
        self.directory = tempfile.mkdtemp(prefix="k8s-cli-story-")
        self._record = record
        self._proxies: List[BreakingProxy] = []

    def client(self, server: str = "main", **options: Any) -> Any:
        """Returns a client of a server."""
        if "token" not in options:
            options.setdefault("user", self.user)
        client = self.kind.Client(options.pop("url", SERVERS[server]), **options)
        self._record.watch(client)
        return client

    def broken(self, cuts: List[int], server: str = "main") -> Tuple[Any, BreakingProxy]:
        """Returns a client whose connections break after the given numbers of bytes, and the proxy."""
        proxy = BreakingProxy(SERVERS[server], cuts)
        self._proxies.append(proxy)
        return self.client(url=proxy.url), proxy

    def write(self, name: str, text: str) -> str:
        """Writes a file and returns its path."""
        path = os.path.join(self.directory, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def mortal(self) -> Any:
        """Returns the lock of the server that dies."""
        return _mortal

    def restart(self, proxy: BreakingProxy) -> None:
        """Kills the server "mortal", starts it again on its log, and leads the proxy to it."""
        with urllib.request.urlopen(urllib.request.Request(CONTROL, b""), timeout=300) as response:
            SERVERS["mortal"] = response.read().decode()
        proxy.retarget(SERVERS["mortal"])

    def close(self) -> None:
        for proxy in self._proxies:
            proxy.close()
