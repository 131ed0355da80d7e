"""Watching a job to its end: how many tasks have ended, which run, and what came out."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import click

from drumline.cli.commands import server_command
from drumline.cli.errors import exit_code_for
from drumline.cli.options import JobIds
from drumline.cli.output import print_json, print_json_line, say
from drumline.cli.tables import tidy
from drumline.cli.watch_many import WatchOptions, watch_all
from drumline.cli.watching import NEEDED, wait_for_end

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

WARN_SECONDS: Final = 5.0
"""How long a job may wait before the missing worker is reported."""
MOST_SHOWN: Final = 8
"""Running tasks that are named, and last tasks whose results are printed."""
MOST_FAILURES: Final = 5

Job = dict[str, Any]
Show = Callable[[Job], None]
"""Shows a job as it is now."""


@server_command()
def watch(client: "ApiClient", ids: JobIds, options: WatchOptions) -> None:
    """Watch jobs until they end; several are printed as each ends.

    On a terminal the results of its last tasks are printed, too, if there is one job.
    """
    watch_all(client, [f"/jobs/{one}" for one in ids], options, watch_job)


def watch_job(client: "ApiClient", path: str, options: WatchOptions) -> Job:
    """Show a job until it ends or the time is up, and return it."""
    from drumline.cli.client import retrying

    client.get(path)  # a server that cannot be reached now is not waited for
    client = retrying(client)
    with _display(client, as_json=options.as_json, as_jsonl=options.as_jsonl) as show:
        job = _wait_for_job(client, path, timeout=options.timeout, show=show)
    if options.as_json:
        print_json(job)
    elif not options.as_jsonl:
        _print_end(client, job)
    return job


def wait_for_results(client: "ApiClient", id: str, *, as_json: bool) -> None:
    """Wait for a job's end, print the results of its last tasks, and exit with its status."""
    from drumline.cli.client import retrying

    client = retrying(client)
    with _display(client, as_json=as_json, as_jsonl=False) as show:
        job = _wait_for_job(client, f"/jobs/{id}", timeout=None, show=show)
    if as_json:
        print_json(job)
    elif job["status"] == "COMPLETED":
        print_json(last_results(client, id))
    else:
        _print_end(client, job)
    raise click.exceptions.Exit(exit_code_for(job["status"]))


def last_results(client: "ApiClient", id: str) -> dict[str, Any]:
    """Return the results of the last tasks, those that no other needs, by key."""
    from drumline.core.graph import last_keys

    nodes = client.get(f"/jobs/{id}/graph")["nodes"]
    aside = {node["key"] for node in nodes if node["run_if"] != "all_succeeded"}
    meant = set(last_keys({node["key"]: node["needs"] for node in nodes}, aside))
    last = {node["task_id"]: node["key"] for node in nodes if node["key"] in meant and node["status"] == "COMPLETED"}
    if len(last) <= MOST_SHOWN:
        return {key: client.get(f"/tasks/{task}").get("result") for task, key in last.items()}
    tasks = client.pages("/tasks", limit=len(nodes), job=id, status="COMPLETED", payload="true")
    found = {task["id"]: task.get("result") for task in tasks if task["id"] in last}
    return {key: found.get(task) for task, key in last.items()}


def progress_of(job: Job) -> str:
    """Return the progress of a job as text."""
    counts = job["counts"]
    ended = counts["completed"] + counts["failed"] + counts["cancelled"] + counts["skipped"]
    words = [f"{ended:,}/{counts['total']:,} tasks"]
    words += [f"{counts[word]:,} {word}" for word in ("running", "failed", "skipped", "cancelled") if counts[word]]
    if job["waits_for"]:
        words.append(f"waits for {job['waits_for']} other job{'s' * (job['waits_for'] > 1)}")
    return ", ".join(words)


def _wait_for_job(client: "ApiClient", path: str, *, timeout: float | None, show: Show) -> Job:
    return wait_for_end(
        client,
        path,
        timeout=timeout,
        show=show,
        warn=_warn_if_no_worker,
        warn_after=WARN_SECONDS,
        is_waiting=lambda job: not job["counts"]["running"],
    )


def _warn_if_no_worker(client: "ApiClient", job: Job) -> None:
    if job["waits_for"]:
        say(f"It waits for other jobs: {', '.join(job['depends_on'])}")
        return
    known = {name for worker in client.get("/workers")["items"] for name in worker["types"]}
    nodes = client.get(f"/jobs/{job['id']}/graph")["nodes"]
    for name in sorted({node["name"] for node in nodes if node["status"] == "QUEUED"} - known):
        how = NEEDED.get(name, "drumline worker APP")
        say(f"No live worker has a task named {tidy(name)}; it waits for one: {how}")


@contextmanager
def _display(client: "ApiClient", *, as_json: bool, as_jsonl: bool) -> Iterator[Show]:
    """Give what shows a job: lines of JSON, a bar on the terminal with what runs, or nothing."""
    if as_jsonl:
        yield print_json_line
        return
    if as_json or not sys.stderr.isatty():
        yield lambda _job: None
        return
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.text import Text

    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=30), TimeElapsedColumn())
    bar = Progress(*columns)
    line = bar.add_task("")
    with Live(bar, console=Console(stderr=True), transient=True, refresh_per_second=4) as live:

        def show(job: Job) -> None:
            counts = job["counts"]
            ended = counts["completed"] + counts["failed"] + counts["cancelled"] + counts["skipped"]
            title = f"{tidy(job['name'])}  {job['status']}  {progress_of(job)}"
            bar.update(line, description=title, completed=ended, total=counts["total"])
            live.update(Group(bar, Text("\n".join(_running(client, job)))))

        yield show


def _running(client: "ApiClient", job: Job) -> list[str]:
    """Return a few of the tasks that run."""
    if not job["counts"]["running"]:
        return []
    tasks = client.get("/tasks", job=job["id"], status="PROCESSING", limit=MOST_SHOWN + 1)["items"]
    shown = [f"  ● {tidy(task['key'] or task['id'])}" + _again(task) for task in tasks[:MOST_SHOWN]]
    return shown + ["  …"] * (len(tasks) > MOST_SHOWN)


def _again(task: Job) -> str:
    return f"  attempt {task['attempt']} of {task['retries'] + 1}" if task["attempt"] > 1 else ""


def _print_end(client: "ApiClient", job: Job) -> None:
    click.echo(f"{job['id']}  {job['status']}")
    if job["status"] == "COMPLETED":
        results = last_results(client, job["id"]) if sys.stdout.isatty() else {}
        if 0 < len(results) <= MOST_SHOWN:
            print_json(results)
    elif job["status"] == "FAILED":
        _say_why(client, job)
    elif job["status"] == "CANCELLED":
        say(job["reason"] or "")
    else:
        say(f"The time is up; the job continues: {progress_of(job)}")


def _say_why(client: "ApiClient", job: Job) -> None:
    failed = client.get("/tasks", job=job["id"], status="FAILED", limit=MOST_FAILURES)["items"]
    for task in failed:
        error = task["error"] or {"kind": "Unknown", "message": ""}
        say(f"{tidy(task['key'])}: {error['kind']}: {tidy(error['message'].partition(chr(10))[0])}")
    more = job["counts"]["failed"] - len(failed)
    if more > 0:
        say(f"… and {more:,} more failed")
    if job["reason"]:
        say(tidy(job["reason"]))
        say(f"When that one has been resumed and has completed: drumline jobs resume {job['id']}")
        return
    say(f"More: drumline jobs graph {job['id']}; run it again from there: drumline jobs resume {job['id']}")
