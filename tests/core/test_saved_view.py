"""What can be saved as a view."""

from typing import Any

import pytest
from msgspec.structs import replace

from drumline.core.clock import Instant
from drumline.core.errors import Invalid
from drumline.core.saved_view import LONGEST_COLUMN, LONGEST_NAME, MOST_COLUMNS, SavedView, ViewPage, check_view

NOW = Instant(1_700_000_000_000)
VIEW = SavedView(tenant="t", owner="ada", page=ViewPage.TASKS, name="mine")


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"name": "n" * LONGEST_NAME},
        {"filter": "status:failed", "columns": ("id", "c" * LONGEST_COLUMN)},
        {"columns": ("c",) * MOST_COLUMNS},
        {"page": ViewPage.JOBS, "filter": "status:failed"},
        {"page": ViewPage.FAILURES, "filter": "owner:ada"},
    ],
)
def test_a_view_within_its_bounds_is_saved_as_it_is(fields: dict[str, Any]) -> None:
    view = replace(VIEW, **fields)
    assert check_view(view, now=NOW) is view


@pytest.mark.parametrize(
    ("fields", "field", "message"),
    [
        ({"name": ""}, "name", "must not be blank"),
        ({"name": "n" * (LONGEST_NAME + 1)}, "name", "must be at most 100 characters"),
        ({"name": "a/b"}, "name", "must not contain /"),
        ({"columns": ("c",) * (MOST_COLUMNS + 1)}, "columns", "must be at most 30"),
        ({"columns": ("a", "")}, "columns[1]", "must not be blank"),
        ({"columns": ("c" * (LONGEST_COLUMN + 1),)}, "columns[0]", "must be at most 64 characters"),
    ],
)
def test_a_view_out_of_its_bounds_is_refused_by_its_field(fields: dict[str, Any], field: str, message: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_view(replace(VIEW, **fields), now=NOW)
    assert (caught.value.field, caught.value.message) == (field, message)


@pytest.mark.parametrize("page", ViewPage)
def test_the_filter_of_a_view_is_one_of_its_list(page: ViewPage) -> None:
    with pytest.raises(Invalid) as caught:
        check_view(replace(VIEW, page=page, filter="unheard:of"), now=NOW)
    assert caught.value.field == "filter"


def test_a_filter_that_only_another_list_has_is_refused() -> None:
    with pytest.raises(Invalid):
        check_view(replace(VIEW, page=ViewPage.FAILURES, filter="tag:eu"), now=NOW)
