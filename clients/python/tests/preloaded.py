"""A module that a forkserver loads before it forks workers, and that uses the client."""

from . import processes

processes.warm_up()
