"""The stories of the client, written once. The tests tell each story with the client for asyncio, and, after the rules of
generate.py, with the blocking client."""

import hashlib
import io
import json
import os
import tarfile
import time

from k8s_cli import Item, Task, _yaml, errors, grid

from .scene import UNSCHEDULABLE, story

NUMBERS = "for i in $(seq 1 {}); do echo line $i; [ $((i % 20)) -ne 0 ] || sleep 0.05; done"


async def texts(lines):
    return "".join([line async for line in lines])


async def refused(kind, operation):
    """Awaits an operation that must raise an error of this kind, and returns the error."""
    try:
        await operation()
    except kind as err:
        return err
    raise AssertionError(f"no {kind.__name__}")


async def opened(client):
    """Returns the stream of the events of the user, which has a connection."""
    stream = client.events()
    await stream.open()
    return stream


def expect(got, want):
    if got != want:
        raise AssertionError(f"got {got!r}, want {want!r}")


# Submissions


@story("a task from keywords runs; its log, status, events and spec are those of the task")
async def keywords(s):
    async with s.client() as c:
        job = await c.submit(run="echo hi $WHO", name="hello", envs={"WHO": "ann"}, secrets={"KEY": "s3cret"}, cpus=0.1)
        expect(await texts(job.logs()), "hi ann\n")
        status = await job.wait(check=True)
        expect((status.status, status.over, status.exit_code, status.name), ("completed", True, 0, "hello"))
        expect(status.metadata.user, s.user)
        spec = await job.spec()
        expect((spec["run"], "s3cret" in json.dumps(spec)), ("echo hi $WHO", False))
        top = await job.top()
        expect((top.status, top.requested.cpus, len(top.nodes)), ("completed", 0.1, 1))
        phases = [e.status async for e in job.events() if e.type == "phase"]
        expect((phases[0], phases[-1]), ("pending", "completed"))
        expect([e.status for e in await job.past_events() if e.type == "phase"], phases)
        first = await job.past_events(limit=1)
        expect((first[0].resources.get("cpus"), first[0].num_nodes), ("0.1", 1))


@story("a dict has the fields of a task file")
async def fields(s):
    c = s.client()
    job = await c.submit({"run": "true", "resources": UNSCHEDULABLE, "num_nodes": 2})
    expect((await job.status()).metadata.num_nodes, 2)
    await job.stop()


@story("the server parses YAML text, and the client sends the text unchanged")
async def yaml(s):
    c = s.client()
    text = "# a comment\nname: from-yaml\nresources: {cpus: 1000}\nrun: |\n  echo hi\n"
    preview = await c.preview(Task.from_yaml(text))
    expect((preview.status, preview.objects[0]["kind"]), ("acceptable", "Job"))
    expect({f.verdict for f in preview.findings}, {"honoured"})
    job = await c.submit(Task.from_yaml(text), group="y")
    expect(((await job.spec())["run"], (await job.status()).metadata.group), ("echo hi\n", "y"))
    path = s.write("task.yaml", text)
    again = await c.submit(Task.from_file(path))
    expect((await again.status()).name, "from-yaml")
    await c.stop_all()


@story("a task file is submitted as the CLI does: with values, with files, as a pipeline, and as a job group")
async def task_files(s):
    if not _yaml.installed():
        return
    c = s.client()
    s.write("work/x.txt", "x\n")
    one = s.write("one.yaml", f"envs: {{A: null}}\nworkdir: {s.directory}/work\nresources: {{cpus: 0.1}}\nrun: cat x.txt; echo $A\n")
    job = await c.submit_file(one, envs={"A": "010"})
    expect(await texts(job.logs()), "x\n010\n")
    await refused(errors.TaskUnusable, lambda: c.submit_file(one))
    two = "---\nname: a\nrun: echo a\n---\nname: b\nresources: {cpus: 0.1}\nrun: echo b\n"
    chain = await c.submit_file(s.write("pipeline.yaml", "name: p\n" + two), cpus=0.1)
    expect((await chain.wait(check=True)).total, 2)
    expect((chain.name[:2], [await texts(j.logs()) for j in chain]), ("p-", ["a\n", "b\n"]))
    header = "name: g\nexecution: parallel\nprimary_tasks: [a]\ntermination_delay: {b: 1s}\n"
    group = await c.submit_file(s.write("group.yaml", header + two), cpus=0.1)
    expect(([(await j.status()).metadata.job_group_role for j in group]), ["primary", "auxiliary"])
    await group.wait()


