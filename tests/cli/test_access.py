"""Keys, tenants and the audit log from the command line."""

import json
import sqlite3
from pathlib import Path

import pytest

from drumline.cli.errors import ExitCode
from tests.black_box.server import Server
from tests.cli.conftest import Drumline


def test_a_key_is_made_used_rotated_and_revoked(online: Drumline) -> None:
    made = online("keys", "create", "ada", "--role", "viewer", "--scope", "tasks:read", "--expires-in", "90d")
    key = made.out.strip()
    listed = {item["prefix"]: item for item in online("keys", "list", "--json").json}
    id_ = listed[key[:14]]["id"]

    used = online("tasks", "list", "--api-key", key)
    refused = online("queues", "list", "--api-key", key)
    rotated = online("keys", "rotate", id_, "--overlap", "1m", "--json").json
    revoked = online("keys", "revoke", id_, "--yes", "--reason", "ada left")
    after = online("tasks", "list", "--api-key", key)

    assert "not shown again" in made.err
    assert (made.code, used.code, refused.code, revoked.code, after.code) == (0, 0, ExitCode.AUTH, 0, ExitCode.AUTH)
    assert "queues:read" in refused.err
    assert "revoked" in revoked.out
    assert "the API key was revoked" in after.err
    assert rotated["replaces"] == id_
    assert online("keys", "get", rotated["id"], "--json").json["enabled"] is True
    assert "disabled" in online("keys", "disable", rotated["id"][-12:]).out
    assert "enabled" in online("keys", "enable", rotated["id"]).out
    assert online("keys", "revoke", rotated["id"]).code == ExitCode.USAGE


def test_whoami_tells_whose_key_it_is(online: Drumline) -> None:
    told = online("keys", "whoami")

    assert told.out.startswith("first key  admin of every tenant\n")
    assert "  keys:manage\n" in told.out
    assert online("keys", "whoami", "--json").json["id"] == "first"


def test_a_mistyped_key_is_told_apart(online: Drumline) -> None:
    key = online("keys", "create", "typo").out.strip()

    ran = online("keys", "whoami", "--api-key", key[:-1] + ("a" if key[-1] != "a" else "b"))

    assert ran.code == ExitCode.AUTH
    assert "mistyped" in ran.err


def test_a_tenant_is_made_given_quotas_and_a_key(online: Drumline) -> None:
    made = online("tenants", "create", "shop", "--queued", "2", "--json")
    changed = online("tenants", "change", "shop", "--payload-bytes", "1000", "--queued", "none")
    key = online("keys", "create", "of the shop", "--tenant", "shop", "--role", "operator").out.strip()
    online("tenants", "change", "shop", "--queued", "1")

    first = online("submit", "no such task", "--api-key", key)
    second = online("submit", "no such task", "--api-key", key)

    assert made.json["quotas"] == {"queued": 2, "payload_bytes": None, "schedules": None, "weight": None}
    assert changed.out == "shop  payload_bytes 1000\n"
    assert (first.code, second.code) == (0, ExitCode.FAILED)
    assert "its quota" in second.err
    assert "shop" in [tenant["name"] for tenant in online("tenants", "list", "--json").json]
    assert online("tenants", "get", "shop").out.startswith("shop  queued 1")
    assert [item["name"] for item in online("tenants", "list", "--json", "--api-key", key).json] == ["shop"]
    assert online("tenants", "change", "shop", "--queued", "many").code == ExitCode.USAGE


def test_the_audit_log_is_listed_exported_and_verified(online: Drumline, tmp_path: Path) -> None:
    online("queues", "pause", "audited", "--create", "--reason", "w\u00e4hrend der Wartung")
    online("queues", "resume", "audited", "--reason", "done \u2713")
    resumed, paused = online("audit", "list", "--limit", "2", "--json").json
    exported = online("audit", "export", "--file", str(tmp_path / "log.jsonl"))

    online_verdict = online("audit", "verify", "--json").json
    offline = online("audit", "verify", str(tmp_path / "log.jsonl"))

    assert (paused["act"], paused["reason"]) == ("queue.pause", "w\u00e4hrend der Wartung")
    assert (resumed["act"], resumed["reason"]) == ("queue.resume", "done \u2713")
    assert exported.code == offline.code == 0
    assert online_verdict["is_sound"] is True
    assert "sound" in offline.out
    head = next(line.split()[0] for line in offline.out.splitlines() if line.startswith("default="))
    assert online("audit", "verify", "--expect", head).code == 0
    forged = f"default={head.partition('=')[2].partition(':')[0]}:{'0' * 64}"
    assert online("audit", "verify", "--expect", forged).code == ExitCode.FAILED
    assert online("audit", "verify", "--expect", "nonsense").code == ExitCode.USAGE


