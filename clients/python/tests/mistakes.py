"""Mistakes that mypy --strict must find: it reports each comment `type: ignore` that hides no error. Nothing runs this file."""

from k8s_cli import Client, Task, aio

c = Client()
job = c.submit("true", name="hello", cpus=0.5, annotations={"commit": "4f2a91c"}, event_callback="https://hooks.example.com/x")

c.submit(runn="true")  # type: ignore[call-arg]
c.submit(run=["true"])  # type: ignore[arg-type]
c.submit("true", num_nodes="two")  # type: ignore[arg-type]
c.submit("true", max_paralell=2)  # type: ignore[call-arg]
Task("true", nmae="train")  # type: ignore[call-arg]
Task("true", envs=["A=1"])  # type: ignore[arg-type]
c.map(Task("true"), 5)  # type: ignore[arg-type]
c.jobs(status="faild")  # type: ignore[arg-type]
c.jobs(sort="age")  # type: ignore[arg-type]
c.usage(by="month")  # type: ignore[arg-type]
c.group(5)  # type: ignore[arg-type]
job.wait(timeout="5s")  # type: ignore[arg-type]
job.logs(tail="10")  # type: ignore[arg-type]
job.log_bytes(folow=True)  # type: ignore[call-arg]
job.rerun(memroy=32)  # type: ignore[call-arg]
c.map("true", {"N": [1]}).rerun_failed(memroy=32)  # type: ignore[call-arg]
c.group("g").jobs(stat="failed")  # type: ignore[call-arg]
c.group("g").logs(tial=1)  # type: ignore[call-arg]
c.page(stat="failed")  # type: ignore[call-arg]
c.rows(status="faild")  # type: ignore[arg-type]
print(c.group("g").status().by_status["done"])  # type: ignore[index]
print(c.summary().by_status["done"])  # type: ignore[index]
print(job.status().state)  # type: ignore[attr-defined]
print(job.status().status == "done")  # type: ignore[comparison-overlap]
for event in c.group("g").events():
    print(event.phase)  # type: ignore[attr-defined]


async def forgotten() -> None:
    print(aio.Client().submit("true").id)  # type: ignore[attr-defined,misc]
