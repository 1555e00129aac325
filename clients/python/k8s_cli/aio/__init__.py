"""The client of k8s-cli on asyncio. The names are those of package `k8s_cli`.

    async with k8s_cli.aio.Client() as client:
        job = await client.submit(run="echo hi")
        async for line in job.logs():
            print(line, end="")
        print((await job.wait()).status)
"""

from .client import Client
from .events import EventStream
from .job import Group, Job, Sweep, as_completed
from .session import BrowserSession

__all__ = ["BrowserSession", "Client", "EventStream", "Group", "Job", "Sweep", "as_completed"]
