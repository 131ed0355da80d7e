"""A replay runs a task's function against its records: no step runs, and what differs is told."""

import asyncio
from typing import Any

import pytest
from msgspec import Raw

from drumline import Context, Drumline, StepFailed, inject
from drumline.core.codec import encode
from drumline.core.durable import Record, RecordKind, RecordStatus
from drumline.core.errors import Invalid, NotFound
from drumline.core.ids import TaskId
from drumline.sdk.replay import NewEffect, ReplayedTask, replay

ID = TaskId("01890a5d-ac96-774b-bcce-b302099a8057")
app = Drumline("shop")
ran: list[str] = []


def charge(order: int) -> int:
    ran.append("charge")
    return order


def ship(order: int) -> str:
    ran.append("ship")
    return f"parcel-{order}"


@app.task(name="fulfil")
async def fulfil(order: int, *, ctx: Context[None] = inject()) -> str:
    await ctx.step("charge", charge, order)
    await ctx.sleep("until packed", hours=20)
    try:
        return await ctx.step("ship", ship, order, retries=1)
    except StepFailed:
        return "refunded"


@app.task(name="plain")
def plain(order: int, *, ctx: Context[None] = inject()) -> str:
    ctx.blocking.step("charge", charge, order)
    other.submit()
    return "never"


@app.task(name="other")
def other() -> None: ...


@app.task(name="side by side")
async def side_by_side(*, ctx: Context[None] = inject()) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(2):
            group.create_task(ctx.step("charge", charge, number, key=number))


def recorded(name: str, value: Any = None, **fields: Any) -> Record:
    return Record(name=name, value=Raw(encode(value)), **fields)


async def replayed(name: str, *records: Record, payload: bytes = b'{"order": 7}') -> Any:
    ran.clear()
    return await replay(app, ReplayedTask(id=ID, name=name, payload=Raw(payload), records=records))


async def test_it_stops_before_the_first_step_that_has_no_record() -> None:
    told = await replayed("fulfil", recorded("charge", 7), recorded("until packed", kind=RecordKind.SLEEP))

    assert told.used == (("charge", ""), ("until packed", ""))
    assert told.new == (NewEffect(kind="step", name="ship"),)
    assert (ran, told.has_ended) == ([], False)


async def test_it_stops_where_the_task_would_wait() -> None:
    told = await replayed("fulfil", recorded("charge", 7))

    assert told.new == (NewEffect(kind="sleep", name="until packed"),)


async def test_a_function_that_comes_to_its_end_returns_what_it_returned() -> None:
    error = {"kind": "E", "message": "m"}
    told = await replayed(
        "fulfil",
        recorded("charge", 7),
        recorded("until packed", kind=RecordKind.SLEEP),
        recorded("ship", error, status=RecordStatus.FAILED),
        recorded("weigh", 3),
    )

    assert (told.result, told.new, told.unused) == (Raw(b'"refunded"'), (), (("weigh", ""),))
    assert ran == []


async def test_a_record_that_the_code_cannot_read_is_told() -> None:
    told = await replayed("fulfil", recorded("charge", "seven"))

    (new,) = told.new
    assert (new.kind, new.name) == ("unreadable", "charge")
    assert "charge" in new.reason


async def test_a_submission_outside_of_steps_is_not_made() -> None:
    told = await replayed("plain", recorded("charge", 7))

    assert [(each.kind, each.name) for each in told.new] == [("request", "SubmitMany")]


async def test_branches_side_by_side_stop_at_what_they_would_do() -> None:
    told = await replayed("side by side", recorded("charge", 0, key="0"), payload=b"{}")

    assert told.new == (NewEffect(kind="step", name="charge", key="1"),)
    assert (ran, told.error) == ([], "")


async def test_a_task_that_the_app_does_not_have_and_a_payload_that_does_not_fit_are_refused() -> None:
    with pytest.raises(NotFound):
        await replayed("unknown")
    with pytest.raises(Invalid):
        await replayed("fulfil", payload=b'{"order": "x"}')
