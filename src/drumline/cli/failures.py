"""Commands about tasks that failed for good: list, retry, discard and purge them."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any, Final

import click

from drumline.cli import completing
from drumline.cli.bulk_running import BulkOptions, run_bulk
from drumline.cli.commands import Flags, flags, group, list_command, segment, server_command
from drumline.cli.describing import error_line, print_line, print_task
from drumline.cli.failure_groups import ack, describe_group, ignore, reopen, resolve
from drumline.cli.filtering import ErrorText, FilterText, Sort, sorted_by, terms
from drumline.cli.options import Limit, Tag
from drumline.cli.output import print_json, say
from drumline.cli.parameters import Argument, Option
from drumline.cli.short_ids import resolved
from drumline.cli.tables import Column
from drumline.cli.times import Toward, moment, optional_moment, span_of
from drumline.core.errors import Invalid, NotFound

if TYPE_CHECKING:
    from drumline.cli.client import ApiClient

app = group("List, retry and discard failed tasks.")
for _name, _command in {"ack": ack, "resolve": resolve, "ignore": ignore, "reopen": reopen}.items():
    app.add(_name)(_command)


COLUMNS = (
    Column("ID", "id", rank=9),
    Column("FAILED_AT", "failed_at", rank=6, is_time=True),
    Column("NAME", "name", rank=7, least=8),
    Column("QUEUE", "queue", rank=3, least=8),
    Column("REASON", "reason", rank=2),
    Column("ATTEMPTS", "attempts", rank=1),
    Column("FINGERPRINT", "fingerprint", rank=4),
    Column("ERROR", error_line, rank=8, least=20),
)
GROUPS = (
    Column("FINGERPRINT", "fingerprint", rank=9),
    Column("STATE", "state", rank=8),
    Column("COUNT", lambda group: f"{group['count']:,}", rank=9),
    Column("LAST_AT", "last_at", rank=7, is_time=True),
    Column("FIRST_AT", "first_at", rank=4, is_time=True),
    Column("TASKS", lambda group: ", ".join(group["names"]), rank=5, least=12),
    Column("QUEUES", lambda group: ", ".join(group["queues"]), rank=2, least=8),
    Column("OWNER", "owner", rank=3, least=6),
    Column("ERROR", error_line, rank=8, least=24),
)

Ids = Annotated[
    list[str] | None,
    Argument(
        help="Ids of failed tasks.",
        metavar="[ID]...",
        show_default=False,
        complete=completing.failures,
        ids_of="failures",
    ),
]
Queue = Annotated[
    str | None, Option("--queue", "-q", help="Only of this queue.", metavar="NAME", complete=completing.queues)
]
Name = Annotated[
    str | None, Option("--name", "-n", help="Only of this task name.", metavar="NAME", complete=completing.task_names)
]
Kind = Annotated[str | None, Option("--kind", help="Only this class of error.", metavar="CLASS")]
FailedSince = Annotated[str | None, Option("--since", help="Failed then or later: 2h, 2026-10-01.", metavar="TIME")]
FailedUntil = Annotated[str | None, Option("--until", help="Failed before that: 30m, yesterday 09:00.", metavar="TIME")]
All = Annotated[bool, Option("--all", help="All failures there are.")]


_SEARCHED: Final = frozenset({"error", "expression"})
MOST_FOUND: Final = 10_000
"""Failures that one request can name."""


@flags
class Filter(Flags):
    """Which failures are meant."""

    queue: Queue = None
    name: Name = None
    fingerprint: Annotated[
        str | None,
        Option("--fingerprint", "-f", help="Only of this group.", metavar="FINGERPRINT", complete=completing.groups),
    ] = None
    kind: Kind = None
    why: Annotated[
        str | None,
        Option(
            "--why",
            help="Only retries_exhausted, permanent, poison or unresolved_input.",
            metavar="REASON",
            complete=completing.of("retries_exhausted", "permanent", "poison", "unresolved_input"),
        ),
    ] = None
    since: FailedSince = None
    until: FailedUntil = None
    tag: Tag = None
    job: Annotated[str | None, Option("--job", help="Only of this job.", metavar="ID", complete=completing.jobs)] = None
    error: ErrorText = None
    expression: FilterText = None

    def query(self) -> dict[str, Any]:
        """Return the filters that were given, by their names in the API, without those of a search."""
        names = {"reason" if name == "why" else name: value for name, value in vars(self).items()}
        given = {name: value for name, value in names.items() if value is not None and name not in _SEARCHED}
        for name in given.keys() & {"since", "until"}:
            given[name] = moment(given[name], flag=f"--{name}", toward=Toward.PAST)
        return given

    def listed(self, client: "ApiClient", limit: int) -> Iterator[dict[str, Any]]:
        """Yield the failures that match, the latest first."""
        return client.pages("/failures", limit=limit, filter=terms(self.expression, error=self.error), **self.query())

    def selection(
        self, client: "ApiClient", ids: list[str] | None, *, everything: bool, first: int | None = None
    ) -> dict[str, Any]:
        """Return which failures are meant as a request says it, or raise `Invalid` unless that is clear."""
        wanted, is_search = self.query(), bool(self.expression or self.error)
        if sum([bool(ids), bool(wanted or is_search), everything]) != 1:
            raise Invalid("say which: ids, or filters such as --queue and --fingerprint, or --all")
        if ids:
            if first is not None:
                raise Invalid("--first is for filters and --all, not for ids")
            return {"ids": ids}
        if first is not None or is_search:
            # The API searches failures where it lists them: acts take what was found there by its ids.
            return {"ids": self._found(client, first)}
        return {"all": True} if everything else {"filter": wanted}

    def _found(self, client: "ApiClient", first: int | None) -> list[str]:
        found = [failure["id"] for failure in self.listed(client, first or MOST_FOUND + 1)]
        if not found:
            raise NotFound("no failures match")
        if len(found) > MOST_FOUND:
            raise Invalid(f"more than {MOST_FOUND:,} failures match; narrow it by --name, --queue, --since or --until")
        return found

    def check_group(self, client: "ApiClient") -> None:
        """Raise `NotFound` for a group that does not exist: a typing error is no empty list."""
        if self.fingerprint is not None:
            client.get(f"/failures/groups/{segment(self.fingerprint)}")


@list_command(
    app,
    "list",
    COLUMNS,
    empty="Nothing has failed for good.",
    unmatched="No failures match.",
    more="These are the latest {count}; by cause: drumline failures groups",
)
def list_failures(
    client: "ApiClient",
    filter: Filter,
    sort: Sort = None,
    limit: Limit = 50,
) -> Any:
    """List the tasks that failed for good, the latest first."""
    filter.check_group(client)
    return sorted_by(filter.listed(client, limit), sort)


@list_command(app, "groups", GROUPS, empty="Nothing has failed for good.", unmatched="No groups match.")
def groups(
    client: "ApiClient",
    queue: Queue = None,
    name: Name = None,
    kind: Kind = None,
    state: Annotated[
        str | None,
        Option(
            "--state",
            help="Only open, acknowledged, resolved, regressed, ignored, or active: what is left to do.",
            metavar="STATE",
            complete=completing.of("open", "acknowledged", "resolved", "regressed", "ignored", "active"),
        ),
    ] = None,
    since: FailedSince = None,
    until: FailedUntil = None,
    error: ErrorText = None,
    expression: FilterText = None,
    by_count: Annotated[bool, Option("--by-count", help="The largest first, not what was seen last.")] = False,
    sort: Sort = None,
    limit: Limit = 50,
) -> Any:
    """List failures by their cause, with counts."""
    found = client.pages(
        "/failures/groups", limit=limit, queue=queue, name=name, kind=kind, state=state,
        since=optional_moment(since, flag="--since", toward=Toward.PAST),
        until=optional_moment(until, flag="--until", toward=Toward.PAST),
        filter=terms(expression, error=error), sort="count" if by_count else None,
    )  # fmt: skip
    return sorted_by(found, sort)


def _describe(client: "ApiClient", file: dict[str, Any]) -> None:
    if "fingerprint" in file:
        describe_group(client, file)
        return
    failure = file["failure"]
    times = "1 attempt" if failure["attempts"] == 1 else f"{failure['attempts']} attempts"
    print_line("reason", f"{failure['reason']}, after {times}")
    print_line("group", failure["fingerprint"])
    print_line("job", failure["job"])
    print_task(file["task"], file["attempts"], client.get(f"/tasks/{file['task']['id']}/artifacts")["items"])
    if file["edits"]:
        say("Its payload was changed; what it was given before: --json")


def _page(file: dict[str, Any]) -> str:
    return f"/failures/{file['fingerprint']}" if "fingerprint" in file else f"/tasks/{file['task']['id']}"


@server_command(app, describe=_describe, page=_page)
def show(
    client: "ApiClient",
    id: Annotated[
        str,
        Argument(
            help="A task's id, or the fingerprint of a group.",
            metavar="ID|FINGERPRINT",
            show_default=False,
            complete=completing.failures_and_groups,
        ),
    ],
) -> Any:
    """Show a failure: its reason, its payload, and how each attempt ended; or a group of failures."""
    from drumline.core.fingerprint import is_fingerprint

    try:
        if is_fingerprint(id):
            return _group_or_failure(client, id)
        return client.get(f"/failures/{segment(resolved(client, 'failures', id))}")
    except Invalid:
        raise Invalid(
            f"{id} is neither a task's id nor a fingerprint: see drumline failures list and drumline failures groups"
        ) from None


def _group_or_failure(client: "ApiClient", text: str) -> Any:
    """Return the group with a fingerprint, or the failure whose id begins or ends with the same digits."""
    try:
        return client.get(f"/failures/groups/{text}")
    except NotFound as missing:
        try:
            whole = resolved(client, "failures", text)
        except NotFound:
            raise missing from None
        return client.get(f"/failures/{whole}")


@server_command(app)
def retry(
    client: "ApiClient",
    ids: Ids = None,
    *,
    filter: Filter,
    everything: All = False,
    first: Annotated[
        int | None,
        Option("--first", help="Only the latest N: try some before the rest.", min=1, max=100, metavar="N"),
    ] = None,
    rate: Annotated[float | None, Option("--rate", help="How many a second, at most.", metavar="N")] = None,
    payload: Annotated[
        str | None, Option("--payload", help="For one task: what to give it instead, as JSON.", metavar="JSON")
    ] = None,
    options: BulkOptions,
) -> None:
    """Retry failed tasks: by id, by filter, or all; tasks that fail later are not included."""
    from drumline.cli.client import read_json

    filter.check_group(client)
    selection = filter.selection(client, ids, everything=everything, first=first)
    if payload is not None and (not ids or len(ids) != 1):
        raise Invalid("--payload is for one task: give its id")
    if ids and len(ids) == 1 and not options.dry_run:
        body = {} if payload is None else {"payload": read_json(payload, field="--payload")}
        task = client.post(f"/failures/{ids[0]}/retry", body)
        print_json(task) if options.as_json else click.echo(f"{task['id']}  {task['status']}")
        return
    run_bulk(client, "retry", "/failures/retry", {**selection, "rate": rate}, options, noun="failure")


@server_command(app)
def discard(
    client: "ApiClient", ids: Ids = None, *, filter: Filter, everything: All = False, options: BulkOptions
) -> None:
    """Discard failures: by id, by filter, or all; their tasks stay failed."""
    filter.check_group(client)
    selection = filter.selection(client, ids, everything=everything)
    run_bulk(client, "discard", "/failures/discard", selection, options, noun="failure")


@server_command(app)
def purge(
    client: "ApiClient",
    older_than: Annotated[
        str,
        Option("--older-than", help="How old they must be: 30d, 2026-10-01.", metavar="TIME", show_default=False),
    ],
    options: BulkOptions,
) -> None:
    """Discard old failures; their tasks stay failed until they are pruned."""
    age = span_of(older_than, flag="--older-than", toward=Toward.PAST)
    run_bulk(client, "purge", "/failures/purge", {"older_than": age}, options, noun="failure")
