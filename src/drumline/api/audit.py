"""The audit log: look, export, verify."""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from msgspec import Meta, Struct

from drumline.api.operation import ApiCall, NoQuery, Operation, Reply, Stream, Tag
from drumline.api.reading import read_time
from drumline.core.access import Permission
from drumline.core.audit import AuditHead, AuditRow, Phase, parse_head
from drumline.core.clock import moment_of
from drumline.core.codec import encode
from drumline.core.errors import Invalid
from drumline.core.field_schema import PAGE_SIZE, TIME, about, line, page_cursor
from drumline.core.ids import parse_task_id
from drumline.core.names import check_text
from drumline.core.views import Moment, TaskIdText
from drumline.engine.audit import Verdict
from drumline.ports.access import AuditFilter

JSON_LINES = b"application/jsonl"
LONGEST_WORD = 2048

_AUDIT = "/api/v1/audit"

_LONGEST_WORD = 2048


class AuditBody(Struct, frozen=True, kw_only=True):
    """Who did what, when, from where and why."""

    id: TaskIdText
    tenant: str
    seq: int
    """Its place in the tenant's chain, from 1."""
    at: Moment
    act: str
    """What was done, such as `queue.pause`."""
    phase: Phase
    """`asked` if it was about to be done when its server died; else `done` or `refused`."""
    target: str
    """The path that it was about."""
    key: str
    """The id of the key that it was done with; `first` for the one that the server was started with."""
    key_name: str
    address: str
    request_id: str
    reason: str | None
    before: Any
    after: Any
    problem: str | None
    """Why it was refused."""
    asks: TaskIdText | None
    """For the second row of an act, the first."""
    hash: str


class AuditList(Struct, frozen=True):
    """A page of the audit log, newest first."""

    items: tuple[AuditBody, ...]
    next_cursor: str | None


class AuditQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Which rows to list."""

    act: Annotated[str | None, line(_LONGEST_WORD, "Only this act, such as `queue.pause`.")] = None
    key: Annotated[str | None, line(_LONGEST_WORD, "Only what was done with this key, by its id.")] = None
    target: Annotated[str | None, line(_LONGEST_WORD, "Only what was about this path.")] = None
    since: Annotated[str | None, about("Only from this time on.", **TIME)] = None
    until: Annotated[str | None, about("Only before this time.", **TIME)] = None
    all: Annotated[bool, about("List what was asked even where its answer is listed too.")] = False
    limit: Annotated[int, Meta(ge=1), PAGE_SIZE] = 100
    cursor: Annotated[str | None, page_cursor(format="uuid")] = None


class ExportedRow(Struct, frozen=True, kw_only=True):
    """A row exactly as it is kept: `text` is what its hash covers, behind the hash before."""

    tenant: str
    seq: int
    id: str
    asks: str | None
    text: str
    hash: str


class ExportedHead(Struct, frozen=True, kw_only=True):
    """How a chain ends, behind its rows."""

    tenant: str
    count: int
    head: str


class VerifyQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A head that was kept elsewhere, as `<count>:<hash>`: the chain must have passed through it."""

    expect: Annotated[
        str | None,
        about(
            "A head that was kept elsewhere; the caller's own chain must have passed through it.",
            type="string",
            pattern="^[0-9]{1,18}:[0-9a-f]{64}$",
        ),
    ] = None


class FaultBody(Struct, frozen=True):
    """What is wrong with a chain: the first row at which it shows, and how."""

    seq: int
    what: str


class ChainBody(Struct, frozen=True, kw_only=True):
    """A chain: how far it is sound, and what is wrong with it, if anything."""

    tenant: str
    is_sound: bool
    rows: int
    """Rows that are sound."""
    head: str
    """`<count>:<hash>` of the last sound row. Keep it elsewhere to verify against later."""
    fault: FaultBody | None


class VerifyBody(Struct, frozen=True):
    """Whether every chain is sound."""

    is_sound: bool
    chains: tuple[ChainBody, ...]


