"""Submitting tasks: one from the command line, or many from a file with one JSON object per line."""

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.commands import server_command
from drumline.cli.errors import ExitCode
from drumline.cli.options import DryRun, Json, Jsonl
from drumline.cli.output import print_json, print_json_line, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.streams import read_stdin
from drumline.cli.tables import tidy
from drumline.cli.times import Toward, duration, optional_moment, span_of
from drumline.core.errors import DrumlineError, Invalid

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

LARGEST_BATCH = 10_000
MOST_WARNINGS = 20
UNKNOWN_TYPE = "unknown_type"
COLLAPSE_FIELDS = ("debounce", "throttle", "singleton", "unique", "key", "at_most", "keep")
COLLAPSED = {
    "replaced": "An earlier task of its key waits: it has this payload now.",
    "postponed": "An earlier task of its key waits: it was put off.",
    "dropped": "An earlier task with this key exists: nothing was changed.",
}
TASK_PATH = r"^tasks\[\d+\]\.?"
"""Where in its batch the server found a fault; the person knows it by its line."""


@server_command()
def submit(
    client: "ApiClient",
    name: Annotated[
        str | None,
        Argument(
            help="The task's name, such as hello.add or shell.",
            metavar="NAME",
            show_default=False,
            complete=completing.task_names,
        ),
    ] = None,
    payload: Annotated[
        str | None, Option("--payload", "-p", help="JSON, @FILE, or - for standard input.", metavar="JSON")
    ] = None,
    arguments: Annotated[
        list[str] | None,
        Option("--arg", "-a", help="One argument; its value is JSON, or else text.", metavar="NAME=VALUE"),
    ] = None,
    queue: Annotated[
        str | None,
        Option(
            "--queue",
            "-q",
            help="The queue. [default: as the task's code declares, or default]",
            metavar="NAME",
            complete=completing.queues,
        ),
    ] = None,
    priority: Annotated[
        str | None,
        Option(
            "--priority",
            help="-100 to 100, or critical, high, normal, low.",
            metavar="PRIORITY",
            complete=completing.PRIORITIES,
        ),
    ] = None,
    delay: Annotated[str | None, Option("--delay", help="How long to wait: 90, 1h30m.", metavar="TIME")] = None,
    at: Annotated[
        str | None, Option("--at", help="When to run: tomorrow 09:00, 2026-01-02T03:04Z.", metavar="TIME")
    ] = None,
    retries: Annotated[
        int | None,
        Option("--retries", help="How often to try again. [default: as the task's code declares, or 3]", metavar="N"),
    ] = None,
    backoff: Annotated[
        float | None,
        Option("--backoff", help="Seconds before the first retry; each further one waits twice as long.", min=0),
    ] = None,
    timeout: Annotated[str | None, Option("--timeout", help="How long it may take.", metavar="TIME")] = None,
    key: Annotated[str | None, Option("--key", help="Idempotency key.", metavar="KEY")] = None,
    tags: Annotated[list[str] | None, Option("--tag", help="A tag; may be repeated.", metavar="TAG")] = None,
    limit_key: Annotated[
        str | None, Option("--limit-key", help="Whose limit it counts to: a customer, say.", metavar="KEY")
    ] = None,
    expires: Annotated[
        str | None,
        Option("--expires", help="Cancel it if it has not started so long after it was due.", metavar="TIME"),
    ] = None,
    collapse: Annotated[
        str | None,
        Option(
            "--collapse",
            help="Merge it with an earlier task: debounce=5s,key=invoice-7,at_most=1m; throttle=1m; "
            "singleton=running; unique=1d.",
            metavar="RULE",
        ),
    ] = None,
    notify: Annotated[
        list[str] | None,
        Option("--notify", help="Who is notified when it ends; may be repeated.", metavar="URL|EMAIL"),
    ] = None,
    file: Annotated[
        str | None,
        Option("--file", "-f", help="Submit every line of a JSONL file, - for standard input.", metavar="FILE"),
    ] = None,
    batch_size: Annotated[
        int, Option("--batch-size", help="Tasks per request, with --file.", min=1, max=LARGEST_BATCH, metavar="N")
    ] = 1000,
    wait: Annotated[bool, Option("--wait", "-w", help="Wait for its end, and print its result.")] = False,
    dry_run: DryRun = False,
    as_json: Json = False,
    as_jsonl: Jsonl = False,
) -> None:
    """Submit a task and print its id; with --file, submit many."""
    options = {
        "queue": queue, "priority": priority, "retries": retries, "timeout": duration(timeout, flag="--timeout"),
        "delay": None if delay is None else span_of(delay, flag="--delay", toward=Toward.FUTURE),
        "run_at": optional_moment(at, flag="--at", toward=Toward.FUTURE),
        "idempotency_key": key, "tags": tags, "limit_key": limit_key, "backoff": backoff,
        "expires": duration(expires, flag="--expires"),
        "collapse": None if collapse is None else _collapse(collapse),
        "notify": None if notify is None else [_target(text) for text in notify],
    }  # fmt: skip
    given = {option: value for option, value in options.items() if value is not None}
    if file is not None:
        if name is not None or given or payload or arguments or wait or dry_run:
            raise Invalid("--file takes everything from the file's lines, and goes with no other option")
        _submit_file(client, file, batch_size, as_json=as_json, as_jsonl=as_jsonl)
        return
    if name is None:
        raise Invalid("give the task's name, or --file")
    task = {"name": name, "payload": payload_of(payload, arguments or []), **given}
    if dry_run:
        print_json(task)
        say("This would be sent to POST /api/v1/tasks; nothing was submitted.")
        return
    answer = client.post("/tasks", task)
    print_warnings(client, answer.get("warnings", ()), names=[name])
    if not wait:
        _print_submitted(answer, as_json=as_json or as_jsonl)
        return
    from drumline.cli.watching import wait_for_result

    say(f"Submitted {answer['id']}")  # for later; only the result goes to standard output
    wait_for_result(client, answer["id"], as_json=as_json or as_jsonl)


