"""Several simulated databases as one installation."""

from contextlib import closing
from random import Random

from drumline.core.session import SessionSpec, TaskType
from drumline.engine.gateway import gateway_of
from drumline.engine.options import EngineOptions
from drumline.testing.clock import SimulatedClock
from drumline.testing.database import FaultyWire
from drumline.testing.loop import SimulatedLoop
from tests.simulation.shards import Databases, open_front

WORKER = SessionSpec(host="ada", pid=1, version="1", queues=(), types=(TaskType(name="work"),), capacity=1)
MOST_TURNS = 20_000


class BoundedLoop(SimulatedLoop):
    """A loop that ends a story which runs in circles: without timers its virtual time would stand still for ever."""

    turns = 0

    def _run_once(self) -> None:
        self.turns += 1
        assert self.turns < MOST_TURNS, f"the loop runs in circles at {self.time():.3f}"
        super()._run_once()  # type: ignore[misc]  # it has no public name


def test_a_claim_waits_quietly_in_a_shard_that_was_away_a_moment_ago() -> None:
    loop = BoundedLoop()

    async def story() -> tuple[int, float]:
        clock = SimulatedClock(loop)
        databases = Databases(loop, ["two"])
        wire = FaultyWire(Random(1))
        front = await open_front(databases, wire, EngineOptions(clock=clock), clock)
        gateway = gateway_of(front)
        session = await gateway.open_session(WORKER)
        databases.down_until["two"] = loop.time() + 1.5
        began = loop.time()
        claimed = await gateway.claim(session, limit=1, wait=10.0)
        await front.close()
        return len(claimed), loop.time() - began

    with closing(loop):
        count, seconds = loop.run_until_complete(story())

    assert count == 0
    assert 9.0 < seconds < 13.0
