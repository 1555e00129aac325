"""Tests that need no server."""

import ast
import asyncio
import base64
import concurrent.futures
import copy
import dataclasses
import datetime
import hashlib
import http.server
import io
import json
import math
import os
import pathlib
import pickle
import random
import re
import socket
import subprocess
import sys
import tarfile
import tempfile
import textwrap
import threading
import time
import types
import typing
import unittest
from typing import Any, Dict, List, Tuple
from unittest import mock

import generate
import k8s_cli
import k8s_cli.aio
from k8s_cli import Task, _cursor, _html, _ignore, _pack, _retry, _settings, _streams, _times, _tokens, _unpack, _yaml, errors, models, task
from k8s_cli.aio import _io

ROOT = pathlib.Path(__file__).resolve().parents[3]


class Unpacking(unittest.TestCase):
    """Archives of outputs."""

    def unpack(self, force, *entries, before=None):
        """Unpacks an archive to the directory d, and returns the files below, or the type of the error."""
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:gz") as out:
            for name, kind, *link in entries:
                member = tarfile.TarInfo(name)
                member.type, member.linkname, member.mode = kind, "".join(link), 0o640
                member.size = 4 if kind == tarfile.REGTYPE else 0
                out.addfile(member, io.BytesIO(b"text"))
        download = _unpack.Download()
        download.write(archive.getvalue())
        with tempfile.TemporaryDirectory() as home:
            os.mkdir(os.path.join(home, "victim"))
            if before:
                before(home)
            try:
                for again in range(2 if force else 1):
                    download.unpack(os.path.join(home, "d"), force and again > 0)
            except (k8s_cli.Error, tarfile.TarError) as error:
                if isinstance(error, FileExistsError):
                    self.assertEqual(error.reason, "FilesExist")
                return type(error)
            finally:
                download.close()
                self.assertEqual(os.listdir(os.path.join(home, "victim")), [])
                self.assertLessEqual(set(os.listdir(home)), {"d", "victim"})
            return sorted(os.path.join(os.path.relpath(top, home), f) for top, _, files in os.walk(home) for f in files)

    def test_archives(self):
        file, directory, link, hard = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE
        for force in [False, True]:
            self.assertEqual(self.unpack(force, ("a", directory), ("a/f", file), ("g", file), ("h", hard, "g"), ("a/l", link, "../g")), ["d/a/f", "d/a/l", "d/g", "d/h"])
        for name in ["../f", "a/../../f", "/f"]:
            self.assertTrue(issubclass(self.unpack(False, (name, file)), Exception))

    def test_links_that_lead_out(self):
        file, directory, link, hard = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE, tarfile.LNKTYPE
        for target in ["../victim", "/tmp", "a/../../victim"]:
            self.assertEqual(self.unpack(False, ("l", link, target), ("f", file)), ["d/f"])
        deep = [("a", directory), ("a/b", directory), ("a/b/l", link, "../../victim"), ("n", hard, "a/b/l"), ("f", file)]
        self.assertEqual(self.unpack(True, *deep), ["d/a/b/l", "d/f"])
        self.assertTrue(issubclass(self.unpack(False, ("l", link, "."), ("l/f", file)), Exception))
        self.assertTrue(issubclass(self.unpack(True, ("f", file), before=lambda home: os.symlink(os.path.join(home, "victim"), os.path.join(home, "d"))), Exception))

        def earlier(home):
            os.mkdir(os.path.join(home, "d"))
            os.symlink(os.path.join(home, "victim"), os.path.join(home, "d", "n"))

        self.assertTrue(issubclass(self.unpack(False, ("n/f", file), before=earlier), Exception))

    def test_existing_files(self):
        def earlier(home):
            os.mkdir(os.path.join(home, "d"))
            open(os.path.join(home, "d", "f"), "x").close()

        self.assertEqual(self.unpack(False, ("f", tarfile.REGTYPE), before=earlier), errors.FilesExist)

    def test_archives_of_zeros(self):
        with mock.patch.object(_unpack, "_MIN_UNPACKED", 3), mock.patch.object(_unpack, "_MAX_RATIO", 0):
            self.assertTrue(issubclass(self.unpack(False, ("f", tarfile.REGTYPE)), Exception))


class Stub:
    """A server that answers with prepared responses, and remembers the requests."""

    def __init__(self, *answers: Any, port: int = 0) -> None:
        self.answers, self.requests = list(answers), []  # type: List[Any], List[Any]
        stub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                stub.requests.append((self.command, self.path, dict(self.headers), body))
                status, headers, text = stub.answers.pop(0) if stub.answers else (200, {}, b"{}")
                if status == 0:  # the connection breaks
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if "Content-Length" not in headers:
                    self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PUT = do_HEAD = do_DELETE = answer

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def detail(status: int, reason: str, **headers: str) -> Tuple[int, Dict[str, str], bytes]:
    return status, headers, json.dumps({"detail": "no", "reason": reason, "field": "f"}).encode()


class WithStub(unittest.TestCase):
    def stub(self, *answers: Any, port: int = 0) -> Stub:
        stub = Stub(*answers, port=port)
        self.addCleanup(stub.close)
        return stub

    def client(self, stub: Stub, **options: Any) -> k8s_cli.Client:
        client = k8s_cli.Client(stub.url, user="ann", **options)
        self.addCleanup(client.close)
        return client


class TestErrors(WithStub):
    def test_every_documented_reason_has_a_class_and_a_status(self) -> None:
        rows = []
        for line in (ROOT / "docs/api.md").read_text("utf-8").splitlines():
            cells = [c.strip() for c in line.split("|")]
            if len(cells) == 5 and cells[1].isdigit():
                rows.append((int(cells[1]), cells[2].strip("`")))
        self.assertEqual({r for _, r in rows}, set(errors.REASONS))
        general: Dict[int, str] = {}
        for status, reason in rows:
            general.setdefault(status, reason)
            stub = self.stub(detail(status, reason))
            with self.assertRaises(errors.ApiError) as caught:
                self.client(stub).request("POST", "/")
            self.assertIs(type(caught.exception), errors.REASONS[reason])
            self.assertIsInstance(caught.exception, errors.REASONS[general[status]])
            got = (caught.exception.status, caught.exception.reason, caught.exception.field, caught.exception.detail)
            self.assertEqual(got, (status, reason, "f", "no"))

    def test_an_unknown_reason_has_the_class_of_its_status(self) -> None:
        for status, kind in ((404, errors.NotFound), (422, errors.Invalid), (418, errors.ApiError), (502, errors.ApiError)):
            stub = self.stub(detail(status, "Newer"))
            with self.assertRaises(kind) as caught:
                self.client(stub).whoami()
            self.assertEqual(caught.exception.reason, "Newer")

    def test_a_page_of_a_proxy_and_a_redirect_are_errors(self) -> None:
        stub = self.stub((502, {}, b"<html>"), (302, {"Location": "https://evil.example/"}, b""))
        with self.assertRaisesRegex(errors.ApiError, "answered 502"):
            self.client(stub).whoami()
        with self.assertRaisesRegex(errors.ApiError, "redirects to https://evil.example/, and no redirect is followed"):
            self.client(stub).whoami()
        self.assertEqual(len(stub.requests), 2)


class TestReuse(WithStub):
    def test_errors_can_be_pickled(self) -> None:
        status = models.decode(models.TaskStatus, {"task_id": "abc", "status": "failed", "metadata": {"reason": "Error"}})
        job = self.client(self.stub()).job("abc")
        found = [
            errors.api_error(422, {"detail": "no", "reason": "UnknownField", "field": "runn"}, retry_after=3),
            errors.TaskFailed("task abc is failed", status),
            errors.BatchFailed([job, None], {1: errors.TaskUnusable("no", "run")}, None),
            errors.ConnectionFailed("no", broke=True),
            errors.TaskFileNotFound("no"),
        ]
        for error in found:
            again = pickle.loads(pickle.dumps(error))
            self.assertEqual((type(again), str(again)), (type(error), str(error)))
            for name, value in error.__dict__.items():
                if name != "errors":
                    self.assertEqual(getattr(again, name), value, (type(error), name))

    def test_clients_and_jobs_can_be_pickled(self) -> None:
        for module in (k8s_cli, k8s_cli.aio):
            client = module.Client("example.com", user="ann", timeout=5)
            again = pickle.loads(pickle.dumps(module.Job(client, "abc", name="train", group="g")))
            self.assertEqual((again.id, again.name, again.group), ("abc", "train", "g"))
            other = again._client
            self.assertEqual((type(other), other.url, other._user, other.timeout), (module.Client, "http://example.com", "ann", 5))

    def test_another_workdir_replaces_the_uploaded_one(self) -> None:
        spec = {"run": "true", "workdir": _pack.WORKDIR, "uploads": {_pack.WORKDIR: "a" * 64, "/data": "b" * 64}}
        self.assertEqual(Task.from_dict(spec).with_fields(workdir=".").fields["uploads"], {"/data": "b" * 64})
        self.assertEqual(Task.from_dict(spec).with_fields(cpus=1).fields["uploads"], spec["uploads"])


class TestMistakes(WithStub):
    """Every mistake is an error of the client, and also the error of Python that fits."""

    def test_arguments(self) -> None:
        stub = self.stub()
        client = self.client(stub)
        text = "name: x\nrun: echo\n"
        for kind, python, said, act in (
            (errors.TaskFileNotFound, FileNotFoundError, "/no/x.yaml does not exist", lambda: Task.from_file("/no/x.yaml")),
            (errors.TaskUnusable, ValueError, "cannot read the task file /: ", lambda: Task.from_file("/")),
            (errors.TaskUnusable, ValueError, "the sweep has no points", lambda: client.map("true", {"N": []})),
            (errors.ArgumentInvalid, TypeError, "the point 1 is not a dict", lambda: client.map("true", [1])),
            (errors.ArgumentInvalid, TypeError, "run: the command is given twice", lambda: client.submit("true", run="true")),
            (errors.ArgumentInvalid, TypeError, "timeout: '5' is not a number of seconds", lambda: k8s_cli.Client(timeout="5")),
            (errors.ArgumentInvalid, ValueError, "timeout: 0 is not a number of seconds above 0", lambda: k8s_cli.Client(timeout=0)),
            (errors.ArgumentInvalid, TypeError, "timeout: '5' is not a number of seconds", lambda: client.job("a").wait("5")),
            (errors.ArgumentInvalid, ValueError, "limit: -1 is not a number of tasks", lambda: list(client.jobs(limit=-1))),
            (errors.TaskUnusable, ValueError, "the chain has no tasks", lambda: client.chain([])),
            (errors.TaskUnusable, ValueError, r"envs.A: JSON cannot represent nan", lambda: client.submit("x", envs={"A": float("nan")})),
            (errors.TaskUnusable, ValueError, r"outputs\[0\]: JSON cannot represent PosixPath", lambda: client.submit("x", outputs=[pathlib.Path("a")])),
            (errors.TaskUnusable, ValueError, r"envs.A: JSON cannot represent {1}", lambda: client.submit_all([Task("x", envs={"A": {1}})])),
            (errors.TaskUnusable, ValueError, "envs.A: the task needs a value", lambda: client.submit("x", envs={"A": None})),
            (errors.TaskUnusable, ValueError, "secrets.A: the task needs a value", lambda: client.chain([Task("x", secrets={"A": None})])),
            (errors.ArgumentInvalid, TypeError, "an id or a name is a str, and not 5", lambda: client.get(5)),
            (errors.ArgumentInvalid, TypeError, "a task is a Task, a dict of its fields, or its command, and not 5", lambda: client.submit(5)),
            (errors.ArgumentInvalid, TypeError, "either a task or its fields", lambda: client.submit(Task("x"), cpus=1)),
            (errors.ArgumentInvalid, ValueError, r"pass Task.from_file\('train.yaml'\)", lambda: client.submit("train.yaml")),
            (errors.ArgumentInvalid, ValueError, r"pass Task.from_yaml\(text\)", lambda: client.chain([text])),
            (errors.ArgumentInvalid, ValueError, "X-User must not have control characters", lambda: k8s_cli.Client(stub.url, user="a\n").get("t")),
            (errors.ArgumentInvalid, ValueError, "is not the URL of a server", lambda: k8s_cli.Client("ftp://x")),
            (errors.ArgumentInvalid, TypeError, "after: 5 is neither", lambda: client.submit("x", after=5)),
        ):
            with self.assertRaisesRegex(kind, said) as caught:
                act()
            self.assertIsInstance(caught.exception, (errors.Error, python))
            self.assertIsInstance(caught.exception, python)
        self.assertEqual(stub.requests, [])
        with self.assertRaises(errors.TaskUnusable) as unusable:
            client.submit("x", envs={"A": float("inf")})
        self.assertEqual(unusable.exception.field, "envs.A")

    def test_a_text_is_a_command(self) -> None:
        stub = self.stub(*[answer({"task_id": "t"})] * 2, *[answer({"results": [{"task_id": "t"}]})] * 3)
        client = self.client(stub)
        client.submit("python3 x.py", cpus=1)
        client.submit("echo run: x\nsleep 1")
        client.map("true", {"N": 1})
        client.chain(["true"])
        client.submit_all(["true"])
        sent = [json.loads(body) for _, _, _, body in stub.requests]
        self.assertEqual(sent[:2], [{"run": "python3 x.py", "resources": {"cpus": 1}}, {"run": "echo run: x\nsleep 1"}])
        self.assertEqual([s[0]["run"] for s in sent[2:]], ["true"] * 3)

    def test_errors_of_the_client_have_a_reason(self) -> None:
        state = models.GroupStatus("g", status="failed")
        found = [errors.GroupFailed("no", state), errors.BatchFailed([None], {0: errors.TaskUnusable("no")}), errors.ConnectionFailed("no")]
        self.assertEqual([e.reason for e in found], ["GroupFailed", "BatchFailed", "ConnectionFailed"])
        self.assertEqual(errors.api_error(502, {}).reason, "")

    def test_errors_name_their_task(self) -> None:
        stub = self.stub(*[detail(404, "NotFound")] * 4)
        client = self.client(stub)
        for act, id in ((client.status, "a"), (client.stop, "b"), (client.group_status, ""), (lambda _: client.submit("x"), "")):
            with self.assertRaises(errors.NotFound) as caught:
                act(id or "g")
            self.assertEqual(caught.exception.task_id, id)

    def test_a_page_instead_of_an_answer(self) -> None:
        with self.assertRaisesRegex(errors.WrongAnswer, "not JSON: b'<html>'"):
            self.client(self.stub((200, {}, b"<html>"))).whoami()
        with self.assertRaisesRegex(errors.Error, "not a healthy"):
            self.client(self.stub((200, {}, b"<html>"))).health()


