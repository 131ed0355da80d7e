"""Commands that change tasks: cancel, retry and reschedule, by id or by filter."""

from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.bulk_running import BulkOptions, run_bulk
from drumline.cli.commands import Flags, checked_status, do_each, flags, server_command
from drumline.cli.filtering import ErrorText, FilterText, Since, Until, terms
from drumline.cli.options import Statuses, Tag
from drumline.cli.output import Form, confirm, print_list, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.task_columns import COLUMNS
from drumline.cli.terminal import STATUSES
from drumline.cli.times import Toward, optional_moment, span_of
from drumline.core.errors import Invalid

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

Queue = Annotated[
    str | None, Option("--queue", "-q", help="Only this queue.", metavar="NAME", complete=completing.queues)
]
Name = Annotated[
    str | None, Option("--name", "-n", help="Only this task name.", metavar="NAME", complete=completing.task_names)
]


SomeIds = Annotated[
    list[str] | None,
    Argument(help="Ids of tasks.", metavar="[ID]...", show_default=False, complete=completing.tasks, ids_of="tasks"),
]


def _print_done(tasks: list[dict[str, Any]]) -> None:
    for task in tasks:
        click.echo(f"{task['id']}  {task['status']}")
    if any(task["status"] == "PROCESSING" and task["cancel_requested"] for task in tasks):
        say("Its worker is told to stop it; --force ends a running task now.")


@flags
class TaskFilter(Flags):
    """Which tasks are meant, if not by their ids."""

    status: Statuses = None
    queue: Queue = None
    name: Name = None
    tag: Tag = None
    key: Annotated[str | None, Option("--key", help="Only with this idempotency key.", metavar="KEY")] = None
    worker: Annotated[
        str | None, Option("--worker", help="Only held by this worker.", metavar="ID", complete=completing.workers)
    ] = None
    since: Since = None
    until: Until = None
    error: ErrorText = None
    filter: FilterText = None
    rate: Annotated[float | None, Option("--rate", help="With filters: how many a second.", metavar="N")] = None

    def request(self, ids: list[str] | None, act: str) -> dict[str, Any] | None:
        """Return the bulk operation that filters ask for; None if ids are given. Raise `Invalid` unless it is clear."""
        wanted = {
            "status": [checked_status(one, STATUSES) for one in self.status or ()] or None,
            "queue": self.queue, "name": self.name, "tag": self.tag,
            "idempotency_key": self.key, "worker": self.worker,
            "expression": terms(self.filter, error=self.error, since=self.since, until=self.until),
        }  # fmt: skip
        chosen = {name: value for name, value in wanted.items() if value is not None}
        if bool(ids) == bool(chosen):
            raise Invalid("say which: ids, or filters such as --queue, --name and --filter")
        return None if ids else {"act": act, "filter": chosen, "rate": self.rate}


@server_command()
def cancel(
    client: "ApiClient",
    ids: SomeIds = None,
    *,
    filter: TaskFilter,
    force: Annotated[bool, Option("--force", help="End running ones now, whatever their worker does.")] = False,
    options: BulkOptions,
) -> None:
    """Cancel tasks by id or by filter: waiting ones at once, running ones as soon as their worker hears of it."""
    many = filter.request(ids, "cancel")
    if many is not None:
        run_bulk(client, "cancel", "/bulk", {**many, "force": force or None}, options, noun="task")
        return
    if options.dry_run:
        _print_dry_run(client, ids or [], "would be cancelled", as_json=options.as_json)
        return
    confirm(f"Cancel {_count(ids or [])}?", yes=options.yes)
    body = {"force": force}
    with client.because(options.reason):
        do_each(ids or [], lambda one: client.post(f"/tasks/{one}/cancel", body), _print_done, as_json=options.as_json)


@server_command()
def retry(client: "ApiClient", ids: SomeIds = None, *, filter: TaskFilter, options: BulkOptions) -> None:
    """Run failed, cancelled or skipped tasks again, by id or by filter."""
    many = filter.request(ids, "retry")
    if many is not None:
        run_bulk(client, "retry", "/bulk", many, options, noun="task")
        return
    if options.dry_run:
        _print_dry_run(client, ids or [], "would run again", as_json=options.as_json)
        return
    with client.because(options.reason):
        do_each(ids or [], lambda one: client.post(f"/tasks/{one}/retry"), _print_done, as_json=options.as_json)


@server_command()
def reschedule(
    client: "ApiClient",
    ids: SomeIds = None,
    *,
    filter: TaskFilter,
    at: Annotated[
        str | None, Option("--at", help="When to run: tomorrow 09:00, 2026-01-02T03:04Z.", metavar="TIME")
    ] = None,
    delay: Annotated[str | None, Option("--delay", help="How far from now: 90, 1h30m.", metavar="TIME")] = None,
    priority: Annotated[
        str | None,
        Option(
            "--priority",
            help="-100 to 100, or critical, high, normal, low.",
            metavar="PRIORITY",
            complete=completing.PRIORITIES,
        ),
    ] = None,
    options: BulkOptions,
) -> None:
    """Change when waiting tasks run, or their priority, by id or by filter."""
    asked = {
        "run_at": optional_moment(at, flag="--at", toward=Toward.FUTURE),
        "delay": None if delay is None else span_of(delay, flag="--delay", toward=Toward.FUTURE),
        "priority": priority,
    }
    change = {name: value for name, value in asked.items() if value is not None}
    if not change:
        raise Invalid("give --at, --delay or --priority")
    many = filter.request(ids, "reschedule")
    if many is not None:
        run_bulk(client, "reschedule", "/bulk", {**many, **change}, options, noun="task")
        return
    if options.dry_run:
        _print_dry_run(client, ids or [], "would be changed", as_json=options.as_json)
        return
    with client.because(options.reason):
        do_each(ids or [], lambda one: client.patch(f"/tasks/{one}", change), _print_done, as_json=options.as_json)


def _print_dry_run(client: "ApiClient", ids: list[str], outcome: str, *, as_json: bool) -> None:
    tasks = [client.get(f"/tasks/{one}") for one in ids]
    print_list(tasks, COLUMNS, Form.of(as_json=as_json), nothing="")
    say(f"{_count(ids).capitalize()} {outcome}, as far as the state allows; nothing was changed.")


def _count(ids: list[str]) -> str:
    return f"task {ids[0]}" if len(ids) == 1 else f"{len(ids)} tasks"
