"""Shards from the command line: what a server of one database says, and where addresses are read from."""

import io
import sys

import pytest

from drumline.cli.errors import ExitCode
from drumline.cli.shards import Addresses, is_empty
from drumline.core.errors import Invalid
from tests.cli.conftest import Drumline

PASSWORD = "s3cret-of-pg2"
URL = f"postgresql://drumline:{PASSWORD}@pg2.example/drumline"
EMPTY = {"name": "pg2", "state": "draining", "is_away": False, "left": 0, "slots": 0, "unfinished": 0, "running": 0}


def test_one_database_is_one_shard(online: Drumline) -> None:
    listed = online("shards", "list")
    one = online("shards", "get", "main")

    assert (listed.code, one.code) == (0, 0)
    assert listed.out.splitlines()[0].split()[:3] == ["NAME", "STATE", "SLOTS"]
    assert "4,096 of 4,096" in one.out
    assert online("shards", "list", "--json").json[0]["name"] == "main"
    assert online("shards", "get", "pg2").code == ExitCode.NOT_FOUND


def test_one_database_of_sqlite_stays_one(online: Drumline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PG2_URL", URL)
    refused = [
        online("shards", "add", "pg2", "--store-url", "env:PG2_URL"),
        online("shards", "add", "pg2", "--store-url", "-", stdin=URL + "\n"),
        online("shards", "add", "pg2", stdin=URL),
        online("shards", "change", "main", "--queue-url", "none"),
        online("shards", "move", "--evenly"),
        online("shards", "drain", "main", "--yes"),
        online("shards", "keep", "main"),
        online("shards", "remove", "main", "--yes"),
    ]

    assert [ran.code for ran in refused] == [ExitCode.CONFLICT] * len(refused)
    assert all("PostgreSQL" in ran.err for ran in refused)
    assert not any(PASSWORD in ran.out + ran.err for ran in refused)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("add", "pg2", "--store-url", "env:NOT_SET"), "--store-url: the variable NOT_SET is not set"),
        (("add", "pg2", "--store-url", "-"), "--store-url: standard input has no line"),
        (("change", "main"), "--store-url or --queue-url"),
        (("move",), "--to, or spread all slots with --evenly"),
        (("move", "--to", "pg2", "--evenly"), "--to, or spread all slots with --evenly"),
        (("move", "--evenly", "--slots", "7"), "--from and --slots go with --to"),
        (("drain", "main"), "add --yes"),
        (("remove", "main"), "add --yes"),
    ],
)
def test_what_is_not_understood_is_refused_before_the_server_is_asked(
    online: Drumline, words: tuple[str, ...], said: str
) -> None:
    ran = online("shards", *words)

    assert ran.code == ExitCode.USAGE
    assert said in ran.err


def test_both_addresses_can_come_from_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("postgresql://first\n\nredis://second\n"))
    addresses = Addresses()

    assert addresses.read("-", field="store_url") == "postgresql://first"
    assert addresses.read("-", field="queue_url") == "redis://second"
    with pytest.raises(Invalid, match="no line with an address"):
        addresses.read("-", field="queue_url")


@pytest.mark.parametrize("change", [{"left": 3}, {"left": None}, {"slots": 1}, {"unfinished": 2}])
def test_a_shard_is_empty_when_nothing_is_left_in_it(change: dict[str, object]) -> None:
    assert is_empty(EMPTY)
    assert not is_empty({**EMPTY, **change})