class TestRetries(WithStub):
    def sleeps(self) -> List[float]:
        slept: List[float] = []
        patch = mock.patch("k8s_cli._requests.sleep", slept.append)
        patch.start()
        self.addCleanup(patch.stop)
        return slept

    def test_retry_after_is_honoured_with_jitter(self) -> None:
        slept = self.sleeps()
        stub = self.stub(detail(503, "Starting", **{"Retry-After": "3"}), detail(429, "LimitReached", **{"Retry-After": "2"}))
        self.client(stub).request("GET", "/x")
        self.assertEqual(len(stub.requests), 3)
        self.assertTrue(3 <= slept[0] <= 4.5 and 2 <= slept[1] <= 3, slept)

    def test_a_submission_has_one_key_for_all_attempts(self) -> None:
        slept = self.sleeps()
        stub = self.stub((0, {}, b""), (0, {}, b""), (200, {}, b'{"task_id": "t"}'))
        self.assertEqual(self.client(stub).submit(run="true").id, "t")
        keys = {headers["Idempotency-Key"] for _, _, headers, _ in stub.requests}
        self.assertEqual((len(stub.requests), len(keys), len(slept)), (3, 1, 2))
        self.assertTrue(0.1 <= slept[0] <= 0.15 and 0.2 <= slept[1] <= 0.3, slept)

    def test_what_is_not_idempotent_is_not_repeated(self) -> None:
        self.sleeps()
        stub = self.stub((0, {}, b""))
        with self.assertRaises(errors.ConnectionFailed):
            self.client(stub).request("POST", "/x")
        self.assertEqual(len(stub.requests), 1)

    def test_stops_and_deletions_have_one_key_for_all_attempts(self) -> None:
        self.sleeps()
        for act in (
            lambda c: c.stop("t"),
            lambda c: c.stop_all(),
            lambda c: c.group("g").stop(),
            lambda c: c.delete_volume("v"),
        ):
            stub = self.stub((0, {}, b""), (200, {}, b'{"count": 3}'))
            self.assertIn(act(self.client(stub)), (None, 3))
            keys = {headers.get("Idempotency-Key", "") for _, _, headers, _ in stub.requests}
            self.assertEqual((len(stub.requests), len(keys), "" in keys), (2, 1, False))

    def test_a_client_waits_out_a_restart_of_a_server_that_it_has_reached(self) -> None:
        slept: List[float] = []
        stub = self.stub((200, {}, b'{"task_id": "t"}'))
        client = self.client(stub)
        client.status("t")
        client.close()
        stub.close()
        port = int(stub.url.rpartition(":")[2])

        def restart(pause: float) -> None:
            slept.append(pause)
            if len(slept) == 8:
                again = self.stub(*[(200, {}, b'{"task_id": "t", "status": "running"}')], port=port)
                self.assertEqual(again.url, stub.url)

        with mock.patch("k8s_cli._requests.sleep", restart):
            self.assertEqual((client.status("t").status, len(slept)), ("running", 8))
        with mock.patch("k8s_cli._requests.sleep", slept.append), self.assertRaises(errors.ConnectionFailed):
            k8s_cli.Client("http://127.0.0.1:9", user="ann").status("t")
        self.assertEqual(len(slept), 8)

    def test_a_connection_that_breaks_five_times_is_an_error(self) -> None:
        slept = self.sleeps()
        stub = self.stub(*[(0, {}, b"")] * 9)
        with self.assertRaises(errors.ConnectionFailed):
            self.client(stub).whoami()
        self.assertEqual((len(slept), len(stub.requests)), (5, 6))

    def test_the_timeout_of_the_client_bounds_all_retries(self) -> None:
        stub = self.stub(*[detail(503, "Starting", **{"Retry-After": "60"})] * 2)
        began = time.monotonic()
        with self.assertRaises(errors.Starting):
            self.client(stub, timeout=1).whoami()
        self.assertLess(time.monotonic() - began, 30)
        self.assertEqual(len(stub.requests), 1)

    def test_a_response_that_ends_too_early_is_requested_again(self) -> None:
        self.sleeps()
        stub = self.stub((200, {"Content-Length": "100", "Connection": "close"}, b'{"user"'), (200, {}, b'{"user": "ann"}'))
        self.assertEqual(self.client(stub).whoami().user, "ann")

    def test_an_idle_connection_that_the_server_closed_is_replaced(self) -> None:
        slept = self.sleeps()
        stub = self.stub((200, {}, b'{"user": "a"}'), (0, {}, b""), (200, {}, b'{"user": "b"}'))
        client = self.client(stub)
        self.assertEqual((client.whoami().user, client.whoami().user, slept), ("a", "b", []))

    def test_pauses(self) -> None:
        for d in (0.1, 3.0):
            all_pauses = [_retry.jittered(d) for _ in range(200)]
            self.assertTrue(all(d <= p <= 1.5 * d for p in all_pauses))
            self.assertGreater(len(set(all_pauses)), 100)
        self.assertIsNone(_retry.pause_before_retry(errors.ConnectionFailed("refused"), 0, False))
        self.assertLessEqual(_retry.pause_before_retry(errors.ConnectionFailed("refused"), 50, True) or 9, 2)
        self.assertLessEqual(_retry.resume_pause(50), 2)


class TestJobGroups(WithStub):
    def test_a_job_group_is_one_atomic_batch(self) -> None:
        results = [{"task_id": f"id{i}", "status": "submitted", "message": ""} for i in range(2)]
        stub = self.stub((200, {}, json.dumps({"submitted": 2, "failed": 0, "results": results}).encode()))
        tasks = [k8s_cli.Task("true", name="trainer"), k8s_cli.Task("true", name="buffer")]
        group = self.client(stub).job_group("rlhf", tasks, primary=["trainer"], termination_delay="30s", group="g")
        self.assertEqual(([j.id for j in group], group.name), (["id0", "id1"], "g"))
        _, path, _, body = stub.requests[0]
        self.assertEqual(path, "/tasks/batch?atomic=true")
        want = [
            {"name": "trainer", "run": "true", "group": "g", "job_group": "rlhf"},
            {"name": "buffer", "run": "true", "group": "g", "job_group": "rlhf", "auxiliary": True},
        ]
        self.assertEqual(json.loads(body), [want[0], {**want[1], "termination_delay": "30s"}])
        with self.assertRaisesRegex(ValueError, "no task 'trainr'"):
            self.client(stub).job_group("rlhf", tasks, primary=["trainr"])


class Outputs:
    """A server with outputs, whose connections break after numbers of bytes of the body."""

    def __init__(self, files: Dict[str, bytes], cuts: List[int], ranges: bool = True) -> None:
        content = io.BytesIO()
        with tarfile.open(fileobj=content, mode="w:gz") as out:
            for name, text in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(text)
                out.addfile(member, io.BytesIO(text))
        self.archive, self.asked = content.getvalue(), []  # type: bytes, List[Any]
        tag = '"' + hashlib.sha256(self.archive).hexdigest() + '"'
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = self.headers.get("Range"), self.headers.get("If-Range")
                outer.asked.append(asked)
                begin = int(asked[0][6:-1]) if asked[0] and ranges and asked[1] == tag else 0
                body = outer.archive[begin:]
                self.send_response(206 if begin else 200)
                self.send_header("Content-Length", str(len(body)))
                if begin:
                    self.send_header("Content-Range", f"bytes {begin}-{len(outer.archive) - 1}/{len(outer.archive)}")
                else:
                    self.send_header("ETag", tag)
                self.end_headers()
                self.wfile.write(body[: cuts.pop(0)] if cuts else body)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class TestDownloads(unittest.TestCase):
    def download(self, server: Outputs, flavour: str, timeout: float = 30) -> List[str]:
        self.addCleanup(server.close)

        async def run() -> List[str]:
            async with k8s_cli.aio.Client(server.url, user="ann", timeout=timeout) as client:
                return await client.download_outputs("t", top, node=0)

        with tempfile.TemporaryDirectory() as top:
            if flavour == "asyncio":
                found = asyncio.run(run())
            else:
                found = k8s_cli.Client(server.url, user="ann", timeout=timeout).download_outputs("t", top, node=0)
            return [pathlib.Path(path).read_text() for path in found]

    def test_a_download_resumes_after_breaks(self) -> None:
        for flavour in ("blocking", "asyncio"):
            server = Outputs({"f": b"text"}, [0, 30, 20] + 8 * [0])
            with mock.patch.multiple(_retry, FIRST_PAUSE=0.001, MAX_PAUSE=0.01):
                self.assertEqual(self.download(server, flavour), ["text"])
            tag = '"' + hashlib.sha256(server.archive).hexdigest() + '"'
            self.assertEqual(server.asked, [(None, None), (None, None), ("bytes=30-", tag), *9 * [("bytes=50-", tag)]])

    def test_a_server_without_ranges_sends_the_whole_archive_again(self) -> None:
        server = Outputs({"f": b"text"}, [30, 20], ranges=False)
        self.assertEqual(self.download(server, "blocking"), ["text"])
        self.assertEqual([asked for asked, _ in server.asked], [None, "bytes=30-", "bytes=20-"])

    def test_a_download_without_progress_ends(self) -> None:
        for flavour in ("blocking", "asyncio"):
            with self.assertRaisesRegex(errors.ConnectionFailed, "ended within the response"):
                self.download(Outputs({"f": b"text"}, [30] + [0] * 99), flavour, timeout=1)


def answer(body: Any, **headers: str) -> Tuple[int, Dict[str, str], bytes]:
    return 200, {name.replace("_", "-"): value for name, value in headers.items()}, json.dumps(body).encode()


