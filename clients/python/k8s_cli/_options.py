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


_Texts = Union[str, Sequence[str]]
_Pairs = Union[str, Sequence[str], Mapping[str, object]]
_Numbers = Union[str, int, Sequence[Union[str, int]]]


class StopFilters(TypedDict, total=False):
    """The filters of Client.stop_all, besides the group."""

    user: str
    status: Union[Phase, Sequence[Phase]]
    name: str
    name_prefix: str
    name_contains: _Texts
    label: _Pairs
    annotation: _Pairs
    point: _Pairs
    gpus: _Numbers
    since: Since
    before: Since
    not_status: Union[Phase, Sequence[Phase]]
    not_name: str
    not_name_prefix: str
    not_name_contains: _Texts
    not_label: _Pairs
    not_annotation: _Pairs
    not_point: _Pairs
    not_group: str
    not_gpus: _Numbers


class _Filters(StopFilters, total=False):
    all_users: bool
    reason: _Texts
    machine: _Texts
    exit: _Numbers
    not_reason: _Texts
    not_machine: _Texts
    not_exit: _Numbers
    sort: Sort


class Filters(_Filters, total=False):
    """The filters of Client.jobs, Client.page and Client.rows."""

    group: str


class GroupFilters(_Filters, total=False):
    """The filters of Group.jobs."""

    limit: Optional[int]
    page_size: int