@story("a preview of a wrong task names the field, and submits nothing")
async def previews(s):
    c = s.client()
    err = await refused(errors.Invalid, lambda: c.preview(Task.from_yaml("run: true\nresources: {cpus: abc}\n")))
    expect((err.status, err.reason, err.field), (422, "Invalid", "resources.cpus"))
    expect([f["line"] for f in err.findings if f["verdict"] == "error"], [2])
    expect([j.id async for j in c.jobs()], [])


@story("a repeated submission with the same key has no effect; another body with this key is an error")
async def keys(s):
    c = s.client()
    first = await c.submit(run="true", resources=UNSCHEDULABLE, key="k1")
    again = await c.submit(run="true", resources=UNSCHEDULABLE, key="k1")
    expect(first.id, again.id)
    err = await refused(errors.KeyReused, lambda: c.submit(run="false", key="k1"))
    expect((err.status, isinstance(err, errors.Conflict)), (409, True))
    await c.stop_all()


@story("a submission whose response is lost creates one task")
async def lost_response(s):
    c, proxy = s.broken([1, 1])
    job = await c.submit(run="true", resources=UNSCHEDULABLE)
    expect((proxy.breaks, [j.id async for j in s.client().jobs()]), (2, [job.id]))
    await c.stop_all()


@story("a batch whose response is lost creates each task once")
async def lost_batch(s):
    c, proxy = s.broken([40])
    jobs = await c.submit_all([Task("true", resources=UNSCHEDULABLE) for _ in range(20)])
    found = [j.id async for j in s.client().jobs(sort="created", page_size=7)]
    expect((proxy.breaks, found), (1, [j.id for j in jobs]))
    await c.stop_all()


@story("a batch returns a job or an error for each task")
async def batches(s):
    c = s.client()
    tasks = [Task("true", resources=UNSCHEDULABLE), {"run": ""}, Task("true", resources={"cpus": "abc"})]
    err = await refused(errors.BatchFailed, lambda: c.submit_all(tasks))
    expect(sorted(err.errors), [1, 2])
    expect((err.errors[2].field, err.jobs[1], err.jobs[0] is None), ("resources.cpus", None, False))
    await err.jobs[0].stop()


@story("map submits one task for each combination of a grid, as one group, and tells each task its number")
async def sweeps(s):
    c = s.client()
    task = Task("echo $LR $EPOCHS $SKYPILOT_JOB_RANK/$SKYPILOT_NUM_JOBS", name="sweep", cpus=0.1)
    sweep = await c.map(task, {"LR": [0.1, 0.01], "EPOCHS": [3]})
    expect((len(sweep), sweep.points), (2, grid({"LR": [0.1, 0.01], "EPOCHS": [3]})))
    status = await sweep.wait(check=True)
    expect((status.total, status.by_status["completed"], status.progress), (2, 2, 1))
    expect([await texts(j.logs()) for j in sweep], ["0.1 3 0/2\n", "0.01 3 1/2\n"])
    results = await sweep.results()
    expect([(p["LR"], r.status) for p, r in results], [(0.1, "completed"), (0.01, "completed")])
    expect([j.id async for j in sweep.jobs()], [j.id for j in sweep])


@story("map calls a function for each item of an iterable")
async def functions(s):
    c = s.client()
    sweep = await c.map(lambda n: Task(f"echo {n}", name="f", resources=UNSCHEDULABLE), range(3), group="mine")
    expect(([(await j.spec())["run"] for j in sweep], sweep.name), (["echo 0", "echo 1", "echo 2"], "mine"))
    expect(await sweep.stop(), 3)
    expect((await sweep.wait()).status, "stopped")
    expect((await refused(errors.GroupFailed, lambda: sweep.wait(check=True))).group.by_status["stopped"], 3)


@story("the tasks of a chain run one after the other; after a failure, the later tasks fail")
async def chains(s):
    c = s.client()
    chain = await c.chain([Task("echo one", cpus=0.1), Task("exit 3", cpus=0.1), Task("echo three", cpus=0.1)])
    status = await chain.wait()
    expect((status.by_status["completed"], status.by_status["failed"]), (1, 2))
    last = await refused(errors.TaskFailed, lambda: chain[2].wait(check=True))
    expect((last.reason, last.task.task_id), ("DependencyFailed", chain[2].id))
    expect((status.first_failure.task_id, (await chain[1].status()).exit_code), (chain[1].id, 3))


