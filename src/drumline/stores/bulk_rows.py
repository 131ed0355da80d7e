"""Bulk operations as both stores keep them."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from drumline.core.bulk import BulkAct, BulkId, BulkPlan, BulkState, BulkView
from drumline.core.codec import decode
from drumline.core.ids import TaskId


class Item(NamedTuple):
    """A task to be dealt with; the order is that of next_bulk_items.sql."""

    seq: int
    task: TaskId
    chosen: int | None
    """The dead letter that it had when it was chosen, by its epoch."""
    present: int | None


def bulk_view(row: Iterable[Any]) -> BulkView:
    """Return an operation from its row."""
    id_, tenant, act, request, rate, state, total, position, failed, skipped, created_at, finished_at = row
    return BulkView(
        id=BulkId(str(id_)), tenant=tenant, act=BulkAct(act), plan=decode(request, BulkPlan), rate=rate,
        state=BulkState(state), total=total, done=position - failed - skipped, failed=failed, skipped=skipped,
        created_at=created_at, finished_at=finished_at,
    )  # fmt: skip
