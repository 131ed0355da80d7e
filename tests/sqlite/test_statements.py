"""SQL in files: none missing, none unused, and the hot ones find their rows by index."""

import re
import sqlite3
from pathlib import Path

import pytest

import drumline.stores.sqlite as package
from drumline.stores.sql_files import migrations
from drumline.stores.sqlite.statements import OWN, SQL
from drumline.stores.statements import SQLITE_FUNCTIONS, SqliteStatement, shared

FOLDER = Path(package.__file__).parent


def test_every_statement_is_used_and_every_used_one_exists() -> None:
    source = "".join(file.read_text() for file in FOLDER.glob("*.py"))

    named = r'(?:SQL\[|rows_of\([^"]*|_rows\(\s*|_change\(\s*|fetch\(\s*(?:Line\.\w+,\s*)?)"([a-z_]+)"'

    assert set(re.findall(named, source)) - set(shared("sqlite")) == set(OWN)


def test_every_shared_statement_compiles_on_sqlite(connection: sqlite3.Connection) -> None:
    for name, (count, function) in SQLITE_FUNCTIONS.items():
        connection.create_function(name, count, function, deterministic=True)

    for name in shared("sqlite"):
        statement = SqliteStatement(name, shared("sqlite")[name])
        given = dict.fromkeys(re.findall(r"(?<![:\w]):([a-z]\w*)", statement.text), "[]")
        connection.execute(f"EXPLAIN {statement.text}", given)

    connection.close()


def test_lists_side_by_side_become_rows() -> None:
    statement = SqliteStatement(
        "x",
        "UPDATE drumline.t AS t SET a = given.a FROM unnest(:ids::uuid [], :blobs::bytea []) AS given (id, a)\n"
        "WHERE t.id = given.id AND t.b = any(:names::text []) RETURNING id",
    )

    given = statement.arguments({"ids": ["1", "2"], "blobs": [b"\x01", b"\xff"], "names": ("n",)})

    assert sorted(given.values()) == ['["n"]', '[["1","01"],["2","ff"]]']
    assert "unhex(json_extract(value, '$[1]')) AS a" in statement.text
    assert not statement.is_read


def test_a_wrong_parameter_of_a_shared_statement_is_named() -> None:
    with pytest.raises(TypeError, match="b, c"):
        SqliteStatement("x", "SELECT :a, :b").arguments({"a": 1, "c": 2})


def test_every_statement_says_on_top_what_it_does() -> None:
    assert [name for name in OWN if not OWN[name].startswith("-- ")] == []


@pytest.fixture
def connection() -> sqlite3.Connection:
    made = sqlite3.connect(":memory:")
    for _, _, script in migrations("drumline.stores.sqlite"):
        made.executescript(script)
    return made


HOT = (
    "due_in_lane", "next_due_in_lane", "next_due_after", "due_by_key", "unsorted", "sort_keys", "slot_uses",
    "drop_slots", "claim", "claimed", "claimed_before", "held_by_leases", "delete_live", "get", "task_states",
    "ended_before", "still_ended", "insert_alike_attempts",
    "count_waiting",
)  # fmt: skip


def test_hot_statements_never_scan_a_table_of_tasks(connection: sqlite3.Connection) -> None:
    steps = [(name, step) for name in HOT for step in plan_of(connection, name)]

    assert [(name, step) for name, step in steps if re.match(r"SCAN (task|task_live|live|attempt|last)\b", step)] == []
    connection.close()


def test_a_claim_reads_what_it_took_not_all_that_its_session_holds(connection: sqlite3.Connection) -> None:
    plan = plan_of(connection, "claimed")

    assert [step for step in plan if step.startswith("SEARCH live")] == ["SEARCH live USING PRIMARY KEY (id=?)"]
    connection.close()


def plan_of(connection: sqlite3.Connection, name: str) -> list[str]:
    parameters = dict.fromkeys(re.findall(r":([a-z_][a-z_0-9]*)", re.sub(r"--.*", "", SQL[name])), "[]")
    return [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {SQL[name]}", parameters)]


def test_each_status_is_counted_by_an_index_of_its_own(connection: sqlite3.Connection) -> None:
    parameters = {"lanes": None, "now": 0, "limit": 10, "looked": 10}

    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {SQL['count_live']}", parameters)]

    read = [step for step in plan if re.match(r"(SCAN|SEARCH) live\b", step)]
    assert [re.findall(r"task_live_\w+", step) for step in read] == [
        ["task_live_ready"], ["task_live_ready"], ["task_live_blocked"], ["task_live_held"],
    ]  # fmt: skip
    connection.close()


def test_a_reap_reads_what_sessions_hold_once_not_once_for_each_task(connection: sqlite3.Connection) -> None:
    plan = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {SQL['orphans']}")]

    assert [step for step in plan if "CORRELATED" in step] == []
    connection.close()
