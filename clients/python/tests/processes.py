"""Uses a client that this process has used before in other processes too.

Usage: FLAVOUR=blocking URL=http://... python3 -m tests.processes WAY. The server at URL gives a new task the id that is its
name. The program prints "right" if every answer is about the task of the request.
"""

import asyncio
import concurrent.futures
import gc
import http.server
import multiprocessing
import os
import socket
import sys
import threading
import urllib.request
from typing import Any, Callable, Dict, List

import k8s_cli
import k8s_cli.aio

WORKERS, REQUESTS = 4, 40  # requests of a kind of each worker
FLAVOUR, URL = os.environ.get("FLAVOUR", ""), os.environ.get("URL", "")
client: Any = (k8s_cli.aio if FLAVOUR == "asyncio" else k8s_cli).Client(URL or "http://127.0.0.1:1", user="ann")


def ids_of(worker: int) -> List[str]:
    return [f"{worker}{number:07d}" for number in range(REQUESTS)]


def use(worker: int, requests: int = REQUESTS) -> List[str]:
    """Returns what is wrong with the answers to a worker."""
    if FLAVOUR == "asyncio":
        return asyncio.run(_use(worker, requests))
    wrong = []
    for id in ids_of(worker)[:requests]:
        status, made = client.status(id), client.submit({"name": id, "run": "true"})
        if (status.task_id, made.id) != (id, id):
            wrong.append(f"{id}: {status.task_id}, {made.id}")
    return wrong


async def _use(worker: int, requests: int) -> List[str]:
    async def both(id: str) -> str:
        status, made = await asyncio.gather(client.status(id), client.submit({"name": id, "run": "true"}))
        return "" if (status.task_id, made.id) == (id, id) else f"{id}: {status.task_id}, {made.id}"

    found = await asyncio.gather(*map(both, ids_of(worker)[:requests]))
    return [f for f in found if f]


def warm_up() -> None:
    """Leaves idle connections."""
    if FLAVOUR == "asyncio":
        use(9)
        return
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        list(pool.map(lambda worker: use(worker, 3), range(5, 9)))


def fork() -> List[str]:
    return in_children(use)


def in_children(act: Callable[[int], List[str]]) -> List[str]:
    """Calls a function in forked children and, at the same time, here."""
    readers = []
    for worker in range(WORKERS):
        read, write = os.pipe()
        if os.fork() == 0:
            try:
                wrong = act(worker)
            except BaseException as err:
                wrong = [repr(err)]
            os.write(write, "\n".join(wrong).encode()[: 1 << 15])
            os._exit(0)
        os.close(write)
        readers.append(os.fdopen(read))
    wrong = use(WORKERS)
    for reader in readers:
        wrong += reader.read().splitlines()
    return wrong


def threads() -> List[str]:
    """Forks while threads use the client, and uses the client in threads of the children."""
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            use(8, 3)

    def in_threads(worker: int) -> List[str]:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            return [w for some in pool.map(use, [worker, worker]) for w in some]

    background = [threading.Thread(target=busy) for _ in range(2)]
    for thread in background:
        thread.start()
    try:
        return in_children(in_threads)
    finally:
        stop.set()
        for thread in background:
            thread.join()


def loop() -> List[str]:
    """Forks in a running event loop, which shares its epoll with the children, between requests and during requests."""
    return asyncio.run(_loop())


async def _loop() -> List[str]:
    async def forks() -> List[str]:
        wrong = []
        for act in (lambda: [], lambda: use(7, 3)):
            in_child(act)
            wrong += await _use(8, 1)
        return wrong

    wrong = []
    for requests in (1, 8):
        wrong += await _use(WORKERS, requests)
        wrong += await forks()
        wrong += [w for some in await asyncio.gather(_use(WORKERS, requests), forks()) for w in some]
    return wrong


def in_child(act: Callable[[], Any]) -> None:
    child = os.fork()
    if child == 0:
        wrong = act()
        gc.collect()
        os._exit(1 if wrong else 0)
    assert os.waitpid(child, 0)[1] == 0


def pool_of(start: str) -> Callable[[], List[str]]:
    def run() -> List[str]:
        context: Any = multiprocessing.get_context(start)
        if start == "forkserver":
            context.set_forkserver_preload(["tests.preloaded"])
        with context.Pool(WORKERS) as pool:
            return [w for some in pool.map(use, range(WORKERS), 1) for w in some]

    return run


def executor() -> List[str]:
    context = multiprocessing.get_context("fork")
    with concurrent.futures.ProcessPoolExecutor(WORKERS, mp_context=context) as pool:
        return [w for some in pool.map(use, range(WORKERS)) for w in some]


def server() -> List[str]:
    """Is a web server that forks its workers after it has used the client."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            id = self.path[1:]
            status = asyncio.run(client.status(id)) if FLAVOUR == "asyncio" else client.status(id)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(status.task_id.encode())

        def log_message(self, *_: Any) -> None:
            pass

    listener = socket.create_server(("127.0.0.1", 0), backlog=128)
    children = []
    for _ in range(WORKERS):
        child = os.fork()
        if child == 0:
            web = http.server.HTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
            web.socket = listener
            web.serve_forever()
        children.append(child)
    try:

        def ask(id: str) -> str:
            with urllib.request.urlopen(f"http://127.0.0.1:{listener.getsockname()[1]}/{id}", timeout=60) as response:
                got = response.read().decode()
            return "" if got == id else f"{id}: {got}"

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            return [w for w in pool.map(ask, ids_of(1)) if w]
    finally:
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)


WAYS: Dict[str, Callable[[], List[str]]] = {
    "fork": fork,
    "loop": loop,
    "threads": threads,
    "multiprocessing": pool_of("fork"),
    "forkserver": pool_of("forkserver"),
    "executor": executor,
    "server": server,
}


def main(way: str) -> None:
    warm_up()
    print("\n".join(WAYS[way]()) or "right")


if __name__ == "__main__":
    from tests import processes  # the module that a forkserver and the workers of a pool import

    processes.main(sys.argv[1])
