"""Print a task: its status, its payload, and how each attempt ended."""

import json
import re
import time
from typing import Any

import click

from drumline.cli.tables import Column, between, print_fitted, relative, since_epoch, size, span, terminal_width, tidy
from drumline.cli.terminal import STATUS_COLOURS, is_terminal, painted, safe

LABEL = 10
SHORT_JSON = 100
"""JSON of up to so many characters is printed on one line, if there is room."""

BAR = 20
"""How long a bar is."""

EXECUTION = (
    Column("#", "attempt", rank=9),
    Column("OUTCOME", "outcome", rank=8),
    Column("STARTED_AT", "started_at", rank=6, is_time=True),
    Column("TOOK", lambda attempt: between(attempt["started_at"], attempt["finished_at"]), rank=5),
    Column("WORKER", "worker", rank=4),
)
ATTEMPTS = (
    *EXECUTION,
    Column("ERROR", lambda attempt: first_line(attempt["error"]), rank=9, least=16, is_news=True),
)


def error_line(failure: dict[str, Any]) -> str:
    """Return the error of a failure, or of a group of them, in one line: its class and the first line of its text."""
    return f"{failure['kind']}: {failure['message']}".partition("\n")[0]


def sentence_of(reason: dict[str, Any]) -> str:
    """Return a reason why something waits as a sentence, with when it will be over where that is known."""
    text, until = tidy(reason["text"]), relative(reason["until"])
    return f"{text[:1].upper()}{text[1:]}{f' ({until})' if until else ''}."


def print_task(task: dict[str, Any], attempts: list[dict[str, Any]], artifacts: list[dict[str, Any]]) -> None:
    """Print everything about a task that is worth reading; what is as usual is left out."""
    print_line("id", task["id"])
    print_line("status", painted(shown_status(task), STATUS_COLOURS.get(task["status"]), bold=True) + _remark(task))
    print_line("name", tidy(task["name"]))
    print_line("queue", task["queue"] + (f", priority {task['priority']}" if task["priority"] else ""))
    _print_times(task)
    print_line("attempt", attempt_text(task) + (f", on {task['worker']}" if task["worker"] else ""))
    print_line("progress", progress_text(task))
    print_line("timeout", None if task["timeout"] is None else span(task["timeout"]))
    print_line("tags", ", ".join(task["tags"]))
    print_line("key", task["idempotency_key"])
    print_line("fork of", task.get("forked_from"))
    print_line("shard", task.get("shard"))
    print_cause(task)
    for artifact in artifacts:
        print_line("artifact", f"{tidy(artifact['name'])}  {size(artifact['size'])}  {artifact['content_type']}")
    if len(attempts) > 1 or any(attempt["error"] for attempt in attempts):
        click.echo()
        print_fitted(attempts, ATTEMPTS)


def print_cause(task: dict[str, Any]) -> None:
    """Print what a task was given, what it returned, and its error."""
    for name in ("payload", "result"):
        if name in task:
            _print_block(name, _json(task[name]))
    if task["error"]:
        _print_block("error", f"{task['error']['kind']}: {task['error']['message']}".rstrip())
        _print_block("", task["error"]["traceback"].rstrip())


def shown_status(task: dict[str, Any]) -> str:
    """Return the status of a task as people read it: a durable task that is not due waits."""
    return "WAITING" if task.get("is_waiting") else str(task["status"])


def attempt_text(task: dict[str, Any]) -> str:
    """Return the number of a task's attempt, and of how many; a retry by hand starts the count again."""
    most = task["retries"] + 1
    return f"{task['attempt']} of {most}" if task["attempt"] <= most else str(task["attempt"])


def progress_text(task: dict[str, Any]) -> str | None:
    """Return the progress that a running task reported: a bar where the total is known, and its message."""
    progress = task.get("progress")
    if progress is None:
        return None
    done, total = progress["done"], progress["total"]
    if not total:
        return f"{done:,g} {tidy(progress['message'])}".rstrip()
    share = min(max(done / total, 0.0), 1.0)
    bar = "█" * int(share * BAR) + "░" * (BAR - int(share * BAR))
    return f"{bar} {share:.0%} ({done:,g} of {total:,g}) {tidy(progress['message'])}".rstrip()


def first_line(error: dict[str, Any] | None) -> str | None:
    """Return an error in one line."""
    return None if error is None else f"{error['kind']}: {error['message']}".partition("\n")[0]


def _remark(task: dict[str, Any]) -> str:
    if task["status"] == "PROCESSING":
        return "  (asked to stop)" if task["cancel_requested"] else ""
    is_again = not task.get("is_waiting") and task["status"] in {"PENDING", "QUEUED"} and task["attempt"] > 0
    return "  (to be tried again)" if is_again else ""


def _print_times(task: dict[str, Any]) -> None:
    print_line("created", shown_moment(task["created_at"]))
    if task["due_at"] and (task["finished_at"] is None or task["due_at"] > task["created_at"]):
        print_line("due", shown_moment(task["due_at"]))
    print_line("started", shown_moment(task["started_at"]))
    took = between(task["started_at"], task["finished_at"])
    print_line(
        "finished",
        shown_moment(task["finished_at"]) + (f", took {took}" if took else "") if task["finished_at"] else None,
    )
    if task["status"] == "PROCESSING" and task["started_at"]:
        print_line("running", f"for {span(max(time.time() - since_epoch(task['started_at']), 0.0))}")


def shown_moment(moment: str | None) -> str:
    """Return a time as a page shows it."""
    if moment is None:
        return ""
    return f"{moment}  ({relative(moment)})" if is_terminal() else moment


def print_line(label: str, text: str | None) -> None:
    """Print a line with its label, if there is anything to print."""
    if text:
        click.echo(f"{label:<{LABEL}} {safe(text, colours=True)}")


def _print_block(label: str, text: str) -> None:
    """Print a text of several lines, each under the other."""
    for number, line in enumerate(re.split(r"\r?\n", text) if text else ()):
        click.echo(f"{'' if number else label:<{LABEL}} {tidy(line.expandtabs(4))}".rstrip())


def _json(value: object) -> str:
    short = json.dumps(value, ensure_ascii=False)
    room = min(SHORT_JSON, terminal_width() - LABEL - 1) if is_terminal() else SHORT_JSON
    return short if len(short) <= room else json.dumps(value, ensure_ascii=False, indent=2)