@story("the tasks of a job group start together and know each other by name; the auxiliary task ends with them")
async def job_groups(s):
    c = s.client()
    trainer = Task("grep -o 'buffer-0.rlhf$' /etc/hosts; echo $SKYPILOT_JOBGROUP_NAME", name="trainer", cpus=0.1)
    buffer = Task("sleep 1000", name="buffer", cpus=0.1)
    group = await c.job_group("rlhf", [trainer, buffer], primary=["trainer"], termination_delay="1s")
    expect((await group.wait()).by_status["completed"], 2)
    expect(await texts(group[0].logs()), "buffer-0.rlhf\nrlhf\n")
    last = (await group[1].status()).metadata
    expect((last.job_group, last.job_group_id, last.job_group_role), ("rlhf", group[0].id, "auxiliary"))
    expect((last.reason, last.stops_at), ("PrimaryTasksCompleted", None))
    failing = await c.job_group("rlhf", [Task("exit 3", name="a", cpus=0.1), buffer])
    await failing.wait()
    expect((await failing[1].status()).metadata.reason, "JobGroupFailed")
    await refused(ValueError, lambda: c.job_group("rlhf", [trainer], primary=["trainr"]))


@story("a chain with a wrong task submits nothing")
async def atomic(s):
    c = s.client()
    await refused(errors.UnknownField, lambda: c.chain([Task("true"), {"run": "true", "runn": "x"}]))
    expect([j.id async for j in c.jobs()], [])


@story("a task waits for jobs, ids and keys; items of a batch name each other")
async def predecessors(s):
    c = s.client()
    first = await c.submit(run="true", resources=UNSCHEDULABLE, key="first")
    second = await c.submit(run="true", after=first, after_any=["first"])
    jobs = await c.submit_all([Item(Task("true"), key="a", after=[second]), Item(Task("true"), after=["a", first.id])])
    for job in [second, *jobs]:
        expect((await job.status()).metadata.reason, "WaitsForTask")
    expect(await c.stop_all(), 4)


# Files


@story("the working directory and files reach the task, without ignored files, and are uploaded once")
async def files(s):
    s.write("work/main.py", "print('main', open('data/x.txt').read().strip())\n")
    s.write("work/data/x.txt", "x\n")
    s.write("work/data/x.log", "ignored\n")
    s.write("work/.gitignore", "*.log\n")
    one = s.write("one.txt", "one\n")
    c = s.client()
    task = Task("python3 main.py; ls data; cat /etc/one", cpus=0.1)
    task.fields.update(workdir=os.path.join(s.directory, "work"), file_mounts={"/etc/one": one})
    job = await c.submit(task)
    expect(await texts(job.logs()), "main x\nx.txt\none\n")
    spec = await job.spec()
    archive = spec["uploads"]["~/sky_workdir"]
    expect((await c.has_upload(archive), await c.has_upload("0" * 64)), (True, False))
    with tarfile.open(fileobj=io.BytesIO(await c.download(archive))) as tar:
        expect(tar.getnames(), [".", ".gitignore", "data", "data/x.txt", "main.py"])
    sweep = await c.map(task, {"N": [1, 2]})
    expect({(await j.spec())["uploads"]["~/sky_workdir"] for j in sweep}, {archive})
    await sweep.stop()
    expect((await refused(errors.Forbidden, lambda: c.task_file(job.id, archive, "wrong"))).status, 403)


@story("the outputs of all nodes are downloaded, and existing files stay")
async def outputs(s):
    c = s.client()
    run = "mkdir out && echo of $SKYPILOT_NODE_RANK >out/rank"
    job = await c.submit(Task(run, num_nodes=2, cpus=0.1, outputs=["out", "none"]))
    found = await job.wait(check=True)
    expect([(o.node, o.bytes > 0, o.missing, o.error) for o in found.metadata.outputs], [(i, True, ["none"], "") for i in (0, 1)])
    top = os.path.join(s.directory, "results")
    want = [os.path.join(top, f"node-{i}", "out", "rank") for i in (0, 1)]
    expect(await job.download(top), want)
    for rank, path in enumerate(want):
        with open(path) as file:
            expect(file.read(), f"of {rank}\n")
    await refused(errors.Error, lambda: job.download(top))
    expect(await job.download(top, node=1, force=True), [os.path.join(top, "out", "rank")])
    await refused(errors.OutputsNotFound, lambda: job.download(top, node=2))
    headers = {"Authorization": "Bearer wrong"}
    await refused(errors.Forbidden, lambda: c.request("PUT", f"/tasks/{job.id}/outputs/0", body=b"x", headers=headers))


