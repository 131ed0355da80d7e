"""Bulk operations are carried out whole, in turn, at their rate, and forgotten when they are old."""

import asyncio
from datetime import timedelta

from drumline.core.bulk import BulkAct, BulkFilter, BulkRequest, BulkState
from drumline.core.clock import ManualClock
from drumline.core.outcome import ErrorInfo, Failed
from drumline.engine.engine import Engine
from drumline.ports.gateway import Report
from drumline.scheduler.bulk import BUSY_EVERY, PIECE, BulkDuty
from tests.scheduler.workers import open_worker, submit

EVERYTHING = BulkRequest(act=BulkAct.RETRY, all=True)


async def fail(engine: Engine, count: int) -> None:
    await submit(engine, count)
    ada = await open_worker(engine)
    while tasks := await ada.claim(500):
        oops = Failed(ErrorInfo("ValueError", "oops"), permanent=True)
        await ada.gateway.settle([Report(task.lease, oops) for task in tasks])


def duty_of(engine: Engine, clock: ManualClock, **options: timedelta) -> BulkDuty:
    return BulkDuty(engine, clock=clock, retention=options.get("retention", timedelta(days=7)))


async def test_a_set_of_many_pieces_is_dealt_with_in_one_pass(engine: Engine, clock: ManualClock) -> None:
    await fail(engine, PIECE * 2 + 1)
    began = await engine.bulk.begin(EVERYTHING)

    dealt = await duty_of(engine, clock).pass_once()

    view = await engine.store.bulks.get_bulk(began.id)
    assert dealt == view.done == PIECE * 2 + 1
    assert view.state is BulkState.COMPLETED


async def test_a_worker_that_waits_is_woken(engine: Engine, clock: ManualClock) -> None:
    await fail(engine, 1)
    ada = await open_worker(engine)
    waiting = asyncio.create_task(ada.gateway.claim(ada.session, limit=1, wait=30))
    await asyncio.sleep(0)

    await engine.bulk.begin(EVERYTHING)
    await duty_of(engine, clock).pass_once()

    async with asyncio.timeout(5):
        assert len(await waiting) == 1


async def test_while_something_is_under_way_passes_come_more_often(engine: Engine, clock: ManualClock) -> None:
    duty = duty_of(engine, clock)
    usually = duty.every
    await fail(engine, 3)
    await engine.bulk.begin(BulkRequest(act=BulkAct.RETRY, all=True, rate=1.0))
    everies, dealt = [], []

    for _ in range(4):
        dealt.append(await duty.pass_once())
        everies.append(duty.every)
        clock.advance(1)

    assert dealt == [1, 1, 1, 0]
    assert everies == [BUSY_EVERY, BUSY_EVERY, BUSY_EVERY, usually]


async def test_two_schedulers_share_an_operation(engine: Engine, clock: ManualClock) -> None:
    await fail(engine, PIECE * 3)
    began = await engine.bulk.begin(EVERYTHING)

    dealt = await asyncio.gather(*(duty_of(engine, clock).pass_once() for _ in range(2)))

    assert sum(dealt) == PIECE * 3
    assert (await engine.store.bulks.get_bulk(began.id)).done == PIECE * 3


async def test_old_operations_are_forgotten(engine: Engine, clock: ManualClock) -> None:
    duty = duty_of(engine, clock, retention=timedelta(days=7))
    await engine.bulk.begin(BulkRequest(act=BulkAct.DISCARD, filter=BulkFilter(queue="nowhere")))
    await duty.pass_once()
    assert len((await engine.bulk.list()).items) == 1

    clock.advance(timedelta(days=8).total_seconds())
    await duty.pass_once()

    assert (await engine.bulk.list()).items == ()
