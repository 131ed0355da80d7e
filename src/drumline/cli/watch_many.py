"""Watching tasks and jobs: the flags of it, and several at once, each printed as it ends."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Final

import click

from drumline.cli.commands import Flags, flags
from drumline.cli.errors import ExitCode, exit_code_for
from drumline.cli.options import GiveUp, Json, Jsonl
from drumline.cli.output import Form, OutputFormat, print_json, print_json_line, say
from drumline.cli.parameters import Option
from drumline.core.errors import Invalid

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

ENDED: Final = frozenset({"COMPLETED", "FAILED", "CANCELLED", "SKIPPED"})
MOST: Final = 100
POLL_SECONDS: Final = 1.0
WORST_FIRST: Final = (ExitCode.TASK_FAILED, ExitCode.TASK_CANCELLED, ExitCode.TIMED_OUT)

Item = dict[str, Any]


@flags
class WatchOptions(Flags):
    """How tasks and jobs are watched."""

    exit_status: Annotated[
        bool, Option("--exit-status", help="End as what is watched ends: 0 completed, 5 failed, 6 cancelled.")
    ] = False
    timeout: GiveUp = None
    as_json: Json = False
    as_jsonl: Jsonl = False


def watch_all(
    client: "ApiClient",
    paths: list[str],
    options: WatchOptions,
    watch_one: "Callable[[ApiClient, str, WatchOptions], Item]",
) -> None:
    """Watch tasks and jobs, such as `/tasks/ID`, until all have ended or the time is up; exit accordingly.

    Several are printed as each ends; `watch_one` shows a single one and returns it as it was last.
    """
    if len(paths) > 1:
        _watch_many(client, paths, options)
        return
    code = exit_code_for(watch_one(client, paths[0], options)["status"])
    if options.exit_status or code is ExitCode.TIMED_OUT:
        raise click.exceptions.Exit(code)


def _watch_many(client: "ApiClient", paths: list[str], options: WatchOptions) -> None:
    from drumline.cli.client import retrying

    form = Form.of(as_json=options.as_json, as_jsonl=options.as_jsonl)
    wanted = list(dict.fromkeys(paths))
    if len(wanted) > MOST:
        raise Invalid(f"at most {MOST} can be watched at once; {len(wanted)} were given")
    found = {one: client.get(one) for one in wanted}
    deadline = None if options.timeout is None else time.monotonic() + options.timeout
    patient = retrying(client, deadline=deadline)
    shown: set[str] = set()
    while True:
        for one in [each for each in wanted if each not in shown and found[each]["status"] in ENDED]:
            shown.add(one)
            _print_end(found[one], form)
        waiting = [one for one in wanted if one not in shown]
        left = POLL_SECONDS if deadline is None else min(POLL_SECONDS, deadline - time.monotonic())
        if not waiting or left <= 0:
            break
        # The first is waited for, which lets the time pass; the others are looked at once in each round.
        for place, one in enumerate(waiting):
            found[one] = patient.get(one, wait=left if place == 0 else None)
    _finish([found[one] for one in wanted], waiting, form)
    codes = {exit_code_for(item["status"]) for item in found.values()}
    if options.exit_status or waiting:
        worst = next((code for code in WORST_FIRST if code in codes), ExitCode.OK)
        raise click.exceptions.Exit(worst if options.exit_status else ExitCode.TIMED_OUT)


def _print_end(item: Item, form: Form) -> None:
    if form.output is OutputFormat.JSONL:
        print_json_line(item)
    elif form.output is None:
        click.echo(f"{item['id']}  {item['status']}  {item['name']}")


def _finish(items: list[Item], waiting: list[str], form: Form) -> None:
    if form.output is OutputFormat.JSON:
        print_json(items)
    if waiting:
        say(f"The time is up; {len(waiting)} of {len(items)} have not ended, and continue.")