@story("the outputs of a stopped task are awaited, and those of a group have a directory for each task")
async def outputs_after_a_stop(s):
    c = s.client()
    run = "mkdir out && echo text >out/f; echo written; sleep 1000"
    patient = {"kubernetes": {"pod_config": {"spec": {"terminationGracePeriodSeconds": 300}}}}  # for a busy machine
    job = await c.submit(Task(run, cpus=0.1, outputs=["out"], config=patient), group="g")
    async for _ in job.logs():
        break
    await job.stop()
    await job.wait()
    path = os.path.join(s.directory, "results")
    expect(await job.download(path, wait=300), [os.path.join(path, "out", "f")])
    files = await c.group("g").download(os.path.join(s.directory, "group"))
    expect(files, {job.id: [os.path.join(s.directory, "group", job.id, "out", "f")]})


@story("a task is submitted again with other values, in its group")
async def reruns(s):
    c = s.client()
    one = s.write("one.txt", "one\n")
    task = Task("cat /etc/one; echo $A $S", envs={"A": 1}, secrets={"S": "s"}, file_mounts={"/etc/one": one}, cpus=0.1)
    job = await c.submit(task, group="g")
    again = await job.rerun(envs={"A": 2}, secrets={"S": "t"}, num_nodes=1)
    expect((await texts(again.logs()), again.group), ("one\n2 t\n", "g"))
    lines = [line async for line in c.group("g").logs()]
    expect(lines, [f"{j.id} | {line}\n" for j, line in ((job, "one"), (job, "1 s"), (again, "one"), (again, "2 t"))])
    await refused(errors.TaskUnusable, job.rerun)


@story("a path that does not exist is an error before the submission")
async def no_files(s):
    c = s.client()
    err = await refused(errors.TaskUnusable, lambda: c.submit(run="true", workdir="./nowhere"))
    expect("nowhere" in err.detail, True)
    await refused(errors.TaskUnusable, lambda: c.submit(run="true", file_mounts={"/x": s.directory + "/nothing"}))
    err = await refused(errors.FeatureDisabled, lambda: c.submit(run="true", file_mounts={"/x": "s3://bucket"}))
    expect(err.field, "file_mounts")


@story("an upload that breaks is sent again")
async def broken_upload(s):
    c, proxy = s.broken([10, 10])
    path = s.write("archive.tar.gz", "content")
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    await c.upload(path, digest)
    expect((proxy.breaks, await s.client().download(digest)), (2, b"content"))
    await refused(errors.ChecksumMismatch, lambda: c.upload(path, "0" * 64))
    expect(await c.upload_limit() > 1 << 20, True)
    missing = Task("true", uploads={"/x": "0" * 64})
    await refused(errors.UploadMissing, lambda: c.submit(missing))


# Waiting, logs and events


@story("wait raises after its timeout, and the task goes on")
async def timeouts(s):
    c = s.client()
    job = await c.submit("true", resources=UNSCHEDULABLE)
    began = time.monotonic()
    err = await refused(TimeoutError, lambda: job.wait(0.3))
    expect((err.task.task_id, err.task.status, err.task_id), (job.id, "pending", job.id))
    expect((isinstance(err, errors.WaitTimeout), time.monotonic() - began < 20), (True, True))
    expect((await job.status()).over, False)
    await refused(errors.WaitTimeout, lambda: c.group("none").wait(0) if job.group else job.wait(0))
    await job.stop()
    stopped = await refused(errors.TaskFailed, lambda: job.wait(check=True))
    expect(stopped.task.status, "stopped")


