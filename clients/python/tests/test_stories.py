"""Tells every story with the blocking client and with the client for asyncio, against real servers.

The stories run at the same time, since they mostly wait for the cluster. K8S_CLI_TEST_SERVERS has the servers; the Go test
TestPythonClient starts them.
"""

import asyncio
import inspect
import pathlib
import shutil
import types
import unittest
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Dict

import generate
import k8s_cli
import k8s_cli.aio
from k8s_cli import errors

from . import scene, stories

FLAVOURS = ("blocking", "asyncio")
WORKERS = 12

# Reasons of errors that no story provokes: the server sends them only while one of its parts fails or is overloaded, or
# only to requests that the client cannot send, or never without a more specific reason. TestErrors has all of them.
NOT_PROVOKED = {
    "NotFound", "SubmissionNotFound", "LogNotFound", "RequestTimeout", "Gone", "InternalError", "Unavailable",
    "Starting", "LogUnavailable", "LogFull", "OutcomeUnknown", "VersionNotSupported", "UpgradeRequired",
}  # fmt: skip

# Routes of connections to ports, which the client does not open.
WEBSOCKETS = {"/tasks/{id}/port-forward"}


def blocking_stories() -> Dict[str, Any]:
    """Returns the stories after the rules of generate.py, by name."""
    source = pathlib.Path(stories.__file__).read_text("utf-8")
    module = types.ModuleType("tests.blocking_stories")
    module.__package__ = "tests"
    kept = list(scene.STORIES)
    exec(compile(generate.blocking("stories", source), "blocking_stories.py", "exec"), module.__dict__)
    told = {s.name: s.tell for s in scene.STORIES[len(kept) :]}
    scene.STORIES[:] = kept
    return told


record = scene.Record()
running: Dict[str, "Future[None]"] = {}


def run(flavour: str, name: str, tell: Any) -> None:
    s = scene.Scene(k8s_cli if flavour == "blocking" else k8s_cli.aio, flavour, name, record)
    try:
        if flavour == "blocking":
            tell(s)
        else:
            asyncio.run(asyncio.wait_for(tell(s), 600))
    finally:
        s.close()
        shutil.rmtree(s.directory, ignore_errors=True)


@unittest.skipUnless(scene.SERVERS, "K8S_CLI_TEST_SERVERS names no servers")
class TestStories(unittest.TestCase):
    """One test for each story and kind of client."""

    @classmethod
    def setUpClass(cls) -> None:
        blocking = blocking_stories()
        cls.pool = ThreadPoolExecutor(WORKERS)
        for s in scene.STORIES:
            for flavour, tell in zip(FLAVOURS, (blocking[s.name], s.tell)):
                running[f"{flavour}_{s.name}"] = cls.pool.submit(run, flavour, s.name, tell)

    @classmethod
    def tearDownClass(cls) -> None:
        cls.pool.shutdown()

    def test_zz_every_route_is_used(self) -> None:
        routes = k8s_cli.Client(scene.SERVERS["main"], user="ann").openapi()["paths"]
        documented = [(m.upper(), path) for path, methods in routes.items() for m in methods if m in ("get", "post", "put", "delete")]
        self.assertGreater(len(documented), 35)
        self.assertEqual([path for m, path in documented if path not in WEBSOCKETS and not record.requested(m, path)], [])

    def test_zz_every_reason_is_seen(self) -> None:
        self.assertEqual(set(errors.REASONS) - record.reasons - NOT_PROVOKED, set())
        self.assertEqual(NOT_PROVOKED & record.reasons, set(), "a story provokes it after all")

    def test_zz_the_client_for_asyncio_has_the_methods_of_the_blocking_client(self) -> None:
        for name in k8s_cli.aio.__all__:
            one, other = getattr(k8s_cli, name), getattr(k8s_cli.aio, name)
            for member, function in inspect.getmembers(one, inspect.isfunction):
                if not member.startswith("__"):
                    want = [str(p) for p in inspect.signature(function).parameters.values()]
                    twin = inspect.signature(getattr(other, member)).parameters.values()
                    self.assertEqual([p.split(":")[0] for p in want], [str(p).split(":")[0] for p in twin], member)


def _add(name: str, holds: str) -> None:
    def test(self: unittest.TestCase) -> None:
        running[name].result()

    test.__doc__ = holds
    setattr(TestStories, "test_" + name, test)


for _story in scene.STORIES:
    for _flavour in FLAVOURS:
        _add(f"{_flavour}_{_story.name}", _story.holds)


@unittest.skipUnless(scene.SERVERS, "K8S_CLI_TEST_SERVERS names no servers")
class TestAsyncio(unittest.IsolatedAsyncioTestCase):
    """What only the client for asyncio does."""

    async def test_a_cancelled_task_closes_its_connection(self) -> None:
        proxy = scene.BreakingProxy(scene.SERVERS["main"], [])
        async with k8s_cli.aio.Client(proxy.url, user="cancel") as client:
            job = await client.submit(run="true", resources=scene.UNSCHEDULABLE)

            async def follow() -> None:
                async for _ in job.logs():
                    pass

            quiet = client.group("quiet").events()
            tasks = [asyncio.create_task(job.wait()), asyncio.create_task(follow()), asyncio.create_task(quiet.next())]
            done, _ = await asyncio.wait(tasks, timeout=0.5)
            self.assertEqual(done, set())
            for task in tasks:
                task.cancel()
            results = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 10)
            self.assertEqual([type(r) for r in results], [asyncio.CancelledError] * 3)
            self.assertFalse((await job.status()).over)  # the client is still usable
            await job.stop()

    async def test_many_streams_at_the_same_time(self) -> None:
        async with k8s_cli.aio.Client(scene.SERVERS["main"], user="many") as client:
            jobs = await client.submit_all([k8s_cli.Task("true", resources=scene.UNSCHEDULABLE) for _ in range(100)])
            waits = [asyncio.create_task(job.wait()) for job in jobs]
            await asyncio.sleep(0)
            self.assertEqual(await client.stop_all(), 100)
            self.assertEqual({s.status for s in await asyncio.gather(*waits)}, {"stopped"})


if __name__ == "__main__":
    unittest.main()