class TestJobs(WithStub):
    def test_rerun(self) -> None:
        spec = {"run": "x", "envs": {"A": "1"}, "secrets": {"S": "<redacted>"}, "uploads": {"/f": "0" * 64}}
        spec["resources"] = {"any_of": [{"cpus": "1"}, {"cpus": "2"}]}
        stub = self.stub(answer(spec))
        with self.assertRaisesRegex(errors.TaskUnusable, "does not return the secrets of task t; pass secrets= with S"):
            self.client(stub).job("t").rerun()
        stub = self.stub(answer({**spec, "secrets": {}}), detail(404, "UploadNotFound"))
        with self.assertRaisesRegex(errors.TaskUnusable, "files of task t have expired"):
            self.client(stub).job("t").rerun()
        stub = self.stub(answer(spec), (200, {}, b""), status("n", "failed", group="g"), answer({"task_id": "u"}))
        job = self.client(stub).job("t").rerun(envs={"B": 2}, secrets={"S": "s"}, memory=8, key="k")
        self.assertEqual((job.id, job.group, stub.requests[-1][1]), ("u", "g", "/tasks/submit?group=g"))
        want = {**spec, "envs": {"A": "1", "B": 2}, "secrets": {"S": "s"}}
        want["resources"] = {"any_of": [{"cpus": "1", "memory": 8}, {"cpus": "2", "memory": 8}]}
        self.assertEqual((json.loads(stub.requests[-1][3]), stub.requests[-1][2]["Idempotency-Key"]), (want, "k"))

    def test_failed_tasks_of_a_sweep_are_submitted_again(self) -> None:
        def tasks(**phases: str) -> Any:
            return answer({"tasks": [{"task_id": id, "status": phase} for id, phase in phases.items()]})

        state = answer({"group": "g", "status": "failed", "by_status": {"completed": 2, "failed": 1}})
        spec, submitted = answer({"run": "x", "resources": {"memory": "1"}}), answer({"task_id": "n"})
        made = answer({"results": [{"task_id": "a"}, {"task_id": "b"}]})
        before, after = tasks(a="failed", b="completed"), tasks(a="failed", b="completed", n="completed")
        stub = self.stub(made, before, spec, submitted, state, after, after, state, tasks(b="completed", n="stopped"))
        sweep = self.client(stub).map("x", {"N": [1, 2]}, group="g")
        self.assertEqual([job.id for job in sweep.rerun_failed(memory=8)], ["n"])
        self.assertEqual(stub.requests[3][1], "/tasks/submit?group=g")
        self.assertEqual(json.loads(stub.requests[3][3])["resources"], {"memory": 8})
        self.assertEqual(sweep.wait(check=True).status, "failed")  # of the group, which still has the first task
        self.assertEqual([(point["N"], s.task_id) for point, s in sweep.results()], [(1, "n"), (2, "b")])
        with self.assertRaisesRegex(errors.GroupFailed, "1 of 2 tasks did not complete; the task of {'N': 1} is stopped"):
            sweep.wait(check=True)
        none = detail(404, "OutputsNotFound")
        stub.answers = [after, answer({"task_id": "b"}), none, answer({"task_id": "n"}), none]
        self.assertEqual(sweep.download("/nowhere"), {})
        asked = {path.split("/")[2] for _, path, _, _ in stub.requests if path.endswith("/outputs/0")}
        self.assertEqual(asked, {"b", "n"})

    def test_the_tasks_of_a_chain_are_not_submitted_again_alone(self) -> None:
        chain = self.client(self.stub(answer({"results": [{"task_id": "a"}]}))).chain(["x"])
        with self.assertRaisesRegex(errors.ArgumentInvalid, "depend on each other"):
            chain.rerun_failed()

    def test_options_of_map(self) -> None:
        stub = self.stub(*[answer({"results": [{"task_id": "a"}, {"task_id": "b"}]})] * 2)
        for _ in range(2):
            sweep = self.client(stub).map(Task("true", name="n"), {"N": [1, 2]}, atomic=True, key="k", notify="https://h")
        self.assertEqual((stub.requests[0][1], stub.requests[0][3]), (stub.requests[1][1], stub.requests[1][3]))
        self.assertEqual(stub.requests[0][1], "/tasks/batch?atomic=true")
        sent = json.loads(stub.requests[0][3])
        self.assertEqual([(i["idempotency_key"], i["event_callback"], i["group"]) for i in sent], [(f"k/{n}", "https://h", sweep.name) for n in (0, 1)])
        self.assertEqual([i["annotations"] for i in sent], [{"k8s-cli/point": "N=1"}, {"k8s-cli/point": "N=2"}])

    def test_the_point_of_a_sweep_in_the_annotations(self) -> None:
        for own, point, want in (
            ({}, {"LR": 0.1, "N": "a b"}, {"k8s-cli/point": "LR=0.1 N=a b"}),
            ({"k8s-cli/point": "mine"}, {"N": 1}, {"k8s-cli/point": "mine"}),
            ({}, {"N": "é" * 300}, {"k8s-cli/point": "N=" + "é" * 127}),
            ({"note": "x" * 4000}, {"N": "y" * 200}, {"note": "x" * 4000}),
        ):
            made = Task("true", annotations=own)
            made.store_point(point)
            self.assertEqual(made.fields["annotations"], want)

    def test_a_batch_that_failed_names_its_group(self) -> None:
        stub = self.stub(answer({"results": [{"task_id": "a"}, {"code": 422, "detail": "no"}]}), answer({"count": 1}))
        with self.assertRaises(errors.BatchFailed) as caught:
            self.client(stub).map(Task("true"), {"N": [1, 2]}, group="g")
        self.assertEqual((caught.exception.group.name, caught.exception.group.stop()), ("g", 1))
        self.assertEqual((str(caught.exception), *caught.exception.errors), ("1 of 2 tasks were not submitted; task 2: no", 1))

    def test_a_job_learns_its_name_and_its_group(self) -> None:
        found = {"task_id": "t", "name": "task-1", "metadata": {"group": "g"}}
        stub = self.stub(answer({"task_id": "t"}), answer(found))
        job = self.client(stub).submit("true")
        self.assertEqual((job.name, job.group), ("", ""))
        job.status()
        self.assertEqual((job.name, job.group), ("task-1", "g"))

    def test_equal_jobs(self) -> None:
        stub = self.stub()
        one, other = self.client(stub), k8s_cli.Client("http://127.0.0.1:9", user="ann")
        jobs = {one.job("a"), self.client(stub).job("a"), one.job("b"), other.job("a")}
        self.assertEqual((len(jobs), one.job("a") == "a"), (3, False))

    def test_filters(self) -> None:
        stub = self.stub(*[answer({"tasks": [], "since": "", "total": {}})] * 6)
        client = self.client(stub)
        list(client.jobs(annotation=["a=b", "c"], since=datetime.timedelta(hours=1)))
        list(client.group("g").jobs(annotation="a", label={"team": "x"}))
        client.usage(by="group", since=3600)
        client.rows(since=60)
        list(client.jobs(gpus=[8, "H100"], exit=0, point={"LR": 0.1}, not_status=["failed"], before=datetime.timedelta(hours=1)))
        client.page(machine="m", not_label={"team": "x"}, name_contains=["a", "b"])
        self.assertEqual([path.replace("%3D", "=") for _, path, _, _ in stub.requests], [
            "/tasks?limit=500&annotation=a=b&annotation=c&since=3600s",
            "/tasks?limit=500&sort=created&annotation=a&label=team=x&group=g",
            "/usage?since=1d&by=group",
            "/tasks?since=60s&view=row",
            "/tasks?limit=500&gpus=8&gpus=H100&exit=0&point=LR=0.1&not_status=failed&before=3600s",
            "/tasks?machine=m&not_label=team=x&name_contains=a&name_contains=b",
        ])  # fmt: skip

    def test_stop_by_filters(self) -> None:
        stub = self.stub(*[answer({"count": 2})] * 2)
        client = self.client(stub)
        self.assertEqual(client.stop_all(status="pending", not_label={"keep": "yes"}, since=60), 2)
        client.stop_all(group="g", gpus=0, all_users=False)
        self.assertEqual([path.replace("%3D", "=") for _, path, _, _ in stub.requests], [
            "/tasks/stop?status=pending&not_label=keep=yes&since=60s",
            "/tasks/stop?group=g&gpus=0",
        ])  # fmt: skip
        for empty in ("", [], [""], {}, None):  # without the filter, the stop would stop more tasks
            with self.assertRaisesRegex(errors.ArgumentInvalid, "^label: the value is empty; give a value, or omit the filter$"):
                client.stop_all(label=empty)  # type: ignore[arg-type]
        with self.assertRaisesRegex(errors.ArgumentInvalid, "^before: the value is empty"):
            client.stop_all(before="")

    def test_limits_of_lists(self) -> None:
        pages = [answer({"tasks": [{"task_id": f"{n}{i}"} for i in range(2)]}, X_Next_Cursor="c") for n in (1, 2)]
        stub = self.stub(*pages)
        self.assertEqual([j.id for j in self.client(stub).jobs(limit=3, page_size=2)], ["10", "11", "20"])
        self.assertEqual([path for _, path, _, _ in stub.requests], ["/tasks?limit=2", "/tasks?limit=1&cursor=c"])
        self.assertEqual(list(self.client(stub).jobs(limit=0)), [])

    def test_logs_of_a_group(self) -> None:
        of_job_group = {"task_id": "c", "name": "trainer", "metadata": {"job_group": "rlhf"}}
        stub = self.stub(
            answer({"tasks": [{"task_id": "a"}, {"task_id": "b"}, of_job_group]}),
            (200, {}, b"1\n2\n"), detail(404, "LogNotFound"), (200, {}, b"3\n"),
        )  # fmt: skip
        got = list(self.client(stub).group("g").logs(tail=2))
        self.assertEqual(got, ["a | 1\n", "a | 2\n", "trainer | 3\n"])
        self.assertEqual(stub.requests[-1][1], "/tasks/c/logs?tail=2")

    def test_outputs_are_awaited(self) -> None:
        slept: List[float] = []
        found = status("n", "stopped", outputs=[{"node": 0, "error": "too large"}])
        stub = self.stub(answer({"outputs": ["out"]}), status("n", "stopped"), found, found, detail(404, "OutputsNotFound"))
        with mock.patch("k8s_cli.operations.sleep", slept.append), self.assertRaises(errors.OutputsNotFound):
            self.client(stub).job("t").download("/nowhere", wait=60)
        self.assertEqual(len(slept), 1)
        stub = self.stub(answer({}), status("n", "stopped"), detail(404, "OutputsNotFound"))
        with self.assertRaises(errors.OutputsNotFound):  # the task has no outputs
            self.client(stub).job("t").download("/nowhere", wait=60)


class TestTruncation(unittest.TestCase):
    """A response that ends too early is an error at every byte, and never a shorter response."""

    answers = {
        "length": b'HTTP/1.1 200 OK\r\nX-Log-Resumable: true\r\nContent-Length: 15\r\n\r\n{"user": "ann"}',
        "chunks": b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{"user":\r\n7\r\n "ann"}\r\n0\r\n\r\n',
    }

    def serve(self, data: bytes) -> str:
        listener = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(listener.close)

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(data)

        threading.Thread(target=answer, daemon=True).start()
        return "http://127.0.0.1:%d" % listener.getsockname()[1]

    def test_what_is_not_http_is_an_error(self) -> None:
        for text in (b"hello\r\n\r\n", b"HTTP/1.1 x\r\n\r\n"):
            with self.assertRaises(errors.ConnectionFailed):
                k8s_cli.Client(self.serve(text), user="ann").request("GET", "/x", retry=False)
            with self.assertRaises(errors.ConnectionFailed):
                asyncio.run(k8s_cli.aio.Client(self.serve(text), user="ann").request("GET", "/x", retry=False))

    def test_every_byte(self) -> None:
        async def ask(url: str) -> str:
            return (await k8s_cli.aio.Client(url, user="ann").request("GET", "/x", retry=False)).text()

        for data in self.answers.values():
            for end in [*range(len(data) - 5), len(data)]:
                for flavour in ("blocking", "asyncio"):
                    url = self.serve(data[:end])
                    try:
                        if flavour == "asyncio":
                            got = asyncio.run(ask(url))
                        else:
                            got = k8s_cli.Client(url, user="ann").request("GET", "/x", retry=False).text()
                    except errors.ConnectionFailed:
                        got = ""
                    self.assertEqual(got, '{"user": "ann"}' if end == len(data) else "", (flavour, data[:end]))


