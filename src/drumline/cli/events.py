"""Commands about events: follow what changes, and see who passes it on."""

import json
import time
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import click

from drumline.cli import completing
from drumline.cli.commands import group, list_command, segment, server_command
from drumline.cli.options import Jsonl, Yes
from drumline.cli.output import confirm, print_json, print_json_line, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.tables import Column, span, tidy
from drumline.core.errors import Overloaded, Unavailable

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

PAUSES = (0.5, 1.0, 2.0, 5.0)
"""Seconds before a stream that broke is opened again, the last of them again and again."""
TYPE_WIDTH = 20

app = group("List consumers of the event log, and their lag.")

COLUMNS = (
    Column("NAME", "name", rank=9),
    Column("BEHIND", "behind", rank=8),
    Column("OLDEST_AT", "oldest_at", rank=7, is_time=True),
    Column("MOVED_AT", "moved_at", rank=6, is_time=True),
    Column("POSITION", "position", rank=5),
)

Several = list[str] | None


@server_command()
def events(
    client: "ApiClient",
    type: Annotated[
        Several,
        Option(
            "--type",
            "-t",
            help="A kind such as task.failed, or task for all of them.",
            metavar="TYPE",
            complete=completing.event_types,
        ),
    ] = None,
    name: Annotated[Several, Option("--name", help="Of tasks, jobs or schedules of this name.", metavar="NAME")] = None,
    queue: Annotated[
        Several, Option("--queue", "-q", help="Of tasks in this queue.", metavar="NAME", complete=completing.queues)
    ] = None,
    job: Annotated[
        Several, Option("--job", help="Of this job and its tasks.", metavar="ID", complete=completing.jobs)
    ] = None,
    tag: Annotated[Several, Option("--tag", help="Of what has this tag.", metavar="TAG")] = None,
    status: Annotated[
        Several,
        Option(
            "--status",
            help="Of tasks with this status after the change.",
            metavar="STATUS",
            complete=completing.statuses,
        ),
    ] = None,
    subject: Annotated[Several, Option("--subject", help="Of this task, job, worker …", metavar="ID")] = None,
    after: Annotated[
        str | None, Option("--after", help="Begin after this event instead of now.", metavar="EVENT-ID")
    ] = None,
    count: Annotated[int | None, Option("--count", "-n", help="Stop after so many.", min=1, metavar="N")] = None,
    as_json: Annotated[bool, Option("--json", help="Print each event as a JSON document.")] = False,
    as_jsonl: Jsonl = False,
) -> None:
    """Follow events as they happen.

    All flags must match, and one of the values of a repeated flag.

    A connection that breaks is opened again where it was, so nothing is missed.
    """
    wanted = {
        "type": type, "name": name, "queue": queue, "job": job, "tag": tag, "status": status, "subject": subject,
    }  # fmt: skip
    warn_of_unknown_types(type or [])
    show = print_json if as_json else print_json_line if as_jsonl else _print
    for number, event in enumerate(_followed(client, wanted, after), 1):
        show(event)
        if number == count:
            return


def warn_of_unknown_types(patterns: Iterable[str]) -> None:
    """Warn of types that no event of this version has; a newer server may have more."""
    from fnmatch import fnmatchcase

    from drumline.core.event_types import DEAD_LETTERS, FACTS, TASK_CHANGES
    from drumline.core.json_errors import suggestion

    known = [name.removeprefix("drumline.") for name in (*TASK_CHANGES, *FACTS, *DEAD_LETTERS)]
    for pattern in patterns:
        wanted = pattern.removeprefix("drumline.")
        is_known = any(fnmatchcase(name, wanted) or name.startswith(f"{wanted}.") for name in known)
        if wanted.islower() and not is_known:  # what cannot be a type is refused by the server
            say(f"Warning: no type of event is called {pattern}{suggestion(wanted, known)}")


@list_command(app, "list", COLUMNS, empty="No consumers: neither Kafka nor a notifier is configured.")
def list_consumers(client: "ApiClient") -> Any:
    """List consumers of the event log, such as the relay to Kafka, and the position of each."""
    return client.get("/events/consumers")["items"]


@server_command(app, reason=True)
def forget(
    client: "ApiClient",
    name: Annotated[str, Argument(help="The consumer's name.", metavar="NAME", show_default=False)],
    yes: Yes = False,
) -> None:
    """Delete a consumer that will not come back: no events are kept for it. Should it come back, it starts anew."""
    confirm(f"Forget {name}? Events that it has not passed on may be dropped.", yes=yes)
    client.delete(f"/events/consumers/{segment(name)}")
    say(f"{name} is forgotten.")


def _followed(client: "ApiClient", wanted: dict[str, Several], after: str | None) -> Iterator[dict[str, Any]]:
    """Yield events, opening the stream again whenever it breaks or ends."""
    from drumline.cli.client import NoAnswer

    pauses = iter(PAUSES)
    client.get("/me")  # whoever cannot be reached now is not waited for
    while True:
        try:
            for message in _messages(client.stream("/events", last_event_id=after, **wanted)):
                pauses = iter(PAUSES)
                after = message.get("id", after)
                kind = message.get("event", "")
                if kind.startswith("drumline."):
                    yield json.loads(message["data"])
                elif kind == "resync":
                    say("Some events were missed: they are not kept any more.")
        except NoAnswer:
            continue
        except (Unavailable, Overloaded) as error:
            say(f"{error.message.splitlines()[0]}; trying again")
        time.sleep(next(pauses, PAUSES[-1]))


def _messages(pieces: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield the messages of a stream, as fields by name; comments are passed over."""
    rest = ""
    for piece in pieces:
        *blocks, rest = (rest + piece).split("\n\n")
        for block in blocks:
            fields = dict(
                line.split(": ", 1) for line in block.splitlines() if not line.startswith(":") and ": " in line
            )
            if fields:
                yield fields


def _print(event: dict[str, Any]) -> None:
    kind = event["type"].removeprefix("drumline.")
    text = f"{kind:<{TYPE_WIDTH}}  {event['subject']}{_details(event['data'])}"
    click.echo(f"{event['time'][11:23]}  {tidy(text)}")


def _details(data: dict[str, Any]) -> str:
    words = [str(data[word]) for word in ("name", "queue", "host", "reason") if data.get(word)]
    if data.get("attempt"):
        words.append(f"attempt {data['attempt']}")
    if data.get("duration") is not None:
        words.append(span(data["duration"]))
    if data.get("error"):
        words.append(
            f"{data['error']['kind']}: {data['error']['message'].splitlines()[0] if data['error']['message'] else ''}"
        )
    return f"  {'  '.join(words)}" if words else ""