def test_an_exported_log_that_was_touched_is_found_out(online: Drumline, tmp_path: Path) -> None:
    online("queues", "pause", "touched", "--create")
    online("queues", "resume", "touched")
    file = tmp_path / "log.jsonl"
    online("audit", "export", "--file", str(file))
    lines = file.read_text().splitlines()

    def verdict(changed: list[str]) -> int:
        file.write_text("\n".join(changed) + "\n")
        return online("audit", "verify", str(file)).code

    place = next(number for number, line in enumerate(lines) if "touched" in line)
    assert verdict(lines) == 0
    assert verdict([*lines[:place], lines[place].replace("touched", "twisted"), *lines[place + 1 :]]) == 1
    assert verdict([*lines[:place], *lines[place + 1 :]]) == 1
    assert verdict([line for line in lines if '"head"' not in line]) == 1
    assert verdict([*lines[:-2], lines[-1]]) == 1
    file.write_text("no log\n")
    assert online("audit", "verify", str(file)).code == ExitCode.USAGE


def test_verify_finds_what_was_changed_in_the_database(online: Drumline, server: Server) -> None:
    online("tenants", "create", "victim")
    key = online("keys", "create", "victim's", "--tenant", "victim", "--role", "admin").out.strip()
    online("queues", "pause", "q", "--create", "--api-key", key)
    before = online("audit", "verify", "--api-key", key)
    taken = tamper(server, "SELECT * FROM audit WHERE tenant = 'victim' AND seq = 2")
    tamper(server, "DELETE FROM audit WHERE tenant = 'victim' AND seq = 2")

    after = online("audit", "verify", "--api-key", key)
    as_json = online("audit", "verify", "--api-key", key, "--json")
    tamper(server, "INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?)", *taken[0])  # the server is not ours alone

    assert (before.code, after.code) == (0, ExitCode.FAILED)
    assert "NOT SOUND" in after.out
    assert "at row 2" in after.out
    assert json.loads(as_json.out)["chains"][0]["fault"]["seq"] == 2
    assert online("audit", "verify", "--api-key", key).code == 0


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM audit_head WHERE tenant = :tenant",
        "UPDATE audit_head SET count = 1, hash = (SELECT hash FROM audit WHERE seq = 1 AND tenant = :tenant) WHERE tenant = :tenant",  # noqa: E501
    ],
)
def test_verify_finds_rows_that_the_head_was_made_to_leave_out(
    online: Drumline, server: Server, tmp_path: Path, statement: str
) -> None:
    tenant = f"headless-{len(statement)}"
    online("tenants", "create", tenant)
    key = online("keys", "create", "theirs", "--tenant", tenant, "--role", "admin").out.strip()
    online("queues", "pause", "q", "--create", "--api-key", key)
    (kept,) = tamper(server, f"SELECT * FROM audit_head WHERE tenant = '{tenant}'")
    tamper(server, statement.replace(":tenant", f"'{tenant}'"))

    over_http = online("audit", "verify", "--api-key", key)
    online("audit", "export", "--file", str(tmp_path / "log.jsonl"), "--api-key", key)
    of_file = online("audit", "verify", str(tmp_path / "log.jsonl"))
    tamper(server, "INSERT OR REPLACE INTO audit_head VALUES (?, ?, ?)", *kept)  # the server is not ours alone

    for found in (over_http, of_file):
        assert found.code == ExitCode.FAILED
        assert "its head says" in found.out
    assert online("audit", "verify", "--api-key", key).code == 0


def tamper(server: Server, statement: str, *values: object) -> list[tuple[object, ...]]:
    """Run a statement on the server's database behind its back, with its protection off."""
    connection = sqlite3.connect(server.data / "drumline.db")
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    rows = connection.execute(statement, values).fetchall()
    for _, sql in triggers:
        connection.execute(sql)
    connection.commit()
    connection.close()
    return rows
