"""The Python client of k8s-cli, which runs tasks on Kubernetes.

    from k8s_cli import Client

    job = Client().submit(run="echo hi", cpus=1)
    print(job.wait().status, "".join(job.logs()))

`k8s_cli.aio` has the same names for asyncio. The client needs only the standard library.
"""

from . import aio, errors, models
from ._version import VERSION as __version__
from .client import Client
from .errors import ApiError, Error
from .events import EventStream
from .job import Group, Job, Sweep, as_completed
from .models import Event, GroupStatus, TaskStatus
from .session import BrowserSession
from .task import Item, Task, grid

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
    "aio",
    "as_completed",
    "errors",
    "grid",
    "models",
]
