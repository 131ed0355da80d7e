"""Commands that look into a durable task: a fork of it, and a replay of its code against its records."""

import asyncio
import json
from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli.commands import server_command
from drumline.cli.options import TaskId
from drumline.cli.output import say
from drumline.cli.parameters import Argument, Option
from drumline.cli.steps import timeline
from drumline.cli.submitting import payload_of
from drumline.core.errors import NotFound

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient
    from drumline.core.durable import Record

MOST_RECORDS = 1_000_000
_WORDS = {
    "step": "would run",
    "request": "would ask",
    "unreadable": "unreadable",
    "children": "would call",
    "restart": "restarts",
}


def _print_fork(made: dict[str, Any]) -> None:
    click.echo(made["id"])
    count = made["records"]
    if not made["created"]:
        say("It was there already.")
    else:
        say(f"It begins with {count:,} {'record' if count == 1 else 'records'} of {made['forked_from']}.")


@server_command(show=_print_fork, reason=True)
def fork(
    client: "ApiClient",
    id: TaskId,
    step: Annotated[
        str, Option("--from", help="The step, sleep or wait from which on everything is done anew.", metavar="NAME")
    ],
    key: Annotated[str | None, Option("--key", help="Its key, if it has one.", metavar="KEY")] = None,
    payload: Annotated[
        str | None,
        Option("--payload", "-p", help="Another payload: JSON, @FILE, or - for standard input.", metavar="JSON"),
    ] = None,
    fork_id: Annotated[
        str | None, Option("--id", help="The request's id: the same one sent twice makes one task.", metavar="TEXT")
    ] = None,
) -> Any:
    """Make a task like another that begins with its records before a step."""
    body: dict[str, Any] = {"from": step, "key": key, "id": fork_id}
    if payload is not None:
        body["payload"] = payload_of(payload, [])
    return client.post(f"/tasks/{id}/fork", body)


def _print_replay(told: dict[str, Any]) -> None:
    for line in told["lines"]:
        click.echo(line)


@server_command(show=_print_replay)
def replay(
    client: "ApiClient",
    id: TaskId,
    apps: Annotated[
        list[str],
        Argument(help="Where its code is: a file, a module or module:app.", metavar="APP", show_default=False),
    ],
) -> Any:
    """Run a task's code here against its records: no step runs, and nothing is written.

    Shows which records answered its calls, what it would do next, and where code and records differ. What the code does
    outside of steps is done for real.
    """
    from drumline.lifecycle.apps import load_apps
    from drumline.sdk.replay import Replay, ReplayedTask
    from drumline.sdk.replay import replay as run_replay

    task = client.get(f"/tasks/{id}")
    records = [_record_of(step) for step in timeline(client, id, MOST_RECORDS) if step["status"] != "waiting"]
    found = [app for app in load_apps(apps) if task["name"] in app.registry]
    if not found:
        raise NotFound(f"{', '.join(apps)} has no task named {task['name']!r}", field="app")
    from msgspec import Raw

    replayed = ReplayedTask(
        id=task["id"], name=task["name"], payload=Raw(json.dumps(task.get("payload")).encode()), records=records,
        queue=task["queue"], attempt=max(task["attempt"], 1),
    )  # fmt: skip
    told: Replay = asyncio.run(run_replay(found[0], replayed))
    stored = task.get("result") if task["status"] == "COMPLETED" else None
    result = None if told.result is None else json.loads(bytes(told.result))
    is_same = None if told.result is None or task["status"] != "COMPLETED" else result == stored
    return {
        "used": [_named(*named) for named in told.used],
        "new": [{"kind": new.kind, "name": new.name, "key": new.key or None, "reason": new.reason} for new in told.new],
        "unused": [_named(*named) for named in told.unused],
        "has_ended": told.has_ended,
        "result": result,
        "error": told.error or None,
        "is_same_result": is_same,
        "lines": _lines(told, is_same=is_same),
    }


def _lines(told: "Any", *, is_same: bool | None) -> list[str]:
    """Return how a replay ended as people read it."""
    lines = [f"recorded    {_text(*named)}" for named in told.used]
    for new in told.new:
        what = _WORDS.get(new.kind, "would wait")
        lines.append(f"{what:<12}{_text(new.name, new.key)}{f': {new.reason}' if new.reason else ''}")
    if told.has_ended:
        lines += [f"not used    {_text(*named)}" for named in told.unused]
    if told.error:
        lines.append(f"raised      {told.error}")
    elif told.result is not None:
        same = {None: "", True: ", as recorded", False: ", which differs from the recorded result"}[is_same]
        lines.append(f"returned    {bytes(told.result).decode()}{same}")
    return lines


def _text(name: str, key: str) -> str:
    return f"{name} [{key}]" if key else name


def _named(name: str, key: str) -> dict[str, str | None]:
    return {"name": name, "key": key or None}


def _record_of(step: dict[str, Any]) -> "Record":
    """Return a record from a row of the timeline."""
    from msgspec import Raw

    from drumline.core.durable import Record, RecordKind, RecordStatus

    value = step["result"] if step["error"] is None else step["error"]
    return Record(
        name=step["name"], key=step["key"] or "", kind=RecordKind[step["kind"].upper()],
        status=RecordStatus[step["status"].upper()], value=Raw(json.dumps(value).encode()), tries=step["tries"],
    )  # fmt: skip
