"""SQL in files: none missing, none unused, and the hot ones find their rows by index."""

import re
import sqlite3
from pathlib import Path

import pytest

import drumline.backends.sqlite as package
from drumline.backends.sql_files import migrations
from drumline.backends.sqlite.statements import SQL

FOLDER = Path(package.__file__).parent


def test_every_statement_is_used_and_every_used_one_exists() -> None:
    source = "".join(file.read_text() for file in FOLDER.glob("*.py"))

    used = set(re.findall(r'(?:SQL\[|rows_of\([^"]*|_rows\(\s*|_change\(\s*)"([a-z_]+)"', source))

    assert used == set(SQL)


def test_every_statement_says_on_top_what_it_does() -> None:
    assert [name for name in SQL if not SQL[name].startswith("-- ")] == []


@pytest.fixture
def connection() -> sqlite3.Connection:
    made = sqlite3.connect(":memory:")
    for _, _, script in migrations("drumline.backends.sqlite"):
        made.executescript(script)
    return made


@pytest.mark.parametrize(
    "name",
    [
        "due_in_lane",
        "next_due_in_lane",
        "next_due_after",
        "due_by_key",
        "unsorted",
        "sort_keys",
        "slot_uses",
        "drop_slots",
        "claim",
        "claimed",
        "held_by_leases",
        "delete_live",
        "get",
        "stands",
        "ended_before",
        "still_ended",
        "count_waiting",
    ],
)
def test_hot_statements_never_scan_a_table_of_tasks(connection: sqlite3.Connection, name: str) -> None:
    parameters = dict.fromkeys(re.findall(r":([a-z_]+)", re.sub(r"--.*", "", SQL[name])), "[]")

    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {SQL[name]}", parameters)]

    scans = [step for step in plan if re.match(r"SCAN (task|task_live|live|attempt|last)\b", step)]
    assert scans == [], plan
    connection.close()


def test_a_reap_reads_what_sessions_hold_once_not_once_for_each_task(connection: sqlite3.Connection) -> None:
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {SQL['orphans']}")]

    assert [step for step in plan if "CORRELATED" in step] == []
    connection.close()
