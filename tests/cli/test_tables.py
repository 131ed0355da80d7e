"""Tables on terminals of any width, and times as people read them."""

import pkgutil
from importlib import import_module

import pytest

import drumline.cli
from drumline.cli.tables import Column, fit, relative, since_epoch, span, tidy

NOW = since_epoch("2026-01-02T03:04:05.000Z")

COLUMNS = (
    Column("ID", lambda item: item["id"], rank=9),
    Column("NAME", lambda item: item["name"], rank=8, least=5),
    Column("AGE", lambda item: item["age"], rank=1),
    Column("ERROR", lambda item: item["error"], rank=5, least=10),
)


@pytest.mark.parametrize(
    ("width", "shown"),
    [(200, "ID NAME AGE ERROR"), (64, "ID NAME AGE ERROR"), (56, "ID NAME ERROR"), (50, "ID NAME"), (30, "ID")],
)
def test_a_narrow_terminal_loses_the_least_important_first(width: int, shown: str) -> None:
    widths = fit([36, 20, 6, 80], COLUMNS, width)

    assert [column.title for column, room in zip(COLUMNS, widths, strict=True) if room] == shown.split()
    assert widths[0] == 36, "an id is whole, whatever the terminal"
    assert sum(widths) + 2 * (len(shown.split()) - 1) <= max(width, 36)


def test_a_column_that_gave_way_to_a_wide_one_returns_when_that_one_is_left_out_too() -> None:
    columns = (Column("ID", "id", rank=9), Column("WIDE", "wide", rank=7, least=30), Column("SLIM", "slim", rank=6))

    assert fit([20, 60, 6], columns, 40) == [20, 0, 6]


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        ("2026-01-02T03:04:05.200Z", "now"),
        ("2026-01-02T03:04:02.500Z", "2.5s ago"),
        ("2026-01-02T03:04:45.000Z", "in 40s"),
        ("2026-01-02T03:02:00.000Z", "2m5s ago"),
        ("2026-01-02T01:34:05.000Z", "1h30m ago"),
        ("2025-12-20T03:04:05.000Z", "13d ago"),
        ("2031-01-20T10:00:00.000Z", "2031-01-20"),
    ],
)
def test_times_are_told_as_seen_from_now(moment: str, text: str) -> None:
    assert relative(moment, NOW) == text


@pytest.mark.parametrize(("seconds", "text"), [(0.25, "250ms"), (59.9, "60s"), (3600, "1h"), (90_061, "1d1h")])
def test_spans_show_what_matters(seconds: float, text: str) -> None:
    assert span(seconds) == text


def test_what_others_wrote_plays_no_tricks_on_the_terminal() -> None:
    assert "\x1b" not in tidy("\x1b[2Jgone\x07")


def test_several_lines_of_others_become_one() -> None:
    assert tidy("exit code 1\npg_dump: error\n\tIs it running?\r\n") == "exit code 1 pg_dump: error Is it running?"
    assert tidy("    indented") == "    indented"


NOT_OF_FIELDS = {"#", "TASKS"}
"""Headings of tables within descriptions: the number of an attempt, the tasks of a box in a graph."""


def test_headings_of_lists_are_names_of_fields() -> None:
    modules = [import_module(f"drumline.cli.{each.name}") for each in pkgutil.iter_modules(drumline.cli.__path__)]
    tables = [table for module in modules for table in vars(module).values() if isinstance(table, tuple)]
    columns = {each for table in tables for each in table if isinstance(each, Column)}

    wrong = {
        column.title
        for column in columns
        if " " in column.title or (isinstance(column.show, str) and column.show.upper() != column.title)
    }

    assert len(columns) > 100
    assert wrong - NOT_OF_FIELDS == set()
