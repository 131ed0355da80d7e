"""A duty goes on whatever happens, and does not fill the log with one outage."""

import asyncio
from collections.abc import Iterator

from structlog.testing import capture_logs

from drumline.core.clock import ManualClock
from drumline.core.errors import Unavailable
from drumline.core.metrics import Metrics
from drumline.scheduler.duty import LONGEST_BACKOFF, LONGEST_PASS, Rounds


class Scripted:
    """A duty that goes as written: an error to raise, or None to succeed."""

    name = "scripted"
    every = 1.0

    def __init__(self, *script: Exception | None) -> None:
        self._script: Iterator[Exception | None] = iter(script)
        self.passes = 0
        self.passed = asyncio.Event()

    async def pass_once(self) -> None:
        self.passes += 1
        self.passed.set()
        error = next(self._script, None)
        if error is not None:
            raise error


async def test_a_failure_is_logged_when_it_begins_changes_and_ends() -> None:
    away, full = Unavailable("away"), Unavailable("disk full")
    rounds = Rounds(Scripted(None, away, away, away, full, full, None, None))

    with capture_logs() as logs:
        for _ in range(8):
            await rounds.pass_safely()

    assert [(entry["event"], entry.get("error") or entry.get("failures")) for entry in logs] == [
        ("duty.failed", "Unavailable: away"),
        ("duty.failed", "Unavailable: disk full"),
        ("duty.recovered", 5),
    ]


async def test_passes_come_less_often_while_they_fail_and_as_before_afterwards() -> None:
    rounds = Rounds(Scripted(*[Unavailable("away")] * 10), random=lambda: 0.0)

    pauses = []
    for _ in range(11):
        with capture_logs():
            await rounds.pass_safely()
        pauses.append(rounds.pause())

    assert pauses[:4] == [1, 2, 4, 8]
    assert max(pauses) == LONGEST_BACKOFF
    assert pauses[-1] == 1


async def test_schedulers_do_not_march_in_step() -> None:
    assert Rounds(Scripted(), random=lambda: 0.0).pause() != Rounds(Scripted(), random=lambda: 1.0).pause()


class Punctual(Scripted):
    """A duty that knows when it has to be done next."""

    due_in: float | None = None

    def next_in(self) -> float | None:
        return self.due_in


async def test_a_punctual_duty_is_done_when_it_is_due_and_not_only_each_second() -> None:
    duty = Punctual(None, Unavailable("away"), Unavailable("away"))
    rounds = Rounds(duty, random=lambda: 0.0)

    assert rounds.pause() == 1
    duty.due_in = 0.25
    assert rounds.pause() == 0.25
    duty.due_in = 90.0
    assert rounds.pause() == 1
    duty.due_in = -3.0
    assert 0 < rounds.pause() < 0.01
    with capture_logs():
        for _ in range(3):
            await rounds.pass_safely()
    assert rounds.pause() == 2


async def test_a_stop_ends_the_pause() -> None:
    duty = Scripted()
    duty.every = 3600.0
    stop = asyncio.Event()
    running = asyncio.create_task(Rounds(duty).run(stop))

    async with asyncio.timeout(5):
        await duty.passed.wait()
        stop.set()
        await running

    assert duty.passes == 1


async def test_passes_are_counted_by_how_they_ended() -> None:
    metrics = Metrics()
    rounds = Rounds(Scripted(None, Unavailable("away"), None), metrics=metrics)

    for _ in range(3):
        await rounds.pass_safely()

    assert metrics.passes.values == {("scripted", "done"): 2, ("scripted", "failed"): 1}
    assert sum(metrics.pass_seconds.series["scripted",].counts) == 3


async def test_a_duty_that_hangs_is_found_and_one_that_fails_is_not_taken_for_it() -> None:
    clock = ManualClock()
    metrics = Metrics(clock)
    failing = Scripted(Unavailable("away"))

    class Hanging(Scripted):
        name = "hanging"

        async def pass_once(self) -> None:
            await super().pass_once()
            await asyncio.Event().wait()

    hanging, stop = Hanging(), asyncio.Event()
    tasks = [asyncio.create_task(Rounds(duty, metrics=metrics).run(stop)) for duty in (failing, hanging)]
    await asyncio.gather(failing.passed.wait(), hanging.passed.wait())
    await asyncio.sleep(0)

    clock.advance(LONGEST_PASS)
    assert metrics.liveness.stuck() == {}
    clock.advance(hanging.every + 0.1)
    stuck = metrics.liveness.stuck()

    tasks[1].cancel()
    stop.set()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert "hanging" in stuck
    assert metrics.liveness.idle().keys() == {"hanging"}
