"""Secrets from the command line."""

from pathlib import Path

import pytest

from drumline.cli.errors import ExitCode
from drumline.stores.sealing import parse_keys
from tests.cli.conftest import Drumline


def test_a_secret_is_set_from_standard_input_listed_and_deleted(online: Drumline) -> None:
    made = online("secrets", "set", "cli.api", stdin="hunter2-hunter2\n")
    again = online("secrets", "set", "cli.api", "--json", stdin="another")
    listed = online("secrets", "list")
    refused = online("secrets", "delete", "cli.api")
    gone = online("secrets", "delete", "cli.api", "--yes", "--reason", "not used")

    assert (made.code, again.code, listed.code, refused.code, gone.code) == (0, 0, 0, ExitCode.USAGE, 0)
    assert "cli.api is set (version 1)." in made.err + made.out
    assert again.json["version"] == 2
    assert "cli.api" in listed.out
    assert "hunter2" not in made.out + made.err + again.out + listed.out
    assert online("secrets", "delete", "cli.api", "--yes").code == ExitCode.NOT_FOUND


def test_a_secret_is_set_from_a_file_as_it_is(online: Drumline, tmp_path: Path) -> None:
    (tmp_path / "key.pem").write_text("-----BEGIN-----\nabc\n")

    assert online("secrets", "set", "cli.pem", "--file", "key.pem").code == 0
    assert online("secrets", "set", "cli.pem", "--file", "nowhere.pem").code == ExitCode.USAGE
    assert online("secrets", "delete", "cli.pem", "--yes").code == 0


def test_a_value_is_not_taken_from_the_command_line(online: Drumline) -> None:
    ran = online("secrets", "set", "cli.api", "hunter2")

    assert ran.code == ExitCode.USAGE


def test_a_value_that_is_too_short_is_refused(online: Drumline) -> None:
    ran = online("secrets", "set", "cli.api", stdin="abc")

    assert ran.code == ExitCode.USAGE
    assert "value" in ran.err


def test_a_new_key_is_printed_and_everything_is_sealed_with_the_newest(online: Drumline) -> None:
    key = online("secrets", "new-key")
    rotated = online("secrets", "rotate", "--json")

    assert len(parse_keys(key.out)) == 1
    assert (rotated.code, rotated.json["unreadable"]) == (0, [])
    assert "sealed anew" in online("secrets", "rotate").err


@pytest.mark.parametrize("payload", ['{"t": {"$secret": "nope"}}'])
def test_an_unknown_secret_is_named_with_its_field(online: Drumline, payload: str) -> None:
    ran = online("submit", "work.echo", "--payload", payload)

    assert ran.code == ExitCode.USAGE
    assert "--payload: t: names the secret" in ran.err
    assert "nope" in ran.err