@story("a log whose connection breaks many times has each line once, in order")
async def broken_logs(s):
    job = await s.client().submit(run=NUMBERS.format(300), cpus=0.1)
    await job.wait()
    c, proxy = s.broken([500, 1000, 2500, 700, 4000, 300])
    lines = [line async for line in c.job(job.id).logs()]
    expect(lines, [f"line {i}\n" for i in range(1, 301)])
    expect(proxy.breaks, 6)


@story("a log that is followed while connections break has each line once, in order")
async def broken_follow(s):
    c, proxy = s.broken([300, 600, 1500, 900, 2000])
    job = await s.client().submit(run=NUMBERS.format(200), cpus=0.1, num_nodes=2)
    lines = [line async for line in c.job(job.id).log_bytes()]
    for rank in (0, 1):
        prefix = b"node-%d | " % rank
        of_node = [line[len(prefix) :] for line in lines if line.startswith(prefix)]
        expect(of_node, [b"line %d\n" % i for i in range(1, 201)])
    expect((len(lines), proxy.breaks), (400, 5))
    expect(len([line async for line in s.client().job(job.id).logs(node=1, tail=5, follow=False)]), 5)
    part = await job.log_lines("-3", node=1)
    expect((part.lines, part.first, part.total), ([f"node-1 | line {i}\n" for i in (198, 199, 200)], 198, 200))
    stamped = [line async for line in job.logs(node=0, timestamps=True, since=3600)]
    expect((len(stamped), stamped[0][:11], stamped[0].endswith("Z line 1\n")), (200, "node-0 | 20", True))
    expect([line async for line in job.logs(node=0, attempt=1)][-1], "node-0 | line 200\n")


@story("a server that is killed and restarted in the middle of a log costs no line and repeats none")
async def restarts(s):
    with s.mortal():
        c, proxy = s.broken([], server="mortal")
        job = await c.submit(run="for i in $(seq 1 60); do echo line $i; sleep 0.1; done", cpus=0.1)
        lines = []
        async for line in job.logs():
            lines.append(line)
            if len(lines) == 20:
                s.restart(proxy)
        expect(lines, [f"line {i}\n" for i in range(1, 61)])
        expect((await job.wait()).status, "completed")
        stream = job.events()
        expect([e.status async for e in stream if e.type == "phase"][-1], "completed")


@story("an event stream whose connection breaks has each event once, in order")
async def broken_events(s):
    c, proxy = s.broken([700, 900])
    stream = c.events()
    await stream.open()
    direct = s.client()
    jobs = await direct.submit_all([Task("true", resources=UNSCHEDULABLE) for _ in range(4)])
    await direct.stop_all()
    got = []
    while len({e.task_id for e in got if e.over}) < len(jobs):
        got.append(await stream.next(time.monotonic() + 120))
    stream.close()
    past = await direct.past_events(after="0")
    lasting = [e.id for e in got if e.id]
    expect(lasting, [e.id for e in past][: len(lasting)])
    expect((len(set(lasting)), proxy.breaks), (len(lasting), 2))


@story("the stream of a group has the events of its tasks only")
async def group_events(s):
    c = s.client()
    stream = c.group("mine").events()
    await stream.open()
    await c.submit(run="true", resources=UNSCHEDULABLE)
    job = await c.submit(run="true", resources=UNSCHEDULABLE, group="mine")
    event = await stream.next(time.monotonic() + 60)
    stream.close()
    expect((event.task_id, event.group), (job.id, "mine"))
    expect({e.group for e in await c.past_events(group="mine", after="0")}, {"mine"})
    await c.stop_all()


@story("the stream of a group ends with its last task, and the stream of a group that is over ends at once")
async def ends_of_groups(s):
    c = s.client()
    async with c.group("g").events() as stream:
        jobs = await c.submit_all([Task("true", resources=UNSCHEDULABLE) for _ in range(3)], group="g")
        await c.group("g").stop()
        over = {e.task_id async for e in stream if e.over}
    expect(over, {job.id for job in jobs})
    expect([e async for e in c.group("g").events()], [])
    expect({e.task_id async for e in c.group("g").events(after="0")}, over)


@story("jobs are yielded in the order of their ends")
async def completions(s):
    c = s.client()
    jobs = await c.submit_all([Task("true", resources=UNSCHEDULABLE) for _ in range(3)])
    await jobs[2].stop()
    got = []
    async for job in s.kind.as_completed(jobs):
        got.append((jobs.index(job), job.last.status))
        if len(got) < 3:
            await jobs[2 - len(got)].stop()
    expect(got, [(2, "stopped"), (1, "stopped"), (0, "stopped")])


