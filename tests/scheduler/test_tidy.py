"""Tidying: never for more than a share of the time, for it may be in vain."""

import pytest

from drumline.core.clock import ManualClock
from drumline.scheduler.tidy import Tidier


class SlowStore:
    """A store whose dead rows take long to look through, or longer than one waits."""

    def __init__(self, clock: ManualClock, seconds: float, *, gives_up: bool = False) -> None:
        self.clock, self.seconds, self.gives_up = clock, seconds, gives_up

    async def tidy(self, *, dead: int) -> bool:
        self.clock.advance(self.seconds)
        if self.gives_up:
            raise TimeoutError
        return dead > 0


async def test_the_longer_it_takes_the_less_often_it_is_done(clock: ManualClock) -> None:
    store = SlowStore(clock, 3)
    tidier = Tidier(store, clock=clock)  # type: ignore[arg-type]

    assert await tidier.pass_once()
    assert tidier.every == 60

    store.seconds = 0.1
    await tidier.pass_once()
    assert tidier.every == 10


async def test_what_takes_too_long_is_seldom_tried(clock: ManualClock) -> None:
    tidier = Tidier(SlowStore(clock, 60, gives_up=True), clock=clock)  # type: ignore[arg-type]

    with pytest.raises(TimeoutError):
        await tidier.pass_once()

    assert tidier.every == 1200
