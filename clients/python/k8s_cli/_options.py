"""Keywords of methods, for type checkers. At run time, Python or the server reports unknown keywords."""

from typing import Mapping, Optional, Sequence, TypedDict, Union

from ._times import Since
from .models import Phase, Sort


class LogOptions(TypedDict, total=False):
    """The keywords of Job.logs."""

    follow: bool
    tail: Optional[int]
    since: Optional[Since]
    node: Optional[int]
    attempt: Optional[int]
    timestamps: bool


class _Filters(TypedDict, total=False):
    all_users: bool
    user: str
    status: Union[Phase, Sequence[Phase]]
    name: str
    name_prefix: str
    name_contains: str
    label: Union[str, Sequence[str], Mapping[str, str]]
    annotation: Union[str, Sequence[str], Mapping[str, str]]
    reason: Union[str, Sequence[str]]
    since: Since
    sort: Sort


class Filters(_Filters, total=False):
    """The filters of Client.page and Client.rows."""

    group: str


class GroupFilters(_Filters, total=False):
    """The filters of Group.jobs."""

    limit: Optional[int]
    page_size: int