async def list_audit(call: ApiCall[None, AuditQuery]) -> Reply:
    """Return a page of the audit log, newest first; a key of one tenant sees that tenant's."""
    query = call.query
    if query.limit > call.context.limits.page:
        raise Invalid(f"must be from 1 to {call.context.limits.page}", field="limit")
    for field in ("act", "key", "target"):
        if (word := getattr(query, field)) is not None:
            check_text(word, field=field, longest=LONGEST_WORD)
    which = AuditFilter(
        tenant=call.tenant,
        act=query.act,
        key=query.key,
        target=query.target,
        since=None if query.since is None else read_time(query.since, field="since"),
        until=None if query.until is None else read_time(query.until, field="until"),
        every=query.all,
    )
    cursor = None if query.cursor is None else parse_task_id(query.cursor, field="cursor")
    rows = await call.engine.store.audit.list_audit(which, limit=query.limit + 1, before=cursor)
    is_more = len(rows) > query.limit
    items = tuple(_body(row) for row in rows[: query.limit])
    return Reply(encode(AuditList(items, items[-1].id if is_more else None)))


async def export_audit(call: ApiCall[None, NoQuery]) -> Stream:
    """Return whole chains, one row a line, oldest first, each followed by its head: all that verifying needs."""
    heads = await call.engine.store.audit.audit_heads(tenant=call.tenant)
    return Stream(_exported(call, heads), JSON_LINES)


async def verify_audit(call: ApiCall[None, VerifyQuery]) -> Reply:
    """Follow each chain from its beginning, and tell the first row that was changed, put in or taken out."""
    expected = None
    if call.query.expect is not None:
        expected = parse_head(call.query.expect, call.home, field="expect")
    tenant = call.home if expected is not None else call.tenant
    verdicts = await call.engine.access.audit.verify(tenant=tenant, expected=expected)
    chains = tuple(_chain(verdict) for verdict in verdicts)
    return Reply(encode(VerifyBody(all(chain.is_sound for chain in chains), chains)))


async def _exported(call: ApiCall[None, NoQuery], heads: list[AuditHead]) -> AsyncIterator[bytes]:
    for head in heads:
        # All rows that there are, whatever the head says, so that verification shows what the head leaves out.
        async for part in call.engine.access.audit.whole_chain(head.tenant):
            if isinstance(part, AuditHead):
                yield encode(ExportedHead(tenant=part.tenant, count=part.count, head=str(part))) + b"\n"
            else:
                yield b"".join(encode(_line(row)) + b"\n" for row in part)


def _line(row: AuditRow) -> ExportedRow:
    return ExportedRow(tenant=row.tenant, seq=row.seq, id=row.id, asks=row.asks, text=row.text, hash=row.hash.hex())


def _chain(verdict: Verdict) -> ChainBody:
    head, fault = verdict.head, verdict.fault
    return ChainBody(
        tenant=head.tenant,
        is_sound=fault is None,
        rows=head.count,
        head=str(head),
        fault=None if fault is None else FaultBody(fault.seq, fault.what),
    )


def _body(row: AuditRow) -> AuditBody:
    said = row.content
    return AuditBody(
        id=row.id,
        tenant=row.tenant,
        seq=row.seq,
        at=moment_of(said.at),
        act=said.act,
        phase=said.phase,
        target=said.target,
        key=said.key,
        key_name=said.key_name,
        address=said.address,
        request_id=said.request_id,
        reason=said.reason,
        before=said.before,
        after=said.after,
        problem=said.problem,
        asks=row.asks,
        hash=row.hash.hex(),
    )


OPERATIONS = (
    Operation(
        method="GET", path=_AUDIT, handler=list_audit, tag=Tag.AUDIT, summary="List who did what, newest first",
        query=AuditQuery, answer=AuditList, permission=Permission.AUDIT_READ,
    ),
    Operation(
        method="GET", path=_AUDIT + "/export", handler=export_audit, tag=Tag.AUDIT,
        summary="Export the audit log, one row a line", media=JSON_LINES, answer=str, permission=Permission.AUDIT_READ,
    ),
    Operation(
        method="GET", path=_AUDIT + "/verify", handler=verify_audit, tag=Tag.AUDIT,
        summary="Find out whether the audit log was touched", query=VerifyQuery, answer=VerifyBody,
        permission=Permission.AUDIT_READ,
    ),
)  # fmt: skip