class TestAsyncioTransport(WithStub):
    def test_responses(self) -> None:
        stub = self.stub(
            (200, {}, b'{"user": "a"}'),
            (0, {}, b""),  # the server closed the idle connection
            (200, {}, b'{"user": "b"}'),
            (200, {"Content-Length": "100", "Connection": "close"}, b'{"user"'),
            (200, {"Transfer-Encoding": "chunked", "Content-Length": "13"}, b"6\r\n{\"user\r\n8;x=y\r\n\": \"c\"} \r\n0\r\nT: 1\r\n\r\n"),
            (200, {"Content-Length": "0"}, b""),
        )

        async def run() -> List[str]:
            async with k8s_cli.aio.Client(stub.url, user="ann") as client:
                users = [(await client.whoami()).user for _ in range(3)]
                return users + [str(await client.has_upload("0"))]

        self.assertEqual(asyncio.run(run()), ["a", "b", "c", "True"])

    def test_headers_have_no_control_characters(self) -> None:
        stub = self.stub()
        with self.assertRaises(ValueError):
            k8s_cli.Client(stub.url, user="ann\r\nX-Evil: 1").whoami()
        with self.assertRaises(ValueError):
            asyncio.run(k8s_cli.aio.Client(stub.url, user="ann\r\nX-Evil: 1").whoami())
        self.assertEqual(stub.requests, [])
        with k8s_cli.Client(stub.url, user="안") as client:
            client.request("GET", "/x")
        self.assertEqual(stub.requests[-1][2]["X-User"].encode("latin-1").decode("utf-8"), "안")

    def test_a_cancellation_beside_a_result(self) -> None:
        async def cancel(pauses: int) -> None:
            answer: "asyncio.Future[int]" = asyncio.get_running_loop().create_future()
            lost: List[int] = []

            async def work() -> int:
                return await answer

            reader = asyncio.create_task(_io.within(work(), 60, lost.append))
            for _ in range(3):
                await asyncio.sleep(0)
            answer.set_result(1)
            for _ in range(pauses):
                await asyncio.sleep(0)
            if not reader.cancel():
                self.assertEqual(await reader, 1)
                return
            with self.assertRaises(asyncio.CancelledError):
                await reader
            self.assertIn(lost, ([], [1]))

        for pauses in range(8):
            asyncio.run(cancel(pauses))

    def test_work_that_takes_too_long_ends(self) -> None:
        async def run() -> None:
            ended = asyncio.Event()

            async def work() -> None:
                try:
                    await asyncio.sleep(3600)
                finally:
                    ended.set()

            with self.assertRaises(asyncio.TimeoutError):
                await _io.within(work(), 0.001)
            self.assertTrue(ended.is_set())

        asyncio.run(run())


RESUMABLE = {"x-log-resumable": "true"}


def some_log(r: random.Random, lines: int) -> List[Tuple[int, bytes]]:
    """A log with equal times, equal lines, and lines out of order: nanoseconds and texts."""
    now, log = 1_760_000_000 * 10**9, []
    for i in range(lines):
        now += r.choice([0, 0, 0, r.randrange(10**6), r.randrange(10**6), r.randrange(3 * 10**9)])
        log.append((now - (r.randrange(9 * 10**8) if r.random() < 0.25 else 0), b"x" * (i % 2) + b"%d" % r.randrange(3)))
    return log