@story("a stream from an event of another log is an error")
async def expired(s):
    c = s.client()
    job = await c.submit(run="true", resources=UNSCHEDULABLE)
    err = await refused(errors.EventsExpired, lambda: job.events(after="999999.1").open())
    expect((err.status, isinstance(err, errors.Gone)), (410, True))
    await job.stop()


@story("a command runs in a running task, and its output is binary")
async def sessions_in_tasks(s):
    c = s.client()
    job = await c.submit("echo ready; sleep 1000", cpus=0.1)
    expect((await job.wait_running(300)).status, "running")
    done = await job.exec("printf 'a\\377'; echo oops >&2; exit 7")
    expect((done.exit_code, done.stdout, done.stderr), (7, b"a\xff", b"oops\n"))
    expect((await job.exec(["echo", "$HOME", "x y"])).text, "$HOME x y\n")
    expect((await job.exec(["nosuchprog"])).exit_code, 127)
    err = await refused(errors.SessionBroken, lambda: job.exec("sleep 1000", timeout=1))
    expect(str(err), f"the command did not end within 1 s, and may still run: task {job.id}")
    await job.stop()
    await job.wait()
    await refused(errors.Conflict, lambda: job.exec("true"))


# Lists


@story("lists have filters, orders, pages and the short form")
async def lists(s):
    c = s.client()
    jobs = await c.submit_all([Task("true", name=f"n{i}", resources=UNSCHEDULABLE) for i in range(5)], group="g")
    await jobs[0].stop()
    expect([j.name async for j in c.jobs(status=["pending", "running"], sort="name", page_size=2)], ["n1", "n2", "n3", "n4"])
    page = await c.page(limit=2, group="g", offset=1, sort="name")
    expect(([t.name for t in page.items], page.total, bool(page.next)), (["n1", "n2"], 5, True))
    rows = await c.rows(name_prefix="n", status="stopped", since="1h")
    expect([(r.id, r.status, r.group) for r in rows.items], [(jobs[0].id, "stopped", "g")])
    expect((await c.get(jobs[1].id)).group, "g")
    expect([g.group async for g in c.groups(page_size=1)], ["g"])
    state = await c.group_status("g")
    expect((state.total, state.by_status["stopped"], state.unfinished), (5, 1, 4))
    summary = await c.summary()
    expect((summary.total, summary.by_status["stopped"]), (5, 1))
    usage = await c.usage(since="2d", by=["day", "group"])
    expect([(r.group, r.user, r.tasks, r.cpu_hours) for r in usage.rows], [("g", "", 1, 0)])
    expect((usage.total.tasks, (await c.usage(group="h")).rows), (1, []))
    await c.group("g").stop()


@story("a group has limits")
async def limits_of_a_group(s):
    c = s.client()
    task = Task('test "$N" != 1', envs={"N": 0}, cpus=0.1)
    sweep = await c.map(task, {"N": [0, 1, 2]}, max_parallel=1, fail_fast=True)
    await sweep.wait()
    expect([status.status for _, status in await sweep.results()], ["completed", "failed", "stopped"])
    expect((await sweep[2].status()).metadata.reason, "GroupFailed")
    waits = await c.submit(Task("true", resources=UNSCHEDULABLE), group="waits")
    held = await c.submit(Task("true", resources=UNSCHEDULABLE), group="waits", max_parallel=1)
    expect((await held.status()).metadata.reason, "MaxParallelTasks")
    await c.group("waits").stop()
    expect((await waits.status()).status, "stopped")
    await refused(errors.Invalid, lambda: c.submit(run="true", max_parallel=2))


@story("the server sends notifications to allowed hosts, and shows the secret of the user")
async def notifications(s):
    c, url = s.client(), "https://hooks.example.com/x"
    job = await c.submit(Task("true", resources=UNSCHEDULABLE, event_callback="https://hooks.example.com/y"), notify=url)
    expect((await job.spec())["event_callback"], url)
    await job.stop()
    expect(((await c.notify_secret())[:6], await c.notify_secret() == await c.notify_secret()), ("whsec_", True))
    err = await refused(errors.NotAllowed, lambda: c.submit(run="true", notify="https://169.254.169.254/"))
    expect(err.field, "event_callback")


