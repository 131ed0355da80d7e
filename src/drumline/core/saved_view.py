"""A saved view: a filter of a list, and the columns to show, under a name; for its owner, or shared with the tenant."""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from drumline.core.clock import Instant
from drumline.core.errors import Invalid
from drumline.core.filter_subjects import GROUPS, JOBS, TASKS
from drumline.core.filters import Subject, read_filter
from drumline.core.names import check_text

LONGEST_NAME: Final = 100
_LETTER: Final = r"[^/\u0000-\u001f\u007f-\u009f]"
_VISIBLE: Final = r"[^/\s\u0000-\u001f\u007f-\u009f]"
VIEW_NAME_PATTERN: Final = f"^{_LETTER}*{_VISIBLE}{_LETTER}*$"
LONGEST_COLUMN: Final = 64
MOST_COLUMNS: Final = 30
MOST_VIEWS: Final = 200
"""Views of one owner."""


class ViewPage(StrEnum):
    """The lists that have views."""

    TASKS = "tasks"
    FAILURES = "failures"
    JOBS = "jobs"


SUBJECTS: Final[dict[ViewPage, Subject]] = {
    ViewPage.TASKS: TASKS,
    ViewPage.FAILURES: GROUPS,
    ViewPage.JOBS: JOBS,
}


class SavedView(Struct, frozen=True, kw_only=True):
    """A view that was saved."""

    tenant: str
    owner: str
    page: ViewPage
    name: str
    filter: str = ""
    """Terms as in `core.filter_syntax`; empty for everything."""
    columns: tuple[str, ...] = ()
    """Columns to show; none for those that are shown anyway."""
    is_shared: bool = False
    created_at: Instant = Instant(0)
    updated_at: Instant = Instant(0)


def check_view(view: SavedView, *, now: Instant) -> SavedView:
    """Return a view that can be saved, or raise `Invalid` naming the field at fault."""
    check_view_name(view.name)
    if view.filter:
        read_filter(view.filter, SUBJECTS[view.page], now=now)
    if len(view.columns) > MOST_COLUMNS:
        raise Invalid(f"must be at most {MOST_COLUMNS}", field="columns")
    for number, column in enumerate(view.columns):
        check_text(column, field=f"columns[{number}]", longest=LONGEST_COLUMN)
    return view


def check_view_name(name: str) -> str:
    """Return the name of a view, which is a segment of a path."""
    check_text(name, field="name", longest=LONGEST_NAME)
    if "/" in name:
        raise Invalid("must not contain /", field="name")
    return name