def _print_submitted(answer: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(answer)
        return
    click.echo(answer["id"])
    if answer.get("collapsed"):
        say(COLLAPSED.get(answer["collapsed"], "It made no task of its own."))
    elif not answer.get("created", True):
        say("This idempotency key was used before: it is the same task.")


def _collapse(text: str) -> dict[str, str]:
    """Return a collapse rule as it is written on the command line: `debounce=5s,key=invoice-7`."""
    rule: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or name.strip() not in COLLAPSE_FIELDS:
            raise Invalid(f"--collapse {text}: write it as NAME=VALUE,… with names of {', '.join(COLLAPSE_FIELDS)}")
        rule[name.strip()] = value.strip()
    return rule


def _target(text: str) -> dict[str, str]:
    """Return a notification target: a URL is a webhook, anything else a mail address."""
    return {"webhook": text} if text.startswith(("http://", "https://")) else {"email": text}


def payload_of(payload: str | None, arguments: list[str]) -> Any:
    """Return a payload as it was given on the command line: whole, or argument by argument."""
    from drumline.cli.client import read_json

    if payload is not None and arguments:
        raise Invalid("give --payload or --arg, not both")
    if payload is None:
        return dict(_argument(text) for text in arguments)
    if payload == "-":
        payload = read_stdin("--payload")
    elif payload.startswith("@"):
        payload = read_text_file(payload[1:])
    return read_json(payload, field="--payload")


def _argument(text: str) -> tuple[str, Any]:
    import json

    from drumline.cli.client import refuse_constant

    name, equals, value = text.partition("=")
    if not equals or not name:
        raise Invalid(f"--arg {text}: write it as NAME=VALUE")
    try:
        return name, json.loads(value, parse_constant=refuse_constant)
    except ValueError:
        return name, value


def read_text_file(name: str) -> str:
    """Return the text of a file, or raise `Invalid`."""
    try:
        return Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise Invalid(f"{name} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Invalid(f"{name} cannot be read: it is not UTF-8") from error


def _submit_file(client: "ApiClient", file: str, batch_size: int, *, as_json: bool, as_jsonl: bool) -> None:
    lines = (read_stdin("--file") if file == "-" else read_text_file(file)).splitlines()
    answers: list[dict[str, Any]] = []
    warnings: list[dict[str, Any]] = []
    names: set[str] = set()
    for batch in _with_progress(_batches(_read_lines(lines), batch_size), sum(1 for line in lines if line.strip())):
        reply = _send(client, batch, done=len(answers))
        for (number, _), answer in zip(batch, reply, strict=True):
            warnings += [{**each, "field": f"line {number}, {each['field']}"} for each in answer.get("warnings", ())]
            if "error" in answer:
                say(f"Line {number}: {re.sub(TASK_PATH, '', answer['error']['detail'])}")
        if not as_json:
            _print_answers(reply, as_jsonl=as_jsonl)
        answers += reply
        names |= {str(task.get("name")) for _, task in batch if isinstance(task, dict)}
    print_warnings(client, warnings, names=sorted(names))
    if as_json:
        print_json(answers)
    refused = sum(1 for answer in answers if "error" in answer)
    if refused:
        say(f"Refused and not stored: {refused:,} of {len(answers):,}.")
        raise click.exceptions.Exit(ExitCode.FAILED)


def _send(client: "ApiClient", batch: list[tuple[int, Any]], *, done: int) -> list[dict[str, Any]]:
    try:
        answers: list[dict[str, Any]] = client.post("/tasks/batch", {"tasks": [task for _, task in batch]})["tasks"]
    except DrumlineError:
        first, last = batch[0][0], batch[-1][0]
        say(f"Answered before that: {done:,}. Lines {first:,} to {last:,}: unknown. Those after: not sent.")
        raise
    return answers


def _print_answers(answers: list[dict[str, Any]], *, as_jsonl: bool) -> None:
    for answer in answers:
        if as_jsonl:
            print_json_line(answer)
        elif "id" in answer:
            click.echo(answer["id"])


def _read_lines(lines: list[str]) -> Iterator[tuple[int, Any]]:
    from drumline.cli.client import read_json

    # All lines are read before the first is sent: a broken file submits nothing.
    read = [(number, read_json(line, field=f"line {number}")) for number, line in enumerate(lines, 1) if line.strip()]
    yield from read


def _batches(tasks: Iterator[tuple[int, Any]], size: int) -> Iterator[list[tuple[int, Any]]]:
    from itertools import islice

    while batch := list(islice(tasks, size)):
        yield batch


def _with_progress(batches: Iterator[list[tuple[int, Any]]], total: int) -> Iterator[list[tuple[int, Any]]]:
    """Show on a terminal how far it is."""
    if not sys.stderr.isatty() or total < 2:
        yield from batches
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("Submitting"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("", total=total)
        for batch in batches:
            yield batch
            progress.advance(bar, len(batch))


def print_warnings(
    client: "ApiClient", warnings: Iterable[dict[str, Any]], *, names: Iterable[str], where: str = ""
) -> None:
    """Print the server's warnings; for an unknown task name also the nearest known one."""
    warnings = list(warnings)
    for warning in warnings[:MOST_WARNINGS]:
        say(f"Warning: {where}{tidy(_words(warning))}")
    if len(warnings) > MOST_WARNINGS:
        say(f"Warning: {len(warnings) - MOST_WARNINGS:,} more like these")
    if any(warning["code"] == UNKNOWN_TYPE for warning in warnings):
        _suggest(client, names)


def warn_of_unknown(client: "ApiClient", name: str) -> None:
    """Warn of a task's name that no live worker has."""
    known = _known(client)
    if known and name not in known:
        say(f"Warning: no live worker has a task named {tidy(name)}: it waits for one")
        _suggest(client, [name], known)


def _words(warning: dict[str, Any]) -> str:
    field, message = warning.get("field") or "", warning["message"]
    return (
        message if warning["code"] == UNKNOWN_TYPE and field == "name" else f"{field}: {message}" if field else message
    )


def _suggest(client: "ApiClient", names: Iterable[str], known: list[str] | None = None) -> None:
    from drumline.core.json_errors import suggestion

    known = _known(client) if known is None else known
    for name in dict.fromkeys(names):
        if name not in known and (near := suggestion(name, known)):
            say(f"         {tidy(name)}{near}")


def _known(client: "ApiClient") -> list[str]:
    """Return the task names of live workers; none if the key may not list them."""
    try:
        return [type_["name"] for type_ in client.get("/types")["items"]]
    except DrumlineError:
        return []