def stamped(at: int, text: bytes) -> bytes:
    whole = datetime.datetime.fromtimestamp(at // 10**9, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S")
    return b"%s.%09dZ %s\n" % (whole.encode(), at % 10**9, text)


class TestProcesses(unittest.TestCase):
    """A client that was used before a fork answers in both processes, each for itself."""

    def test_ways(self) -> None:
        class Echo(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.answer(self.path.rpartition("/")[2])

            def do_POST(self) -> None:
                self.answer(json.loads(self.rfile.read(int(self.headers["Content-Length"])))["name"])

            def answer(self, id: str) -> None:
                time.sleep(random.random() / 500)
                body = json.dumps({"task_id": id}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            request_queue_size = 256

            def handle_error(self, *_: Any) -> None:
                pass  # children end without a word

        with Server(("127.0.0.1", 0), Echo) as server:
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            url = "http://127.0.0.1:%d" % server.server_address[1]
            home = pathlib.Path(__file__).resolve().parents[1]

            def run(flavour: str, way: str) -> Tuple[str, str]:
                command = [sys.executable, "-W", "ignore", "-m", "tests.processes", way]
                env = dict(os.environ, FLAVOUR=flavour, URL=url)
                done = subprocess.run(command, cwd=home, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                return done.stdout.decode().strip(), done.stderr.decode()

            ways = ("fork", "threads", "multiprocessing", "forkserver", "executor", "server")
            both = [("blocking", way) for way in ways]
            both += [("asyncio", way) for way in ("loop", *ways) if way != "threads"]  # a client for asyncio belongs to one thread
            with concurrent.futures.ThreadPoolExecutor(4) as pool:
                for case, got in zip(both, pool.map(lambda case: run(*case), both)):
                    with self.subTest(case):
                        self.assertEqual(got, ("right", ""))
            server.shutdown()


class TestLogs(unittest.TestCase):
    def test_a_log_is_resumed_from_every_line(self) -> None:
        for seed in range(12):
            log = some_log(random.Random(seed), 60)
            for first in range(len(log) + 1):
                reader = _streams.LogReader(False)
                reader.begin(RESUMABLE)
                got = reader.feed(b"".join(stamped(*line) for line in log[:first]) + b"2025-10-09T08:5")
                token = reader.token()
                since = 0 if token == "start" else int(token.partition("@")[2])
                reader.begin(RESUMABLE)
                rest = [stamped(at, text) for at, text in log if at // 10**9 >= since]
                for line in rest:
                    got += reader.feed(line[:5]) + reader.feed(line[5:])
                self.assertEqual(got, [text + b"\n" for _, text in log], f"seed {seed}, from line {first} on")

    def test_nodes_and_timestamps(self) -> None:
        reader = _streams.LogReader(True)
        reader.begin(RESUMABLE)
        line = b"node-3 | 2026-01-01T00:00:00.5+02:00 hi there\n"
        self.assertEqual(reader.feed(line), [line])
        self.assertEqual(reader.token(), "3@%d" % (1767225600 - 7200 - 1))
        self.assertEqual(reader.feed(b"node-3 | 2026-01-01T00:00:01Z no end") + reader.end(), [b"node-3 | 2026-01-01T00:00:01Z no end"])
        with self.assertRaises(ValueError):
            reader.feed(b"no time\n")

    def test_pings_are_no_lines(self) -> None:
        reader = _streams.LogReader(False)
        self.assertEqual([reader.begin({**RESUMABLE, "x-log-ping": ping}) for ping in ("15", "0", "x", "")], [45] + 3 * [math.inf])
        self.assertEqual(reader.begin({"x-log-ping": "15"}), math.inf)
        reader.begin(RESUMABLE)
        self.assertEqual(reader.feed(b"\n\n" + stamped(10**18, b"") + b"\n"), [b"\n"])

    def test_a_silent_log_is_resumed(self) -> None:
        """A path swallows what the server sends, without an end of the connection."""
        asked: List[str] = []
        silent = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append(self.headers["X-Log-Ping"] + " " + self.headers["X-Log-Resume"])
                self.send_response(200)
                for name, value in {"X-Log-Resumable": "true", "X-Log-Ping": "1", "Transfer-Encoding": "chunked"}.items():
                    self.send_header(name, value)
                self.end_headers()
                for line in log[:2] if len(asked) == 1 else log:
                    self.wfile.write(b"%x\r\n%s\r\n" % (len(line), line))
                if len(asked) == 1:
                    silent.wait()
                else:
                    self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *_: Any) -> None:
                pass

        log = [stamped(1_760_000_000 * 10**9 + i, b"%d" % i) for i in range(3)] + [b"\n"]
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
            threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
            url = "http://127.0.0.1:%d" % server.server_address[1]

            async def read() -> List[str]:
                return [line async for line in k8s_cli.aio.Client(url, user="ann").job("t").logs()]

            with mock.patch.object(_streams, "_SILENT_PINGS", 0.2):
                for flavour in ("blocking", "asyncio"):
                    asked.clear()
                    client = k8s_cli.Client(url, user="ann")
                    got = asyncio.run(read()) if flavour == "asyncio" else list(client.job("t").logs())
                    self.assertEqual(got, ["0\n", "1\n", "2\n"])
                    self.assertEqual(asked, ["true start", "true 0@1759999999"])
            silent.set()
            server.shutdown()

    def test_a_log_request_that_a_path_swallows_is_an_error(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server, mock.patch.object(_streams, "FIRST_SILENCE", 0.1):
            job = k8s_cli.Client("http://127.0.0.1:%d" % server.getsockname()[1], user="ann").job("t")
            with self.assertRaises(errors.ConnectionFailed):
                next(job.logs())

    def test_the_memory_of_a_cursor_is_bounded(self) -> None:
        cursor = _cursor.Cursor()
        for i in range(3 * _cursor.MAX_LINES):
            cursor.advance((1_760_000_000, i), i)
        self.assertLessEqual(len(cursor._recent), _cursor.MAX_LINES)
        deduper = cursor.deduper()
        self.assertTrue(deduper.has((1_760_000_000, 0), 0))  # forgotten, but before the first remembered line
        self.assertFalse(cursor.deduper().has((1_760_000_000, 10**8), -1))

    def test_events(self) -> None:
        reader = _streams.EventReader()
        text = b': comment\r\nid: 1.2\r\ndata: {"a":\r\ndata:1}\r\n\r\nid: 1.3\n\n\n\ndata: x\n\n'
        got = [m for i in range(len(text)) for m in reader.feed(text[i : i + 1])]
        self.assertEqual(got, [("1.2", '{"a":\n1}'), ("1.3", ""), ("", "x")])
        with self.assertRaises(ValueError):
            reader.feed(b"x" * (2 << 20))


PIPELINE = "# c\nname: p\n---\nname: a\nrun: a\n--- # second\nrun: |\n  ---\n  b\n"
GROUP = "name: g\nexecution: parallel\nprimary_tasks: [a]\ntermination_delay: 30s\n---\nname: a\nrun: a\n---\nname: b\nrun: b\n"


@unittest.skipUnless(_yaml.installed(), "no PyYAML")
class TestTaskFiles(WithStub):
    def file(self, text: str) -> str:
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        path = pathlib.Path(directory.name, "task.yaml")
        path.write_bytes(text.encode())
        return str(path)

    def test_scalars_have_the_text_of_the_file(self) -> None:
        """JSON writes each value with the text that the server reads from YAML."""
        for text in ("1", "-0", "007", "0x1F", "0o7", "1_000", "1.10", "1.5", "1e3", ".5", "+1", "yes", "On", "true", "True", "12:30:45",
                     "2026-01-02", "2026-01-02T03:04:05Z", "=", "<", ".inf", ".nan", "1" * 30, "'1'", '"true"', "!!str 1.10", "!!float 1.10", "a"):  # fmt: skip
            value = _yaml.one(f"x: {text}")["x"]
            self.assertEqual(value if isinstance(value, str) else json.dumps(value), text.rpartition(" ")[2].strip("'\""), text)
        self.assertEqual(_yaml.one("a: 1\nb: 1.5\nc: true\nd: '1'\ne: ~\nf:\n"), {"a": 1, "b": 1.5, "c": True, "d": "1", "e": None, "f": None})

    def test_structure(self) -> None:
        text = "a: &x {k: 1, l: 2}\nb: {<<: *x, l: 3}\n8080: [1, *x]\ntrue: !!set {A, B}\n"
        want = {"a": {"k": 1, "l": 2}, "b": {"k": 1, "l": 3}, "8080": [1, {"k": 1, "l": 2}], "true": {"A": None, "B": None}}
        self.assertEqual(_yaml.one("\ufeff" + text), want)
        for wrong, said in {
            "a: 1\na: 2": "duplicate key 'a' .line 2.$", "[a]: 1": "a key must be a single value", "a: [": "not valid YAML",
            "a: !x 1": "not valid YAML", "a: !!binary eA==": "not valid YAML", "- a": "must be a mapping", "a: &x [*x]": "not valid YAML",
            "a: !!python/object/apply:os.getcwd []": "not valid YAML",
        }.items():  # fmt: skip
            with self.assertRaisesRegex(errors.TaskUnusable, said):
                _yaml.one(wrong)

    def test_the_examples_are_read(self) -> None:
        for path in ROOT.glob("examples/**/*.yaml"):
            if "run:" in path.read_text("utf-8"):
                self.assertTrue(task.taskfile(task.read(path)).tasks, path)

    def test_a_task_file_is_a_task(self) -> None:
        made = Task.from_file(self.file("name: n\nnum_nodes: 2\nenvs: {A: null, B: 1.10}\nrun: x\n"))
        self.assertEqual((made.name, made.num_nodes, made.envs), ("n", 2, {"A": None, "B": "1.10"}))
        full = made.with_envs({"A": 1}).with_secrets({"S": "s"}).with_fields(cpus=1)
        want = {"name": "n", "num_nodes": 2, "envs": {"A": 1, "B": "1.10"}, "run": "x", "secrets": {"S": "s"}, "resources": {"cpus": 1}}
        self.assertEqual((full.json(), full), (want, Task.from_dict(want)))

    def test_what_is_sent(self) -> None:
        stub = self.stub(*[answer({"task_id": "t"})] * 3)
        client = self.client(stub)
        text = "run: echo  # c\n"
        made = Task.from_yaml(text)
        self.assertEqual(made.run, "echo")
        client.submit(made)
        made.num_nodes = 2
        client.submit(made)
        client.submit(Task.from_yaml("run: [\n"))  # the server says what is wrong
        self.assertEqual([body for _, _, _, body in stub.requests], [text.encode(), b'{"run": "echo", "num_nodes": 2}', b"run: [\n"])
        self.assertEqual([h["Content-Type"] for _, _, h, _ in stub.requests], ["application/yaml", "application/json", "application/yaml"])
        with self.assertRaisesRegex(errors.TaskUnusable, "pipeline or a job group; submit it with Client.submit_file"):
            Task.from_file(self.file(PIPELINE))
        with self.assertRaisesRegex(errors.TaskUnusable, "envs.A: the task needs a value"):
            client.submit(Task.from_yaml("envs: {A: }\nrun: x\n"))

    def test_a_preview_is_of_the_task_that_would_be_submitted(self) -> None:
        stub = self.stub(answer({"max_bytes": 1 << 20}), answer({"status": "acceptable"}), answer({"status": "acceptable"}))
        client, made = self.client(stub), Task.from_yaml("run: x\n")
        with tempfile.TemporaryDirectory() as top:
            client.preview(made.with_fields(workdir=top))
        made.run = "y"
        client.preview(made)
        self.assertEqual([path for _, path, _, _ in stub.requests], ["/uploads", "/tasks/preview", "/tasks/preview"])
        self.assertEqual(list(json.loads(stub.requests[1][3])["uploads"]), ["~/sky_workdir"])
        self.assertEqual(json.loads(stub.requests[2][3]), {"run": "y"})

    def test_files_of_several_tasks(self) -> None:
        results = answer({"results": [{"task_id": "a"}, {"task_id": "b"}]})
        stub = self.stub(answer({"task_id": "t"}), results, results)
        client = self.client(stub)
        job = client.submit_file(self.file("run: x"), envs={"A": 1}, group="g", notify="https://h")
        self.assertEqual((job.id, json.loads(stub.requests[0][3])), ("t", {"run": "x", "envs": {"A": 1}, "event_callback": "https://h"}))
        sweep = client.submit_file(self.file(PIPELINE), cpus=1, key="k")
        self.assertEqual((len(sweep), sweep.name), (2, client._group_name(Task("", name="p"), "k")))
        one, two = json.loads(stub.requests[1][3])
        self.assertEqual((one["run"], two["run"], two["after"], two["resources"]), ("a", "---\nb\n", ["k/0"], {"cpus": 1}))
        client.submit_file(self.file(GROUP))
        one, two = json.loads(stub.requests[2][3])
        self.assertEqual(one["job_group"], "g")
        self.assertEqual(({k for k in two if k not in one}, two["termination_delay"]), ({"auxiliary", "termination_delay"}, "30s"))
        for wrong, said in {
            GROUP.replace("[a]", "[c]"): "primary: the job group has no task 'c'",
            GROUP.replace("30s", "{a: 30s}"): "termination_delay: 'a' is no auxiliary task",
            GROUP.replace("[a]", "a"): "primary_tasks: must be a list",
            GROUP.replace("name: g\n", ""): "a job group needs a name",
            GROUP.replace("parallel", "fast"): "execution: 'fast' is not serial or parallel",
            GROUP.replace("parallel", "serial"): "primary_tasks: is valid only with execution: parallel",
        }.items():
            with self.assertRaisesRegex(errors.TaskUnusable, said):
                client.submit_file(self.file(wrong))

    def test_all_variables_of_a_file_without_a_value_are_named(self) -> None:
        stub = self.stub()
        path = self.file("run: x\nenvs: {A: , B: 1, C: }\nsecrets: {S: }\n---\nrun: y\nsecrets: {S: , T: }\n")
        for given, said in {
            (): "envs.A, envs.C, secrets.S, secrets.T: the task needs values; add them with envs={'A': ..., 'C': ...} and secrets={'S': ..., 'T': ...}",
            ("A", "C", "T"): "secrets.S: the task needs a value; add it with secrets={'S': ...}",
        }.items():
            with self.assertRaises(errors.TaskUnusable) as caught:
                self.client(stub).submit_file(path, envs={n: 1 for n in given if n < "S"}, secrets={n: 1 for n in given if n > "S"})
            self.assertEqual((str(caught.exception), caught.exception.field), (said, said[: said.index(".") + 2]))
        with self.assertRaisesRegex(errors.TaskUnusable, "add them with with_envs.{'A': ...}. and with_secrets.{'S': ...}.$"):
            self.client(stub).submit("x", envs={"A": None}, secrets={"S": None})
        self.assertEqual(stub.requests, [])

    def test_files_of_powershell(self) -> None:
        path = self.file("")
        for encoding in ("utf-16", "utf-8-sig"):
            pathlib.Path(path).write_bytes("name: 안\nrun: x\n".encode(encoding))
            self.assertEqual(Task.from_file(path).name, "안")


class TestWithoutPyYAML(WithStub):
    def test_only_the_server_reads_the_text(self) -> None:
        stub = self.stub(*[answer({"task_id": "t"})] * 2)
        with mock.patch.object(_yaml, "installed", lambda: False), tempfile.TemporaryDirectory() as top:
            client, one = self.client(stub), Task.from_yaml("envs: {A: 1}\nrun: x\n---\n# end\n")
            client.submit(one)
            pathlib.Path(top, "one.yaml").write_text(one.yaml or "")
            client.submit_file(os.path.join(top, "one.yaml"))
            self.assertEqual([body for _, _, _, body in stub.requests], [(one.yaml or "").encode()] * 2)
            pathlib.Path(top, "two.yaml").write_text(PIPELINE)
            for act in (
                lambda: one.with_envs({"B": 1}),
                lambda: one.run,
                lambda: client.submit_all([one]),
                lambda: client.map(one, {"N": [1]}),
                lambda: client.submit_file(os.path.join(top, "one.yaml"), envs={"B": 1}),
                lambda: client.submit_file(os.path.join(top, "two.yaml")),
            ):
                with self.assertRaisesRegex(errors.TaskUnusable, re.escape("needs PyYAML: pip install PyYAML")):
                    act()
            with self.assertRaisesRegex(errors.TaskUnusable, "submit it with Client.submit_file"):
                client.submit(Task.from_yaml(PIPELINE))
            self.assertEqual((one.name, one == Task.from_yaml(one.yaml or ""), one == Task("x")), ("", True, False))


class Live:
    """A server with tasks of one group, whose events arrive as they happen."""

    def __init__(self, tasks: List[str]) -> None:
        self.tasks, self.events, self.requests = dict.fromkeys(tasks, "pending"), [], []  # type: Dict[str, str], List[Any], List[str]
        self.updated: Dict[str, str] = {}  # when a task changed last
        self.changed, self.ended = threading.Condition(), False
        live = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                path, _, query = self.path.partition("?")
                last = re.search(r"last_event_id=(\d+)", query)
                live.requests.append(path)
                with live.changed:
                    if "event-stream" in (self.headers["Accept"] or ""):
                        first = len(live.events) if path == "/events" else 0
                        return self.stream(int(self.headers["Last-Event-ID"] or first))
                    if path == "/events":
                        return self.send({"events": live.events[int(last.group(1)) if last else 0 :]})
                    if path == "/tasks":
                        return self.send({"tasks": [live.status(id) for id in live.tasks]})
                    if path.startswith("/groups/"):
                        phases = list(live.tasks.values())
                        found = {"group": "g", "status": "running", "by_status": {p: phases.count(p) for p in phases}}
                        return self.send(found if live.tasks else {"detail": "no group", "reason": "GroupNotFound"}, 200 if live.tasks else 404)
                    self.send(live.status(path.split("/")[2]))

            def send(self, body: Any, status: int = 200) -> None:
                raw = json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(raw)))
                self.end_headers()
                self.wfile.write(raw)

            def stream(self, at: int) -> None:
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                text = "id: %d\n\n" % at
                while not live.ended:
                    text += "".join("id: %s\ndata: %s\n\n" % (e["id"], json.dumps(e)) for e in live.events[at:])
                    at = len(live.events)
                    if text:
                        self.wfile.write(b"%x\r\n%s\r\n" % (len(text), text.encode()))
                    text = ""
                    live.changed.wait()

            def log_message(self, *_: Any) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            def handle_error(self, *_: Any) -> None:
                pass  # a client closes its stream

        self.server = Server(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def status(self, id: str) -> Any:
        metadata = {"group": "g", "reason": "Because", "message": "of this"}
        return {"task_id": id, "status": self.tasks[id], "updated_at": self.updated.get(id), "metadata": metadata}

    def set(self, id: str, phase: str) -> None:
        with self.changed:
            self.tasks[id] = phase
            self.events.append({"id": str(len(self.events) + 1), "type": "phase", "kind": "task", "task_id": id, "status": phase, "group": "g"})
            self.changed.notify_all()

    def close(self) -> None:
        with self.changed:
            self.ended = True
            self.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()


class Sessions:
    """A server that switches to WebSockets, and sends frames."""

    def __init__(self, *frames: bytes, accept: str = "", stay: bool = False) -> None:
        self.paths, self.received = [], []  # type: List[str], List[bytes]
        sessions = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                sessions.paths.append(self.path)
                key = self.headers["Sec-WebSocket-Key"] + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
                self.send_response(101)
                for name, value in {
                    "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Protocol": self.headers["Sec-WebSocket-Protocol"],
                    "Sec-WebSocket-Accept": accept or base64.b64encode(hashlib.sha1(key.encode()).digest()).decode(),
                }.items():  # fmt: skip
                    self.send_header(name, value)
                self.end_headers()
                for frame in frames:
                    self.wfile.write(frame)
                    if frame[0] & 15 == 9:
                        head = self.rfile.read(6)
                        data = self.rfile.read(head[1] & 127)
                        sessions.received.append(head[:1] + bytes(b ^ head[2 + i % 4] for i, b in enumerate(data)))
                if stay:
                    self.rfile.read(1)  # until the client closes the connection
                self.close_connection = True

            def log_message(self, *_: Any) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()


def framed(opcode: int, data: bytes, final: bool = True) -> bytes:
    size = len(data)
    head = bytes([size]) if size < 126 else b"\x7e" + size.to_bytes(2, "big") if size < 1 << 16 else b"\x7f" + size.to_bytes(8, "big")
    return bytes([opcode | 128 * final]) + head + data


class TestExec(unittest.TestCase):
    def exec(self, flavour: str, sessions: Sessions, command: Any, **options: Any) -> models.Executed:
        self.addCleanup(sessions.close)

        async def run() -> models.Executed:
            async with k8s_cli.aio.Client(sessions.url, user="ann") as client:
                return await client.job("t").exec(command, **options)

        return asyncio.run(run()) if flavour == "asyncio" else k8s_cli.Client(sessions.url, user="ann").job("t").exec(command, **options)

    def test_output_and_exit_code(self) -> None:
        for flavour in ("blocking", "asyncio"):
            sessions = Sessions(
                framed(2, b"\x01out "), framed(9, b"ping"), framed(2, b"\x02err"), framed(10, b""), framed(2, b"\x01" + b"x" * 200),
                framed(2, b"\x01" + b"y" * 70000), framed(2, b"\x01sp", final=False), framed(0, b"lit"), framed(2, b'\x03{"exit_code": 7}'),
            )  # fmt: skip
            got = self.exec(flavour, sessions, ["ls", "-l"], node=1)
            self.assertEqual(got, models.Executed(7, b"out " + b"x" * 200 + b"y" * 70000 + b"split", b"err"))
            self.assertEqual(got.text, got.stdout.decode())
            self.assertEqual(sessions.paths, ["/tasks/t/exec?node=1&command=ls&command=-l"])
            self.assertEqual(sessions.received, [b"\x8aping"])

    def test_sessions_that_break_off(self) -> None:
        for flavour in ("blocking", "asyncio"):
            for last, said in (
                (framed(2, b'\x03{"error": "the task ended"}'), "the task ended"),
                (framed(8, b"\x03\xe9going away"), "going away"),
                (b"", "the connection ended"),
                (framed(2, b"\x01 half")[:4], "the connection ended"),
                (framed(2, b"\x03{}"), "did not report an exit code"),
                (framed(2, b"\x03x"), "Expecting value"),
            ):
                sessions = Sessions(framed(2, b"\x01out"), last or framed(10, b""))
                with self.assertRaisesRegex(errors.SessionBroken, "the command may still run: task t: .*" + said) as caught:
                    self.exec(flavour, sessions, "ls")
                self.assertEqual((caught.exception.task_id, len(sessions.paths)), ("t", 1))
            self.assertEqual(sessions.paths, ["/tasks/t/exec?node=0&command=sh&command=-c&command=ls"])
            for timeout in (0, 0.05):
                said = f"^the command did not end within {timeout} s, and may still run: task t$"
                with self.assertRaisesRegex(errors.SessionBroken, said):
                    self.exec(flavour, Sessions(framed(2, b"\x01out"), stay=True), "ls", timeout=timeout)
            with self.assertRaisesRegex(errors.WrongAnswer, "does not support the protocol"):
                self.exec(flavour, Sessions(accept="x"), "ls")
            stub = Stub(detail(422, "FeatureDisabled"))
            self.addCleanup(stub.close)
            with self.assertRaises(errors.FeatureDisabled):
                self.exec(flavour, stub, "ls")  # type: ignore[arg-type]


class TestWaiting(unittest.TestCase):
    def live(self, *tasks: str) -> Tuple[Live, k8s_cli.Client]:
        live = Live(list(tasks))
        self.addCleanup(live.close)
        client = k8s_cli.Client(live.url, user="ann")
        self.addCleanup(client.close)
        return live, client

    def test_a_stream_is_open_when_the_call_returns(self) -> None:
        live, client = self.live("a")
        for stream in (client.events(), client.group("g").events()):
            live.set("a", "running")
            event = stream.next()
            self.assertEqual(event and event.status, "running")
            stream.close()
        live.requests.clear()
        k8s_cli.aio.Client(live.url, user="ann").events()  # without an event loop
        self.assertEqual(live.requests, [])

    def test_the_stream_of_a_group_ends_with_the_group(self) -> None:
        live, client = self.live("a", "b")
        stream = client.group("g").events()
        live.set("a", "failed")
        live.set("b", "running")
        live.set("b", "completed")
        self.assertEqual([(e.task_id, e.status) for e in stream], [("a", "failed"), ("b", "running"), ("b", "completed")])
        self.assertEqual(list(client.group("g").events()), [])
        self.assertEqual([e.id for e in client.group("g").events(after="1")], ["2", "3"])

    def test_the_stream_of_a_group_that_grows(self) -> None:
        live, client = self.live()
        stream, got = client.group("g").events(), []
        threading.Timer(0.05, live.set, ("a", "pending")).start()
        for event in stream:
            got.append((event.task_id, event.status))
            if event.status == "pending":
                live.set("c" if event.task_id == "a" else "d", "running")
                live.set(event.task_id, "completed")
            if got[-1] == ("c", "running"):
                live.set("c", "stopped")
        self.assertEqual(got, [("a", "pending"), ("c", "running"), ("a", "completed"), ("c", "stopped")])

    def test_jobs_in_the_order_of_their_ends(self) -> None:
        for flavour in ("blocking", "asyncio"):
            live, client = self.live("a", "b", "c")
            live.set("c", "failed")

            async def run() -> List[Any]:
                async with k8s_cli.aio.Client(live.url, user="ann") as client:
                    jobs, got = [client.job(id) for id in live.tasks], []
                    async for job in k8s_cli.aio.as_completed(jobs):
                        got.append((job.id, job.last and job.last.status))
                        live.set(*ends.pop())
                    return got

            ends = [("x", "running"), ("a", "stopped"), ("b", "completed")]
            if flavour == "asyncio":
                got = asyncio.run(run())
            else:
                got = []
                for job in k8s_cli.as_completed([k8s_cli.Job(client, id, group="g") for id in live.tasks]):
                    got.append((job.id, job.last and job.last.status))
                    live.set(*ends.pop())
                self.assertEqual(live.requests, ["/events", "/tasks", "/tasks/b", "/tasks/a"])
            self.assertEqual(got, [("c", "failed"), ("b", "completed"), ("a", "stopped")])

    def test_jobs_that_have_ended_come_in_the_order_of_their_ends(self) -> None:
        live, client = self.live("a", "b", "c")
        for id, second in (("a", 3), ("b", 1), ("c", 2)):
            live.updated[id] = f"2026-01-02T03:04:0{second}Z"
            live.set(id, "completed")
        jobs = k8s_cli.as_completed([client.job(id) for id in live.tasks])
        self.assertEqual([job.id for job in jobs], ["b", "c", "a"])

    def test_a_running_task_is_awaited(self) -> None:
        live, client = self.live("a", "b")
        live.set("a", "running")
        live.set("a", "pending")  # the task restarts: the stream begins with an event that is older than the status
        threading.Timer(0.05, live.set, ("a", "running")).start()
        self.assertEqual(client.job("a").wait_running(60).status, "running")
        live.set("a", "pending")
        with self.assertRaisesRegex(errors.WaitTimeout, "task a is not running after 0.05 s; it is pending"):
            client.job("a").wait_running(0.05)
        live.set("b", "failed")
        self.assertEqual(client.job("b").wait_running().status, "failed")

    def test_jobs_that_are_not_over_in_time(self) -> None:
        live, client = self.live("a")
        with self.assertRaisesRegex(errors.WaitTimeout, "1 tasks are not over after 0.05 s"):
            list(k8s_cli.as_completed([client.job("a")], timeout=0.05))

    def test_a_wait_that_ends_too_early_says_why_the_task_waits(self) -> None:
        live, client = self.live("a")
        job = client.job("a")
        with self.assertRaises(errors.WaitTimeout) as caught:
            job.wait(0.05)
        err = caught.exception
        self.assertEqual(err.detail, "task a is not over after 0.05 s; it is pending (Because: of this)")
        self.assertEqual((err.reason, err.task_id, err.task and err.task.status), ("Because", "a", "pending"))
        self.assertEqual(repr(job), "<Job a: pending (Because)>")
        with self.assertRaises(errors.WaitTimeout) as caught:
            client.group("g").wait(0.05)
        self.assertEqual(caught.exception.group and caught.exception.group.unfinished, 1)

    def test_a_wait_outlasts_the_timeout_of_the_client_while_the_server_is_away(self) -> None:
        def state(phase: str) -> Any:
            return 200, {}, json.dumps({"task_id": "a", "group": "g", "status": phase, "by_status": {phase: 1}}).encode()

        for wait in (lambda c: c.job("a").wait(), lambda c: c.group("g").wait()):
            away = detail(503, "Starting")  # the pause after it is longer than the timeout of the client
            stub = Stub(state("running"), (200, {}, b""), away, away, detail(410, "EventsExpired"), state("completed"))
            self.addCleanup(stub.close)
            with k8s_cli.Client(stub.url, user="ann", timeout=0.9) as client, mock.patch("k8s_cli.events.sleep"):
                self.assertEqual((wait(client).status, len(stub.requests)), ("completed", 6))

    def test_a_group_is_awaited(self) -> None:
        live, client = self.live("a", "b")
        timer = threading.Timer(0.05, lambda: (live.set("a", "completed"), live.set("b", "completed")))
        timer.start()
        self.assertEqual(client.group("g").wait(60).unfinished, 0)


class TestModels(unittest.TestCase):
    def test_the_examples_of_the_api_are_read(self) -> None:
        document = json.loads((ROOT / "pkg/api/openapi/openapi.json").read_text("utf-8"))
        kinds = {"TaskStatus": models.TaskStatus, "Row": models.Row, "Group": models.GroupStatus, "Event": models.Event}
        kinds.update(Summary=models.Summary, Capacity=models.Capacity, Whoami=models.Whoami, VolumeStatus=models.Volume)
        kinds.update(Submitted=models.Submitted, Preview=models.Preview, Login=models.LoginMethod, Node=models.Node)
        kinds.update(Attempt=models.Attempt, Health=models.Readiness, Output=models.Output, TopTask=models.TopTask)
        kinds.update(UsageReport=models.UsageReport, UsageRow=models.UsageRow, UsageHours=models.UsageHours)

        def check(name: str, kind: Any, schema: Any) -> None:
            """Checks that a class has all fields of a schema, also of the schemas in it."""
            for part in schema.get("allOf", []):
                check(name, kind, part)
            if "$ref" in schema:
                check(name, kind, document["components"]["schemas"][schema["$ref"].rpartition("/")[2]])
            if "items" in schema:
                check(name, kind, schema["items"])
            hints, properties = typing.get_type_hints(kind), schema.get("properties", {})
            self.assertEqual(set(properties) - set(hints), set(), f"{name}: fields of the API that the client lacks")
            for field, inner in properties.items():
                for each in (hints[field], *typing.get_args(hints[field])):
                    if dataclasses.is_dataclass(each):
                        check(f"{name}.{field}", each, inner)

        for name, kind in kinds.items():
            schema = document["components"]["schemas"][name]
            check(name, kind, schema)
            for example in schema.get("examples", []):
                models.decode(kind, {**example, "field_of_a_later_release": 1})

    def test_times_of_a_task(self) -> None:
        def at(minute: int) -> str:
            return f"2026-01-02T03:{minute:02}:00Z"

        nodes = [{"rank": 0, "started_at": at(3), "finished_at": at(9), "attempts": [{"started_at": at(1)}]}, {"rank": 1}]
        fields = {"task_id": "t", "status": "running", "updated_at": at(10), "metadata": {"nodes": nodes, "annotations": {"a": "b"}}}
        running = models.decode(models.TaskStatus, fields)
        self.assertEqual((running.started_at, running.ended_at), (models.parse_time(at(1)), None))
        self.assertEqual(running.metadata.annotations, {"a": "b"})
        over = models.decode(models.TaskStatus, {**fields, "status": "failed"})
        self.assertEqual((over.ended_at, over.duration), (models.parse_time(at(9)), datetime.timedelta(minutes=8)))
        self.assertLess(over.duration or running.duration, running.duration)
        unstarted = models.TaskStatus("t", status="stopped", updated_at=models.parse_time(at(10)))
        self.assertEqual((unstarted.started_at, unstarted.ended_at, unstarted.duration), (None, unstarted.updated_at, None))

    def test_beginnings(self) -> None:
        noon = datetime.datetime(2026, 1, 2, 12, tzinfo=datetime.timezone(datetime.timedelta(hours=14)))
        for since, moment, day in (
            ("3h", "3h", "3h"), (90, "90s", "1d"), (0.5, "1s", "1d"), (datetime.timedelta(days=2.5), "216000s", "3d"),
            (noon, "2026-01-01T22:00:00Z", "2026-01-01"),
        ):  # fmt: skip
            self.assertEqual((_times.moment(since), _times.day(since)), (moment, day))
        self.assertEqual(_times.day(datetime.date(2026, 1, 2)), "2026-01-02")
        ages = [_times.age(s) for s in ("90", "1h30m", "2d", 5, datetime.timedelta(minutes=1))]
        self.assertEqual(ages, [90, 5400, 172800, 5, 60])
        now = datetime.datetime.now(datetime.timezone.utc)
        for since in (now - datetime.timedelta(hours=1), (now - datetime.timedelta(hours=1)).isoformat()):
            self.assertAlmostEqual(_times.age(since), 3600, delta=60)
        with self.assertRaisesRegex(errors.ArgumentInvalid, "since: 'x' is neither an age"):
            _times.age("x")

    def test_times(self) -> None:
        utc = datetime.timezone.utc
        for text, want in {
            "2026-01-02T03:04:05Z": datetime.datetime(2026, 1, 2, 3, 4, 5, tzinfo=utc),
            "2026-01-02T03:04:05.123456789+02:00": datetime.datetime(2026, 1, 2, 1, 4, 5, 123456, tzinfo=utc),
        }.items():
            self.assertEqual(models.parse_time(text), want)


class TestTasks(unittest.TestCase):
    def test_keywords(self) -> None:
        task = Task("true", cpus=4, resources={"memory": 8}, workdir=pathlib.Path("/srv"), priority=3)
        want = {"run": "true", "resources": {"memory": 8, "cpus": 4}, "workdir": "/srv", "priority": 3}
        self.assertEqual(task.json(), want)
        self.assertNotIn("s3cret", repr(Task("true", secrets={"KEY": "s3cret"})))
        with self.assertRaises(TypeError):
            Task.of(task, {"run": "x"})

    def test_fields_are_attributes(self) -> None:
        task = Task("true", cpus=4, envs={"A": 1}, annotations={"team": "x"})
        self.assertEqual((task.run, task.envs, task.resources, task.setup, task.annotations), ("true", {"A": 1}, {"cpus": 4}, None, {"team": "x"}))
        task.setup, task.envs = "make", None
        task.fields = dict(task.fields)
        self.assertEqual(task.json(), {"run": "true", "resources": {"cpus": 4}, "setup": "make", "annotations": {"team": "x"}})
        self.assertEqual(copy.deepcopy(pickle.loads(pickle.dumps(task))), task)
        self.assertNotEqual(task, Task("true"))
        self.assertNotEqual(task, {"run": "true"})
        with self.assertRaises(AttributeError):
            task.runn  # type: ignore[attr-defined]

    def test_grid(self) -> None:
        points = k8s_cli.grid({"a": [1, 2], "b": "x", "c": range(2)})
        self.assertEqual([(p["a"], p["b"], p["c"]) for p in points], [(1, "x", 0), (1, "x", 1), (2, "x", 0), (2, "x", 1)])

    def test_ignore_rules(self) -> None:
        for rules, path, is_dir, want in [
            ("*.log", "a/b.log", False, True),
            ("*.log\n!keep.log", "keep.log", False, False),
            ("/a", "b/a", False, False),
            ("./a", "a", False, True),
            ("build/", "build", False, False),
            ("build/", "x/build", True, True),
            ("a/**/z", "a/b/c/z", False, True),
            ("**/z", "b/z", False, True),
            ("a/**", "a/b", False, True),
            ("[a-c]x", "bx", False, True),
            ("[^a-c]x", "bx", False, False),
            ("[", "[", False, False),
            ("[b-a]", "a", False, False),
            ("a?c", "abc", False, True),
            ("\\*", "*", False, True),
            ("# no\n\n", "# no", False, False),
            ("x  ", "x", False, True),
        ]:
            selector = _ignore.ByRules(_ignore.parse(rules.encode(), sky=True))
            self.assertEqual(not selector.has(tuple(path.encode().split(b"/")), is_dir), want, (rules, path))

    def test_what_git_does_not_ignore(self) -> None:
        files = {
            ".gitignore": "*.csv\n/sub/top\nx/\n", "sub/.gitignore": "*\n!*/\n!*.py\n!.gitignore\n", "sub/a.py": "", "sub/deep/b.py": "", "sub/deep/c.txt": "",
            "sub/tracked.csv": "", "sub/top": "", "sub/x/d.py": "", "sub/info.py": "",
        }  # fmt: skip
        with tempfile.TemporaryDirectory() as top:
            for name, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(top, name)), exist_ok=True)
                pathlib.Path(top, name).write_text(text)
            os.makedirs(os.path.join(top, "sub", "empty"))

            def names() -> List[str]:
                archive = _pack.pack(os.path.join(top, "sub"))
                try:
                    with tarfile.open(archive.path) as tar:
                        return tar.getnames()
                finally:
                    archive.remove()

            want = [".", ".gitignore", "a.py", "deep", "deep/b.py", "empty", "info.py"]
            self.assertEqual(names(), want + ["x", "x/d.py"])  # without a repository, the directories above do not count
            with mock.patch.dict(os.environ, PATH="/none"):
                self.assertEqual(names(), want + ["x", "x/d.py"])
            for command in (["init", "--quiet"], ["add", "-f", "sub/tracked.csv"]):
                subprocess.run(["git", "-C", top, *command], check=True)
            self.assertEqual(names(), want + ["tracked.csv", "x", "x/d.py"])
            pathlib.Path(top, "sub", ".gitignore").write_text("top\n")
            pathlib.Path(top, ".git", "info", "exclude").write_text("info.py\n")
            self.assertEqual(names(), [".", ".gitignore", "a.py", "deep", "deep/b.py", "deep/c.txt", "empty", "tracked.csv"])

    def test_archives(self) -> None:
        with tempfile.TemporaryDirectory() as top:
            for name, text in {"b/x.py": "x", "b/y.log": "y", "a": "a", ".git/config": "g", "b/.gitignore": "*.log\n"}.items():
                os.makedirs(os.path.dirname(os.path.join(top, name)), exist_ok=True)
                pathlib.Path(top, name).write_text(text)
            os.symlink("a", os.path.join(top, "link"))
            os.mkfifo(os.path.join(top, "pipe"))
            one, two = _pack.pack(top), _pack.pack(top)
            self.assertEqual((one.sha256, one.skipped), (two.sha256, ("pipe",)))
            with tarfile.open(one.path) as tar:
                self.assertEqual(tar.getnames(), [".", "a", "b", "b/.gitignore", "b/x.py", "link"])
                self.assertEqual({(m.uid, m.mtime == int(m.mtime), m.uname) for m in tar.getmembers()}, {(0, True, "")})
            pathlib.Path(top, ".skyignore").write_text("b\n")
            sky = _pack.pack(top)
            with tarfile.open(sky.path) as tar:
                self.assertEqual(tar.getnames(), [".", ".skyignore", "a", "link"])
            with self.assertRaisesRegex(errors.TaskUnusable, "exceeds the packed size limit"):
                _pack.pack(top, limit=10)
            single = _pack.pack(os.path.join(top, "a"))
            with tarfile.open(single.path) as tar:
                self.assertEqual(tar.getnames(), [".k8s-cli-file"])
            for archive in (one, two, sky, single):
                archive.remove()

    def test_a_tree_that_did_not_change_is_not_packed_again(self) -> None:
        counted = mock.patch.object(_pack.gzip, "GzipFile", wraps=_pack.gzip.GzipFile)
        settled = mock.patch.object(_pack, "_UNCHANGED", 0)
        with tempfile.TemporaryDirectory() as top, counted as packs, settled:
            file = pathlib.Path(top, "a")
            file.write_text("a")
            steps = [
                (lambda: None, 1, 404, 1),  # packed, and uploaded
                (lambda: None, 0, 200, 0),  # known, and the server has it
                (lambda: None, 1, 404, 1),  # known, but the server has lost it
                (lambda: file.write_text("bb"), 1, 404, 1),
                (lambda: pathlib.Path(top, "new").touch(), 1, 200, 0),
                (lambda: (file.write_text("ccc"), os.utime(file, ns=(10**18, 10**18))), 1, 200, 0),
                (lambda: (file.write_text("dddd"), os.utime(file, ns=(10**18, 10**18))), 1, 200, 0),
                (lambda: file.chmod(0o700), 1, 200, 0),
                (lambda: None, 0, 200, 0),
            ]
            for change, packed, found, uploaded in steps:
                change()
                packs.reset_mock()
                asked = []

                class Uploads(k8s_cli.Client):
                    def upload_limit(self) -> int:
                        return 1 << 20

                    def has_upload(self, sha256: str) -> bool:
                        return found == 200

                    def upload(self, path: str, sha256: str) -> None:
                        asked.append(hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest() == sha256)

                    def request(self, *_: Any, **__: Any) -> Any:
                        return k8s_cli._requests.Answer(200, {}, b'{"task_id": "t"}')

                Uploads("http://127.0.0.1:9", user="ann").submit("true", workdir=top)
                self.assertEqual((packs.call_count, asked), (packed, [True] * uploaded))
        with tempfile.TemporaryDirectory() as top:  # a file that has just changed may change again in the same tick of the clock
            pathlib.Path(top, "a").touch()
            for _ in range(2):
                archive = _pack.pack(top, reuse=True)
                self.assertNotEqual(archive.path, "")
                archive.remove()

    def test_the_memory_of_packed_trees_is_bounded(self) -> None:
        with tempfile.TemporaryDirectory() as top, mock.patch.object(_pack, "_UNCHANGED", 0), mock.patch.object(_pack, "_MAX_PACKED", 3):
            _pack._packed.clear()
            for i in range(9):
                pathlib.Path(top, "a").write_text("a" * i)
                _pack.pack(top, reuse=True).remove()
            self.assertEqual(len(_pack._packed), 3)

    def test_a_repository_is_checked_out(self) -> None:
        with tempfile.TemporaryDirectory() as top:
            git = ["git", "-C", top, "-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
            pathlib.Path(top, "f.txt").write_text("one")
            for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"], ["tag", "v1"]):
                subprocess.run([*git, *command], check=True)
            for ref in ("", "v1"):
                packer = k8s_cli.task.Packer(0)
                fields = packer.pack({"workdir": {"url": top, "ref": ref}})
                self.assertEqual(fields["workdir"], "~/sky_workdir")
                (archive,) = packer.archives.values()
                with tarfile.open(archive.path) as tar:
                    self.assertEqual(tar.getnames(), [".", "f.txt"])
                packer.close()
            with self.assertRaisesRegex(errors.TaskUnusable, "has no branch, tag or commit 'nope'"):
                k8s_cli.task.Packer(0).pack({"git": {"url": top, "ref": "nope"}})

    def test_variables_in_local_paths(self) -> None:
        with tempfile.TemporaryDirectory() as top:
            os.mkdir(os.path.join(top, "shard1"))
            fields = {"workdir": top + "/shard$N", "file_mounts": {"/x/$N": top + "/${DIR}1"}, "envs": {"N": 1, "DIR": "shard"}}
            packer = task.Packer(0)
            packed = packer.pack(fields)
            self.assertEqual((task.has_files(fields), sorted(packed["uploads"]), len(packer.archives)), (True, ["/x/$N", "~/sky_workdir"], 1))
            packer.close()
            self.assertEqual(task.expanded("$A/${B}/${C/$$N", {"A": True, "N": None}), "true/${B}/${C/$$N")
            with self.assertRaisesRegex(errors.TaskUnusable, "no directory 'shard2'"):
                task.Packer(0).pack({"workdir": "shard$N", "envs": {"N": 2}})
            image = {"workdir": "/data/$N", "envs": {"N": 2}}
            self.assertEqual(task.Packer(0).pack(image), image)  # the server replaces the variable

    def test_buckets(self) -> None:
        with tempfile.TemporaryDirectory() as top:
            pathlib.Path(top, "f.txt").write_text("one")
            mounts = {"/a": "s3://one/$N", "/b": {"source": "gs://two", "mode": "COPY"}, "/c": {"name": "three"}}
            self.assertFalse(task.has_files({"file_mounts": mounts}))
            mounts.update({"/d": {"name": "four", "source": top}, "e/": {"name": "five", "source": [top + "/f.txt"]}})
            fields = {"file_mounts": mounts, "envs": {"N": 1}}
            packer = task.Packer(0)
            packed = packer.pack(fields)
            self.assertEqual((task.has_files(fields), sorted(packed["uploads"])), (True, ["/d", "~/sky_workdir/e/f.txt"]))
            self.assertEqual(packed["file_mounts"], {**mounts, "/d": {"name": "four"}, "e/": {"name": "five"}})
            packer.close()

    def test_targets(self) -> None:
        for target, want in {"/a/../b": "/b", "x": "~/sky_workdir/x", "~/y/": "~/y", "//z": "/z"}.items():
            self.assertEqual(_pack.target_of(target, "/nowhere"), want)
        self.assertEqual(_pack.target_of("/d/", __file__), "/d/test_unit.py")


class TestSettings(WithStub):
    def home(self, **files: Any) -> Dict[str, str]:
        top = tempfile.TemporaryDirectory()
        self.addCleanup(top.cleanup)
        directory = pathlib.Path(top.name, ".config", "k8s-cli")
        directory.mkdir(parents=True)
        for name, content in files.items():
            path = directory / (name + ".json")
            path.write_text(json.dumps(content))
            path.chmod(0o600)
        return {"HOME": top.name, "XDG_CONFIG_HOME": "", "PATH": os.environ["PATH"]}

    def test_the_login_of_the_cli(self) -> None:
        stub = self.stub()
        environ = self.home(user={"username": "ann"}, credentials={"servers": {stub.url: {"user": "bob", "token": "t"}}})
        with mock.patch.dict(os.environ, {**environ, "K8S_CLI_API_URL": stub.url[len("http://") :] + "/"}):
            with k8s_cli.Client() as client:
                client.request("GET", "/x")
            self.assertEqual(stub.requests[-1][2]["Authorization"], "Bearer t")
            with k8s_cli.Client(stub.url.replace("127.0.0.1", "localhost")) as client:
                client.request("GET", "/x")
            self.assertEqual((stub.requests[-1][2]["X-User"], "Authorization" in stub.requests[-1][2]), ("ann", False))
            os.chmod(environ["HOME"] + "/.config/k8s-cli/credentials.json", 0o644)
            with self.assertRaisesRegex(errors.CredentialsUnusable, "chmod 600"):
                k8s_cli.Client().whoami()

    def test_the_user_of_the_environment(self) -> None:
        stub = self.stub()
        environ = self.home(user={"username": "ann"}, credentials={"servers": {stub.url: {"user": "bob", "token": "t"}}})
        with mock.patch.dict(os.environ, {**environ, "K8S_CLI_USER": "eve"}):
            for options in ({}, {"user": "dan"}, {"token": "x"}):
                with k8s_cli.Client(stub.url, **options) as client:
                    client.request("GET", "/x")
        sent = [(headers.get("X-User"), headers.get("Authorization")) for _, _, headers, _ in stub.requests]
        self.assertEqual(sent, [("eve", None), ("dan", None), (None, "Bearer x")])

    def test_nobody_is_logged_in(self) -> None:
        with mock.patch.dict(os.environ, self.home()), self.assertRaisesRegex(errors.NotLoggedIn, "k8s-cli auth login"):
            k8s_cli.Client("http://127.0.0.1:9").whoami()

    def test_confidential_urls(self) -> None:
        for url, want in {
            "https://x": True, "http://localhost:1": True, "http://127.3.2.1": True, "http://[::1]:8": True,
            "http://x": False, "http://localhost.evil.example": False, "ftp://localhost": False, "https://": False,
        }.items():  # fmt: skip
            self.assertEqual(_settings.is_confidential(url), want, url)

    def test_a_session_is_renewed_and_stored(self) -> None:
        def token(expires: float) -> str:
            return "h." + base64.urlsafe_b64encode(json.dumps({"exp": expires}).encode()).decode().rstrip("=") + ".s"

        stub = self.stub()
        new = token(time.time() + 3600)
        about = {"issuer": stub.url, "token_endpoint": stub.url + "/token"}
        stub.answers = [(200, {}, json.dumps(about).encode()), (200, {}, json.dumps({"id_token": new}).encode())]
        session = {"issuer": stub.url, "client_id": "c", "id_token": token(0), "refresh_token": "r"}
        environ = self.home(credentials={"servers": {stub.url: {"user": "ann", "session": session}, "https://other": {"token": "o"}}})
        with mock.patch.dict(os.environ, environ):
            with k8s_cli.Client(stub.url) as client:
                client.request("GET", "/x")
            self.assertEqual(stub.requests[-1][2]["Authorization"], "Bearer " + new)
            self.assertIn(b"refresh_token=r", stub.requests[1][3])
            stored = json.loads(pathlib.Path(environ["HOME"], ".config/k8s-cli/credentials.json").read_text())["servers"]
        self.assertEqual((stored[stub.url]["session"]["id_token"], stored["https://other"]), (new, {"token": "o"}))
        with self.assertRaisesRegex(errors.CredentialsUnusable, "not an https"):
            _tokens.Session(dict(session, issuer="http://issuer.example"), lambda _: None)()

    def test_a_kubeconfig_is_read_with_kubectl(self) -> None:
        with tempfile.TemporaryDirectory() as top:
            plugin = {"user": {"exec": {"command": "sh", "args": ["-c", 'echo \'{"status": {"token": "from-plugin"}}\''], "apiVersion": "v1"}}}
            answers = {"token": {"user": {"token": "from-config"}}, "plugin": plugin, "none": {"user": {}}}
            kubectl = pathlib.Path(top, "kubectl")
            script = "#!/usr/bin/env python3\nimport json, os, sys\nassert os.environ['KUBECONFIG'] == '/k'\n"
            kubectl.write_text(script + f"print(json.dumps({{'users': [{answers!r}[sys.argv[sys.argv.index('--context') + 1]]]}}))\n")
            kubectl.chmod(0o755)
            with mock.patch.dict(os.environ, {"PATH": top + ":" + os.environ["PATH"]}):
                for context, want in {"token": "from-config", "plugin": "from-plugin"}.items():
                    self.assertEqual(_tokens.source_of({"kubeconfig": {"files": ["/k"], "context": context}}, lambda _: None)(), want)
                with self.assertRaisesRegex(errors.CredentialsUnusable, "has no token"):
                    _tokens.kubeconfig_token({"files": ["/k"], "context": "none"})


class Notebook:
    """A stand-in for IPython.display that remembers what a notebook shows."""

    def __init__(self) -> None:
        self.shown: List[str] = []

    def display(self, data: Dict[str, str], *, raw: bool, display_id: bool) -> "Notebook":
        self.shown.append(data["text/html"])
        return self

    def update(self, data: Dict[str, str], *, raw: bool) -> None:
        self.shown.append(data["text/html"])

    def install(self) -> Any:
        module = types.ModuleType("IPython.display")
        module.display = self.display  # type: ignore[attr-defined]
        return mock.patch.dict(sys.modules, {"IPython": types.ModuleType("IPython"), "IPython.display": module})


def status(name: str, phase: str, **metadata: Any) -> Any:
    return 200, {}, json.dumps({"task_id": "t", "name": name, "status": phase, "metadata": metadata}).encode()


class TestNotebooks(WithStub):
    evil = '<img src=x onerror="alert(1)">&\''

    def test_everything_is_escaped(self) -> None:
        node = models.Node(0, "failed", output=self.evil)
        fields = {f: self.evil for f in ("reason", "message", "hint", "group")}
        task = models.TaskStatus(self.evil, self.evil, self.evil, metadata=models.TaskMetadata(nodes=[node], **fields))
        first = models.FirstFailure(self.evil, self.evil, self.evil, self.evil)
        group = models.GroupStatus(self.evil, status=self.evil, by_status={self.evil: 1}, first_failure=first)
        for html in (_html.job(self.evil, self.evil, task), _html.group(self.evil, group), _html.job(self.evil, self.evil, None)):
            self.assertNotIn("<img", html)
            self.assertIn("&lt;img", html)

    def test_a_view_is_live_until_the_task_is_over(self) -> None:
        notebook = Notebook()
        stub = self.stub(status("n", "pending"), status("n", "running"), status("n", "completed"))
        with notebook.install(), mock.patch.object(_html, "FIRST_PAUSE", 0.01):
            self.client(stub).job("t")._ipython_display_()
            self.wait_for(lambda: "completed" in notebook.shown[-1] and _html._views == 0)
        self.assertEqual(len(stub.requests), 3)

    def test_a_view_of_the_client_for_asyncio_is_live(self) -> None:
        notebook = Notebook()
        group = {"group": "g", "status": "running", "by_status": {"running": 1}, "total": 1}
        over = {**group, "status": "completed", "by_status": {"completed": 1}, "progress": 1}
        stub = self.stub(*[(200, {}, json.dumps(g).encode()) for g in (group, over)])

        async def run() -> None:
            async with k8s_cli.aio.Client(stub.url, user="ann") as client:
                client.group("g")._ipython_display_()
                while "completed" not in notebook.shown[-1]:
                    await asyncio.sleep(0.01)

        with notebook.install(), mock.patch.object(_html, "FIRST_PAUSE", 0.01):
            asyncio.run(asyncio.wait_for(run(), 60))

    def test_views_are_bounded(self) -> None:
        notebook = Notebook()
        with notebook.install(), mock.patch.object(_html, "MAX_LIVE", 0):
            self.client(self.stub()).job("t")._ipython_display_()
            self.wait_for(lambda: "not updated after" in notebook.shown[-1] and _html._views == 0)
        stub = self.stub(detail(404, "TaskNotFound"))
        with notebook.install():
            self.client(stub).job("t")._ipython_display_()
            self.wait_for(lambda: "<small>no</small>" in notebook.shown[-1] and _html._views == 0)
            with mock.patch.object(_html, "_views", _html.MAX_VIEWS):
                self.assertIsNone(_html.show(lambda: "x", "x"))

    def wait_for(self, condition: Any) -> None:
        ends = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), ends)
            time.sleep(0.01)


class TestPage(unittest.TestCase):
    def test_the_programs_of_the_page_use_names_that_exist(self) -> None:
        page = (ROOT / "docs/python.md").read_text("utf-8")
        programs = [block.partition("```")[0] for block in page.split("```python\n")[1:]]
        self.assertGreater(len(programs), 4)
        for program in programs:
            tree = ast.parse("async def program():\n" + textwrap.indent(program, "    "))
            for node in ast.walk(tree):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    owner = {"client": k8s_cli.Client, "job": k8s_cli.Job, "sweep": k8s_cli.Sweep, "errors": errors}
                    self.assertTrue(hasattr(owner.get(node.value.id, node), node.attr) or node.value.id not in owner, ast.dump(node))
        methods = re.findall(r"`(?:client\.)?(\w+)\(", page)
        known = [k8s_cli.Client, k8s_cli.Job, k8s_cli.Task, k8s_cli, errors]
        self.assertEqual([m for m in methods if not any(hasattr(k, m) for k in known)], [])


class TestSources(unittest.TestCase):
    def test_both_packages_have_the_same_names(self) -> None:
        self.assertEqual({*k8s_cli.aio.__all__, "aio"}, set(k8s_cli.__all__))
        for name in k8s_cli.aio.__all__:
            kind = getattr(k8s_cli.aio, name)
            own = getattr(kind, "__module__", "").startswith("k8s_cli.aio.")
            self.assertTrue(own or kind is getattr(k8s_cli, name), name)

    def test_generated_files(self) -> None:
        for path, text in generate.generated().items():
            self.assertEqual(path.read_text("utf-8"), text, "run generate.py")

    def test_only_the_standard_library_is_imported(self) -> None:
        code = "import sys, k8s_cli; print(*sorted({m.partition('.')[0] for m in sys.modules}))"
        done = subprocess.run([sys.executable, "-S", "-c", code], cwd=generate.PACKAGE.parent, stdout=subprocess.PIPE, text=True, check=True)
        allowed = set(getattr(sys, "stdlib_module_names", done.stdout.split())) | {"k8s_cli", "__main__"}
        self.assertEqual({m for m in done.stdout.split() if m not in allowed and not m.startswith("_")}, set())


if __name__ == "__main__":
    unittest.main()
