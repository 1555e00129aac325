"""The client of k8s-cli on asyncio. The names are those of package `k8s_cli`.

    async with k8s_cli.aio.Client() as client:
        job = await client.submit(run="echo hi")
        async for line in job.logs():
            print(line, end="")
        print((await job.wait()).status)
"""

from .. import errors, models
from .._version import VERSION as __version__
from ..errors import ApiError, Error
from ..models import Event, GroupStatus, TaskStatus
from ..task import Item, Task, grid
from .client import Client
from .events import EventStream
from .job import Group, Job, Sweep, as_completed
from .session import BrowserSession

__all__ = [
    "ApiError",
    "BrowserSession",
    "Client",
    "Error",
    "Event",
    "EventStream",
    "Group",
    "GroupStatus",
    "Item",
    "Job",
    "Sweep",
    "Task",
    "TaskStatus",
    "__version__",
    "as_completed",
    "errors",
    "grid",
    "models",
]
