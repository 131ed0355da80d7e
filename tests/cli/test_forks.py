"""Forks and replays on the command line."""

from pathlib import Path

import pytest

from tests.black_box.server import Server, eventually
from tests.cli.conftest import Drumline

APP = """
from drumline import Context, Drumline, inject

app = Drumline("shop")


def charge(order: int) -> int:
    return order * 2


@app.task(name="replayed")
async def replayed(order: int, *, ctx: Context[None] = inject()) -> int:
    paid = await ctx.step("charge", charge, order)
    await ctx.wait_for("approved", bool)
    return paid
"""


ROUNDS = """
from drumline import Context, Drumline, inject

app = Drumline("shop")


@app.task(name="polled")
async def polled(number: int, *, ctx: Context[None] = inject()) -> None:
    await ctx.step("look", lambda: number, key=number)
    if number < 2:
        await ctx.restart(polled, number + 1)
    await ctx.wait_for("approved", bool)
"""


def test_a_fork_of_a_step_that_is_not_there_says_so(online: Drumline) -> None:
    task = online("submit", "nothing that runs", "--json").json["id"]

    ran = online("tasks", "fork", task, "--from", "charge")

    assert ran.code != 0
    assert "has no record of 'charge'" in ran.err


def test_a_task_is_forked_and_replayed(drumline: Drumline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = tmp_path / "replayed_shop.py"
    app.write_text(APP)
    monkeypatch.setenv("DRUMLINE_DATA", str(tmp_path / "data"))
    with Server(tmp_path / "data", app=app) as server:
        task = server.submit("replayed", payload={"order": 4})
        eventually(lambda: [each["outcome"] for each in server.attempts(task)] == ["parked"], 30)

        ran = drumline("tasks", "replay", task, "replayed_shop.py")
        told = drumline("tasks", "replay", task, "replayed_shop.py", "--json").json
        made = drumline("tasks", "fork", task, "--from", "approved", "-p", '{"order": 5}')
        missing = drumline("tasks", "replay", task, "nowhere.py")
        shown = server.get(made.out.strip())
        listed = drumline("tasks", "list")
        described = drumline("tasks", "get", task)

    assert ran.out.splitlines() == ["recorded    charge", "would wait  approved"]
    assert told["new"] == [{"kind": "signal", "name": "approved", "key": None, "reason": ""}]
    assert "It begins with 1 record of" in made.err
    assert (shown["forked_from"], shown["payload"]) == (task, {"order": 5})
    assert "there is no file nowhere.py" in missing.err
    assert "WAITING" in listed.out
    assert "status     WAITING" in described.out


def test_the_rounds_of_a_task_are_listed_and_its_last_one_is_replayed(
    drumline: Drumline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = tmp_path / "polled_shop.py"
    app.write_text(ROUNDS)
    monkeypatch.setenv("DRUMLINE_DATA", str(tmp_path / "data"))
    with Server(tmp_path / "data", app=app) as server:
        task = server.submit("polled", payload={"number": 0})
        eventually(lambda: [each["outcome"] for each in server.attempts(task)].count("parked") == 1, 30)

        steps = drumline("tasks", "steps", task)
        rows = drumline("tasks", "steps", task, "--json").json
        first = drumline("tasks", "steps", task, "--round", "1", "--json").json
        missing = drumline("tasks", "steps", task, "--round", "7")
        replayed = drumline("tasks", "replay", task, "polled_shop.py")
        (tmp_path / "changed_shop.py").write_text(ROUNDS.replace("number < 2", "number < 3"))
        changed = drumline("tasks", "replay", task, "changed_shop.py")

    assert [(each["name"], each["kind"], each["status"]) for each in rows] == [
        ("round 1", "round", "restarted"), ("round 2", "round", "restarted"), ("look", "step", "done"),
        ("approved", "signal", "waiting"),
    ]  # fmt: skip
    assert "1 records" in steps.out
    assert [(each["name"], each["result"]) for each in first] == [("look", 0)]
    assert "the task has no round 7" in missing.err
    assert replayed.out.splitlines() == ["recorded    look [2]", "would wait  approved"]
    assert changed.out.splitlines() == ["recorded    look [2]", 'restarts    restart: {"number":3}']