@story("the client shows the user, the limits, the machines and the server")
async def server(s):
    c = s.client()
    await c.health()
    expect((await c.live(), (await c.ready()).ready, (await c.login_method()).identified_by), (True, True, "header"))
    who = await c.whoami()
    expect((who.user, who.identified_by, (await c.limits()).nodes_per_task), (s.user, "header", 256))
    capacity = await c.capacity()
    expect((capacity.known, capacity.nodes[0].ready, capacity.total.allocatable.cpus > 0), (True, True, True))
    expect("k8s_cli_" in await c.metrics(), True)
    expect((await c.openapi())["openapi"][:3], "3.1")
    expect("properties" in await c.task_schema(), True)
    page = await c.docs()
    expect("<html" in page.lower(), True)
    name = page.partition('"/docs/')[2].partition('"')[0] or page.partition('"docs/')[2].partition('"')[0]
    expect(len(await c.docs(name)) > 0, True)


@story("a browser gets a session by name, and loses it")
async def sessions(s):
    c = s.client()
    session = c.browser_session()
    expect("user" in await session.describe(), False)
    expect(((await session.log_in(user=s.user))["user"], bool(session.cookie)), (s.user, True))
    expect((await session.describe())["user"], s.user)
    ended = c.browser_session(session.cookie, session.key)
    await session.log_out()
    await refused(errors.Unauthorized, ended.log_out)
    expect((await refused(errors.Forbidden, lambda: session.log_in(token="x"))).status, 403)
    await refused(errors.ApiError, session.begin_at_issuer)  # this server has no issuer
    await session.finish_at_issuer("x", "y")  # shows a page with the error
    expect(session.cookie, "")
    evil = {"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example", "X-Requested-With": "k8s-cli-ui"}
    await refused(
        errors.OriginNotAllowed,
        lambda: c.request("POST", "/session", body=b"{}", content_type="application/json", headers=evil, login=False),
    )


# Volumes


@story("volumes are created once, listed, used and deleted")
async def volumes(s):
    c, proxy = s.broken([5])
    volume = await c.create_volume("data", "1Gi", access_modes=["ReadWriteOnce"])
    expect((volume.name, volume.size, proxy.breaks), ("data", "1Gi", 1))
    expect([v.volume_id async for v in c.volumes(page_size=1)], [volume.volume_id])
    job = await c.submit(run="true", volumes={"/data": "data"}, resources=UNSCHEDULABLE)
    err = await refused(errors.VolumeInUse, lambda: c.delete_volume(volume.volume_id))
    expect(err.status, 409)
    await c.delete_volume(volume.volume_id, force=True)
    await job.stop()
    events = [e async for e in c.volume_events(volume.volume_id)]
    expect((events[-1].status, events[-1].over), ("Deleted", True))
    await refused(errors.VolumeNotFound, lambda: c.volume("vol-000000"))


# Errors


@story("an error has its class, status, reason and field")
async def unknown(s):
    c = s.client()
    err = await refused(errors.TaskNotFound, lambda: c.get("zzzzzzzz"))
    expect((err.status, err.reason, isinstance(err, errors.NotFound), bool(err.request_id)), (404, "TaskNotFound", True, True))
    expect(err.task_id, "zzzzzzzz")
    await refused(errors.GroupNotFound, lambda: c.group("none").status())
    await refused(errors.UploadNotFound, lambda: c.download("0" * 64))
    await refused(errors.RouteNotFound, lambda: c.request("GET", "/nowhere"))
    await refused(errors.MethodNotAllowed, lambda: c.request("DELETE", "/tasks"))
    await refused(errors.NotFound, lambda: c.get("../volumes"))  # no request
    for group in ("", "a/b"):
        await refused(errors.NotFound, lambda: c.group(group).stop())


@story("a request that the server cannot read has an error of its own")
async def malformed(s):
    c = s.client()

    async def send(body, kind="application/json", headers=None):
        await c.request("POST", "/tasks/submit", body=body, content_type=kind, headers=headers)

    await refused(errors.Malformed, lambda: send(b"{"))
    await refused(errors.UnsupportedMediaType, lambda: send(b"x", "text/html"))

    async def refused_at_once(kind, do):
        for _ in range(20):  # the server may reset the connection before the client has read the response
            try:
                return await refused(kind, do)
            except errors.ConnectionFailed:
                continue
        raise AssertionError(f"no response says {kind.__name__}")

    await refused_at_once(errors.TooLarge, lambda: send(b'{"run": "' + b"x" * 200_000 + b'"}'))
    await refused_at_once(errors.HeaderTooLarge, lambda: send(b"{}", headers={"X-Long": "x" * 20_000}))
    await refused(ValueError, lambda: send(b"{}", headers={"X-Evil": "a\r\nX-User: root"}))


