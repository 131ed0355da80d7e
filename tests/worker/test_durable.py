"""Durable tasks in a worker: steps run once, waits end the attempt, the function begins anew."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec import Raw, Struct

from drumline.core.attempt import AttemptOutcome
from drumline.core.durable import RecordStatus, WaitKind
from drumline.core.ids import TaskId
from drumline.core.state import State
from drumline.core.task import TaskView
from drumline.sdk.context import Context, inject
from drumline.sdk.errors import SignalTimeout, StepFailed
from drumline.stores.sealing import AesBox
from tests.durable_factories import names_of, steps_of
from tests.harness.parts import use_box
from tests.worker import process_tasks
from tests.worker.house import House, result_of, until


class Receipt(Struct):
    number: int


async def parked(house: House, task: TaskId, times: int = 1) -> TaskView:
    """Wait until so many attempts of a task have been parked, and it waits."""

    async def is_so() -> bool:
        executions = await house.engine.queries.attempts(task)
        count = sum(each.outcome is AttemptOutcome.PARKED for each in executions)
        return count >= times and (await house.get(task)).state is State.QUEUED

    await until(is_so)
    return await house.get(task)


async def test_a_step_that_is_recorded_is_not_run_again(house: House) -> None:
    ran: list[str] = []

    def charge(amount: int) -> Receipt:
        ran.append("charge")
        return Receipt(amount)

    @house.app.task(name="order", backoff=0)
    async def order(*, ctx: Context[None] = inject()) -> int:
        receipt = await ctx.step("charge", charge, 5)
        ran.append(type(receipt).__name__)
        if ran.count("Receipt") == 1:
            raise ValueError("after the step")
        return receipt.number

    async with house.worker():
        view = await house.run("order")

    assert result_of(view) == 5
    assert ran == ["charge", "Receipt", "Receipt"]


async def test_a_sleep_ends_the_attempt_and_uses_no_retry(house: House) -> None:
    runs: list[int] = []

    @house.app.task(name="sleeper", retries=0)
    async def sleeper(*, ctx: Context[None] = inject()) -> str:
        runs.append(ctx.attempt)
        await ctx.sleep("night", hours=8)
        await ctx.sleep_until("morning", datetime(2020, 1, 1, tzinfo=UTC))
        return "awake"

    async with house.worker() as shift:
        task = await house.submit("sleeper")
        view = await parked(house, task)
        await until(lambda: not shift.worker._services.held_attempts)
        assert (view.attempt, view.due_at) == (0, house.clock.now() + 8 * 3_600_000)
        house.clock.advance(8 * 3600)
        view = await house.ended(task)

    assert result_of(view) == "awake"
    assert runs == [1, 1]
    assert await names_of(house.engine.store, task) == ["night", "morning"]


async def test_the_same_name_twice_is_an_error_that_says_so(house: House) -> None:
    @house.app.task(name="twice")
    async def twice(*, ctx: Context[None] = inject()) -> None:
        for number in range(2):
            await ctx.step("a", lambda: number)  # noqa: B023

    async with house.worker():
        view = await house.run("twice")

    assert view.state is State.FAILED
    assert view.error is not None
    assert "'a' is used twice without a key" in view.error.message
    assert "key=" in view.error.message


async def test_keys_tell_calls_of_one_name_apart(house: House) -> None:
    @house.app.task(name="loop")
    async def loop(*, ctx: Context[None] = inject()) -> list[int]:
        return [await ctx.step("square", pow, number, 2, key=number) for number in range(4)]

    async with house.worker():
        assert result_of(await house.run("loop")) == [0, 1, 4, 9]


async def test_a_step_with_retries_of_its_own_is_tried_again_later_and_then_fails_for_good(house: House) -> None:
    tries: list[int] = []
    caught: list[str] = []

    async def pay() -> None:
        tries.append(len(tries))
        raise ConnectionError("the bank is away")

    @house.app.task(name="saga", retries=0)
    async def saga(*, ctx: Context[None] = inject()) -> str:
        try:
            await ctx.step("pay", pay, retries=2, backoff=60)
        except StepFailed as error:
            caught.append(str(error))
        await ctx.sleep("nap", seconds=1)
        return "compensated"

    async with house.worker():
        task = await house.submit("saga")
        for number, seconds in enumerate((60, 120), 1):
            view = await parked(house, task, number)
            assert view.due_at == house.clock.now() + seconds * 1000
            (record,) = (await steps_of(house.engine.store, task)).page.records
            assert (record.status, record.tries) == (RecordStatus.TRIED, number)
            house.clock.advance(seconds)
        await parked(house, task, 3)
        house.clock.advance(1)
        view = await house.ended(task)

    assert result_of(view) == "compensated"
    assert tries == [0, 1, 2]
    assert caught == ["step 'pay' failed: ConnectionError: the bank is away"] * 2
    assert view.failures == 0


async def test_a_record_that_no_longer_fits_lets_the_task_wait_for_a_person(house: House) -> None:
    returns: list[type] = [int]

    def number() -> int:
        return 1

    @house.app.task(name="changed", retries=0)
    async def changed(*, ctx: Context[None] = inject()) -> str:
        number.__annotations__["return"] = returns[-1]
        kept = await ctx.step("number", lambda: 1) if returns[-1] is int else await ctx.step("number", as_text)
        await ctx.sleep("nap", hours=1)
        return str(kept)

    def as_text() -> str:
        return "1"

    async with house.worker():
        task = await house.submit("changed")
        await parked(house, task)
        returns.append(str)
        house.clock.advance(3600)
        view = await parked(house, task, 2)
        (wait,) = [each for each in (await steps_of(house.engine.store, task)).waits if each.kind is WaitKind.PERSON]
        assert view.due_at is None
        assert "the record of 'number'" in wait.reason
        reasons = await house.engine.wait_reasons.why(task)
        assert "waits for a person" in reasons[0].text
        returns.append(int)
        await house.engine.control.reschedule(task, delay=0)
        view = await house.ended(task)

    assert result_of(view) == "1"


async def test_what_a_step_returns_must_be_json_of_its_type(house: House) -> None:
    def wrong() -> int:
        return "text"  # type: ignore[return-value]

    @house.app.task(name="wrong")
    async def task(which: str, *, ctx: Context[None] = inject()) -> None:
        await ctx.step("a", wrong if which == "type" else object)

    async with house.worker():
        views = [await house.run("wrong", {"which": which}) for which in ("type", "object")]

    for view, text in zip(views, ("annotated to return", "cannot be written as JSON"), strict=True):
        assert view.state is State.FAILED
        assert view.error is not None
        assert text in view.error.message


async def test_a_function_in_a_thread_has_the_same_calls_blocking(house: House) -> None:
    ran: list[int] = []

    @house.app.task(name="thread", retries=0)
    def thread(*, ctx: Context[None] = inject()) -> int:
        ctx.blocking.step("a", lambda: ran.append(1))
        ctx.blocking.sleep("nap", hours=1)
        return ctx.blocking.step("b", lambda: len(ran))

    @house.app.task(name="mistaken", retries=0)
    def mistaken(*, ctx: Context[None] = inject()) -> None:
        asyncio.run(ctx.sleep("nap"))

    async with house.worker():
        task = await house.submit("thread")
        await parked(house, task)
        house.clock.advance(3600)
        assert result_of(await house.ended(task)) == 1
        view = await house.run("mistaken")

    assert view.error is not None
    assert "ctx.blocking" in view.error.message


async def test_a_function_in_a_child_process_has_the_same_calls_blocking(house: House, tmp_path: Path) -> None:
    house.app = process_tasks.app
    async with house.worker():
        task = await house.submit("durable in a process", {"folder": str(tmp_path)})
        await parked(house, task)
        house.clock.advance(3600)
        view = await house.ended(task)

    assert result_of(view) == [7, 8]
    assert (tmp_path / "effects").read_text() == "x"


async def test_branches_side_by_side_wait_together(house: House) -> None:
    @house.app.task(name="branches", retries=0)
    async def branches(*, ctx: Context[None] = inject()) -> list[str]:
        async def branch(name: str, hours: int) -> str:
            await ctx.sleep(name, hours=hours)
            return await ctx.step(f"after {name}", lambda: name)

        return list(await asyncio.gather(branch("short", 1), branch("long", 5)))

    async with house.worker():
        task = await house.submit("branches")
        await parked(house, task)
        waits = (await steps_of(house.engine.store, task)).waits
        assert sorted(each.name for each in waits) == ["long", "short"]
        house.clock.advance(3600)
        await parked(house, task, 2)
        assert await names_of(house.engine.store, task) == ["short", "after short"]
        house.clock.advance(4 * 3600)
        assert result_of(await house.ended(task)) == ["short", "long"]


async def test_answers_that_are_lost_change_nothing(house: House) -> None:
    ran: list[int] = []

    @house.app.task(name="lossy", retries=0)
    async def lossy(*, ctx: Context[None] = inject()) -> int:
        await ctx.step("a", lambda: ran.append(1))
        house.line.lose_answers = 1
        await ctx.sleep("nap", hours=1)
        return len(ran)

    house.line.lose_answers = 1
    async with house.worker():
        task = await house.submit("lossy")
        await parked(house, task)
        house.clock.advance(3600)
        assert result_of(await house.ended(task)) == 1
    executions = await house.engine.queries.attempts(task)
    assert [each.outcome for each in executions] == [AttemptOutcome.PARKED, AttemptOutcome.COMPLETED]


async def test_records_that_are_too_large_for_a_claim_are_fetched_in_pages(house: House) -> None:
    ran: list[int] = []

    def part() -> str:
        ran.append(1)
        return "x" * 100_000

    @house.app.task(name="large", retries=0)
    async def large(*, ctx: Context[None] = inject()) -> int:
        for number in range(5):
            await ctx.step("part", part, key=number)
        await ctx.sleep("nap", hours=1)
        return len(ran)

    async with house.worker():
        task = await house.submit("large")
        await parked(house, task)
        house.clock.advance(3600)
        assert result_of(await house.ended(task)) == 5

    assert house.line.pages >= 1


async def test_files_of_a_step_are_stored_before_its_record(house: House) -> None:
    @house.app.task(name="files", retries=0)
    async def files(*, ctx: Context[None] = inject()) -> None:
        await ctx.step("make", lambda: ctx.put_artifact("a.txt", "text"))
        await ctx.sleep("nap", hours=1)

    async with house.worker():
        task = await house.submit("files")
        await parked(house, task)

    assert [each.name for each in await house.engine.queries.artifacts(task)] == ["a.txt"]


async def test_a_secret_is_not_recorded(house: House) -> None:
    use_box(house.engine, AesBox([b"k" * 32]))
    await house.engine.secrets.put("token", "hunter2-hunter2", tenant="default")

    @house.app.task(name="leaky")
    async def leaky(token: str, *, ctx: Context[None] = inject()) -> None:
        await ctx.step("leak", lambda: {"x": token})

    async with house.worker():
        view = await house.run("leaky", {"token": {"$secret": "token"}})

    assert view.state is State.FAILED
    assert view.error is not None
    assert "has a secret in it" in view.error.message
    assert await names_of(house.engine.store, view.id) == []


async def test_an_attempt_that_lost_its_lease_stops_at_its_next_record(house: House) -> None:
    went_on: list[int] = []
    entered, go = asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        entered.set()
        await go.wait()

    @house.app.task(name="late", retries=0)
    async def late(*, ctx: Context[None] = inject()) -> None:
        await ctx.step("slow", slow)
        went_on.append(1)

    async with house.worker():
        task = await house.submit("late", retries=0)
        await entered.wait()
        await house.engine.control.cancel(task, force=True)
        go.set()
        await until(lambda: not house.line._gateway._engine.settlements._releases)
        await asyncio.sleep(0.05)

    assert went_on == []
    assert await names_of(house.engine.store, task) == []
    assert (await house.get(task)).state is State.CANCELLED


async def test_a_cancelled_task_ends_instead_of_sleeping(house: House) -> None:
    entered, go = asyncio.Event(), asyncio.Event()

    @house.app.task(name="asked")
    async def asked(*, ctx: Context[None] = inject()) -> None:
        entered.set()
        await asyncio.shield(go.wait())
        await ctx.sleep("nap", hours=1)

    async with house.worker(stop_grace=5.0):
        task = await house.submit("asked")
        await entered.wait()
        await house.engine.store.control.cancel([task])
        go.set()
        view = await house.ended(task)

    assert view.state is State.CANCELLED


@pytest.mark.parametrize("moment", ["a million years", "no zone"])
async def test_a_sleep_that_makes_no_sense_is_an_error_that_names_it(house: House, moment: str) -> None:
    @house.app.task(name="odd", retries=0)
    async def odd(*, ctx: Context[None] = inject()) -> None:
        if moment == "no zone":
            await ctx.sleep_until("until then", datetime(2030, 1, 1))  # noqa: DTZ001
        await ctx.sleep("very long", days=365e6)

    async with house.worker():
        view = await house.run("odd")

    assert view.error is not None
    assert ("until then" if moment == "no zone" else "very long") in view.error.message


async def test_too_many_records_are_an_error_that_names_the_bound(house: House) -> None:
    house.engine.durable._record_limits = house.engine.durable._record_limits._replace(records=3)

    @house.app.task(name="many")
    async def many(*, ctx: Context[None] = inject()) -> None:
        for number in range(4):
            await ctx.step("n", lambda: 1, key=number)

    async with house.worker():
        view = await house.run("many")

    assert view.state is State.FAILED
    assert view.error is not None
    assert "3 records" in view.error.message
    assert "limits.records" in view.error.message


async def test_why_says_what_a_task_waits_for(house: House) -> None:
    @house.app.task(name="waits")
    async def waits(*, ctx: Context[None] = inject()) -> None:
        await ctx.sleep("until packed", hours=20)

    async with house.worker():
        task = await house.submit("waits")
        view = await parked(house, task)
        (reason,) = await house.engine.wait_reasons.why(task)

    assert (reason.cause.value, reason.until) == ("waiting", view.due_at)
    assert "sleeps ('until packed')" in reason.text


class Approval(Struct):
    by: str


async def test_a_signal_wakes_the_task_and_is_read_as_its_type(house: House) -> None:
    @house.app.task(name="approval", retries=0)
    async def approval(*, ctx: Context[None] = inject()) -> str:
        found = await ctx.wait_for("approved", Approval, timeout="7d")
        return found.by

    async with house.worker():
        task = await house.submit("approval")
        view = await parked(house, task)
        (reason,) = await house.engine.wait_reasons.why(task)
        sent = await house.engine.durable.signal("approved", Raw(b'{"by":"ada"}'), task=task)
        ended = await house.ended(task)

    assert view.due_at == house.clock.now() + 7 * 86_400_000
    assert "waits for the signal 'approved'" in reason.text
    assert (sent.created, sent.woken) == (True, 1)
    assert result_of(ended) == "ada"


async def test_a_wait_that_times_out_raises_and_stays_so(house: House) -> None:
    caught: list[str] = []

    @house.app.task(name="impatient", retries=0)
    async def impatient(*, ctx: Context[None] = inject()) -> str:
        try:
            await ctx.wait_for("approved", timeout=60)
        except SignalTimeout as error:
            caught.append(str(error))
        await ctx.sleep("nap", seconds=1)
        return "over"

    async with house.worker():
        task = await house.submit("impatient")
        await parked(house, task)
        house.clock.advance(60)
        await parked(house, task, 2)
        await house.engine.durable.signal("approved", task=task)
        house.clock.advance(1)
        view = await house.ended(task)

    assert result_of(view) == "over"
    assert caught == ["no signal 'approved' came in time"] * 2


async def test_a_signal_that_does_not_fit_its_type_lets_the_task_wait_for_a_person(house: House) -> None:
    @house.app.task(name="unfit", retries=0)
    def unfit(*, ctx: Context[None] = inject()) -> str:
        return ctx.blocking.wait_for("approved", Approval).by

    async with house.worker():
        task = await house.submit("unfit")
        await house.engine.durable.signal("approved", Raw(b"[1]"), task=task)
        await parked(house, task)

    (wait,) = (await steps_of(house.engine.store, task)).waits
    assert wait.kind is WaitKind.PERSON


async def test_a_signal_by_its_key_reaches_the_task_that_waits_with_it(house: House) -> None:
    @house.app.task(name="payment", retries=0)
    async def payment(order: str, *, ctx: Context[None] = inject()) -> object:
        return await ctx.wait_for("paid", correlation=order)

    async with house.worker():
        task = await house.submit("payment", {"order": "order-17"})
        await parked(house, task)
        await house.engine.durable.signal("paid", Raw(b"5"), key="order-17")
        assert result_of(await house.ended(task)) == 5


async def test_a_wait_tells_what_its_signal_should_look_like(house: House) -> None:
    @house.app.task(name="asks")
    async def asks(*, ctx: Context[None] = inject()) -> int:
        return (await ctx.wait_for("receipt", Receipt)).number

    async with house.worker():
        task = await house.submit("asks")
        await parked(house, task)
        (wait,) = (await steps_of(house.engine.store, task)).waits

    schema = json.loads(wait.schema or "")
    assert schema["$defs"]["Receipt"]["properties"] == {"number": {"type": "integer"}}
