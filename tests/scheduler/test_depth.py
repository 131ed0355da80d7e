"""Sampling how many tasks wait: one scheduler for all, and never for more than a share of the time."""

import pytest

from drumline.core.clock import ManualClock
from drumline.engine.engine import Engine
from drumline.scheduler.depth import LONGEST_PAUSE, DepthSampler
from drumline.scheduler.duty import JITTER
from tests.scheduler.workers import submit


async def test_one_of_two_schedulers_takes_each_sample(engine: Engine, clock: ManualClock) -> None:
    ada, bob = (DepthSampler(engine.store.stats, clock=clock) for _ in range(2))
    await submit(engine, 3)

    assert await ada.pass_once()
    clock.advance(1)
    assert not await bob.pass_once()
    clock.advance(bob.every)
    assert await bob.pass_once()


async def test_a_scheduler_alone_samples_at_each_pass_however_short_its_pauses(
    engine: Engine, clock: ManualClock
) -> None:
    sampler = DepthSampler(engine.store.stats, clock=clock)
    for _ in range(3):
        assert await sampler.pass_once()
        clock.advance(sampler.every * (1 - JITTER))


async def test_the_longer_it_takes_the_less_often_it_is_done(engine: Engine, clock: ManualClock) -> None:
    class SlowStore:
        async def sample_depth(self, *, apart_ms: int) -> bool:
            clock.advance(2)
            return await engine.store.stats.sample_depth(apart_ms=apart_ms)

    slow = DepthSampler(SlowStore(), clock=clock)  # type: ignore[arg-type]
    await slow.pass_once()
    assert slow.every == 40

    await slow.pass_once()  # by then somebody has just looked: that was quick, but a sample still takes long
    assert slow.every == 40


async def test_what_takes_too_long_is_seldom_tried(clock: ManualClock) -> None:
    class StuckStore:
        async def sample_depth(self, *, apart_ms: int) -> bool:
            clock.advance(apart_ms)
            raise TimeoutError

    stuck = DepthSampler(StuckStore(), clock=clock)  # type: ignore[arg-type]
    with pytest.raises(TimeoutError):
        await stuck.pass_once()

    assert stuck.every == LONGEST_PAUSE