@story("a wrong task names the field, and what is wrong with it")
async def invalid(s):
    c = s.client()
    expect((await refused(errors.Invalid, lambda: c.submit(run=""))).field, "run")
    expect((await refused(errors.UnknownField, lambda: c.submit(run="true", runn="x"))).field, "runn")
    expect((await refused(errors.UnsupportedField, lambda: c.submit(run="true", managed_secrets=["x"]))).status, 422)
    await refused(errors.NotAllowed, lambda: c.submit(run="true", num_nodes=1000))
    pod = {"kubernetes": {"pod_config": {"spec": {"priorityClassName": "urgent"}}}}
    await refused(errors.NotAllowed, lambda: c.submit(run="true", config=pod))


@story("a log that the server does not have is an error before the first line")
async def no_log(s):
    c = s.client()
    job = await c.submit(run="true", resources=UNSCHEDULABLE)
    await job.stop()
    await refused(errors.ApiError, lambda: texts(c.job("zzzzzzzz").logs()))
    await refused(errors.Invalid, lambda: job.log_lines("x-y"))


@story("a token identifies the user; a wrong token, no token and another user are errors")
async def tokens(s):
    name = f"tokens-{s.flavour}"
    c = s.client("strict", token=f"token-of-{name}")
    expect(((await c.whoami()).user, (await c.login_method()).identified_by), (name, "token"))
    expect((await s.client("strict", token=lambda: f"token-of-{name}").whoami()).user, name)
    await refused(errors.Unauthorized, s.client("strict", token="wrong").whoami)
    await refused(errors.CredentialsMissing, lambda: c.request("GET", "/whoami", login=False))
    await refused(errors.AdministratorRequired, lambda: c.summary(all_users=True))
    root = s.client("strict", token="token-of-root")
    expect(((await root.whoami()).admin, (await root.summary(all_users=True)).total >= 0), (True, True))


@story("a limit stores nothing, says when to retry, and ends the patience of the client")
async def limits(s):
    c = s.client("strict", token=f"token-of-limits-{s.flavour}", timeout=2)
    expect((await c.limits()).active_tasks, 1)
    job = await c.submit(run="true", resources=UNSCHEDULABLE)
    err = await refused(errors.LimitReached, lambda: c.submit(run="true"))
    expect((err.status, err.retry_after > 0), (429, True))
    await job.stop()


@story("a pod of the server that is busy is unavailable")
async def busy(s):
    name = f"token-of-busy-{s.flavour}"
    with s.mortal():
        first, second = s.client("strict", token=name).events(), s.client("strict", token="token-of-root").events()
        await first.open()
        await second.open()
        c = s.client("strict", token=f"token-of-limits-{s.flavour}", timeout=1)
        err = await refused(errors.PodBusy, lambda: opened(c))
        expect((err.status, isinstance(err, errors.Unavailable)), (503, True))
        first.close()
        second.close()


@story("a token is not sent over plain HTTP to another machine")
async def plain_http(s):
    c = s.client(url="http://192.0.2.1:8000", token="secret", allow_plain_http=False)
    err = await refused(errors.CredentialsUnusable, c.whoami)
    expect("https" in err.detail, True)


@story("a server that is not there is an error at once")
async def nobody(s):
    c = s.client(url="http://127.0.0.1:9")
    err = await refused(ConnectionError, c.whoami)
    expect((err.status, isinstance(err, errors.ConnectionFailed)), (0, True))


@story("the configuration of the server decides about proxies, names of the server, and files")
async def configuration(s):
    await refused(errors.ProxyNotTrusted, s.client("proxied").whoami)
    with s.mortal():
        c = s.client("mortal")
        await refused(errors.HostNotAllowed, lambda: c.request("GET", "/tasks", headers={"Host": "evil.example"}))
        await refused(errors.FeatureDisabled, c.upload_limit)
