"""Writes what the SDK submits with `tx` into the caller's transaction."""

from typing import Any

from drumline.core.errors import Invalid
from drumline.core.tenant import check_tenant
from drumline.core.trace import CARRIED_TRACE, read_traceparent
from drumline.sdk.jobs import SubmitJob
from drumline.sdk.transaction import Transaction, Written
from drumline.sdk.transport import Ask, SubmitMany
from drumline.stores.sqlite.database import finish
from drumline.transactions.opening import open_transaction
from drumline.transactions.outbox import NO_JOBS, write_to_outbox
from drumline.transactions.submitting import submit_job, submit_tasks


def write(transaction: Transaction, ask: Ask[Any], *, trace: str | None) -> Written:
    """Write a submission through a blocking driver."""
    return finish(_write(transaction, ask, trace, is_blocking=True))


async def awrite(transaction: Transaction, ask: Ask[Any], *, trace: str | None) -> Written:
    """Write a submission through any driver; with a blocking one it blocks, as all that the caller does with it."""
    return await _write(transaction, ask, trace, is_blocking=False)


async def _write(transaction: Transaction, ask: Ask[Any], trace: str | None, *, is_blocking: bool) -> Written:
    carried = CARRIED_TRACE.set(read_traceparent(trace))
    try:
        tenant = check_tenant(transaction.tenant, field="tenant")
        opened = await open_transaction(transaction.connection, is_blocking=is_blocking)
        match ask:
            case SubmitMany(requests) if not opened.state.is_store:
                return Written(await write_to_outbox(opened.driver, requests, tenant), is_in_outbox=True)
            case SubmitJob() if not opened.state.is_store:
                raise Invalid(NO_JOBS, field="tx")
            case SubmitMany(requests):
                return Written(await submit_tasks(opened, requests, tenant))
            case SubmitJob(request):
                return Written(await submit_job(opened, request, tenant))
            case _:
                raise TypeError(f"cannot write {ask!r}")
    finally:
        CARRIED_TRACE.reset(carried)
