"""Runs a plan: from the start of the processes to the judgement, on a loop of its own."""

import asyncio
import hashlib
import logging
from typing import Any, Final

import msgspec
import structlog
from msgspec import Struct

from drumline.core.attempt import AttemptOutcome
from drumline.core.state import State
from drumline.core.task import decode_options
from drumline.testing.clock import EPOCH, current_process, monotonic_time, wall_time
from drumline.testing.loop import SimulatedLoop, Stalled
from tests.evidence.trace import Ending, Line
from tests.simulation import checker, determinism
from tests.simulation.clients import Clients
from tests.simulation.faults import Faults
from tests.simulation.plan import Plan, Step
from tests.simulation.workload import BUSY_SECONDS, QUEUES
from tests.simulation.world import World

FAULT_SECONDS: Final = BUSY_SECONDS + 15.0
"""When the last fault ends."""
MOST_SECONDS: Final = 240.0
"""Virtual time in which all work has to have ended."""

_UNFINISHED: Final = (
    "SELECT (SELECT count(*) FROM task_live) + (SELECT count(*) FROM job WHERE finished_at IS NULL)"
    " + (SELECT count(*) FROM schedule_live WHERE due_at IS NOT NULL OR waiting > 0)"
    " + (SELECT count(*) FROM bulk WHERE finished_at IS NULL)"
)


class Verdict(Struct, frozen=True):
    """What came of a run."""

    seed: int
    hash: str
    problems: tuple[str, ...]
    lines: int
    virtual_seconds: float


class Run(Struct):
    """A run with its whole trace."""

    verdict: Verdict
    trace: list[Line]


def simulate(plan: Plan) -> Run:
    """Run a plan, and judge it. The process should simulate nothing else before or after: see `run.py`."""
    loop = SimulatedLoop()
    determinism.begin(
        plan.seed,
        now=lambda: monotonic_time(loop, current_process()),
        wall=lambda: wall_time(loop, current_process()),
    )
    world = World(plan, loop)
    _silence(world)
    asyncio.set_event_loop(loop)
    loop.set_exception_handler(lambda _loop, context: world.problems.append(_text_of(context)))
    try:
        loop.run_until_complete(_run(world))
    except Stalled as error:
        world.problems.append(f"stalled: {error}")
    world.trace += _endings(world)
    encoder = msgspec.json.Encoder()
    digest = hashlib.sha256()
    for line in world.trace:
        digest.update(encoder.encode(line) + b"\n")
    problems = (*world.problems, *checker.check(world))
    return Run(Verdict(plan.seed, digest.hexdigest(), problems, len(world.trace), world.now), world.trace)


async def _run(world: World) -> None:
    loop, plan = world.loop, world.plan
    clients, faults = Clients(world), Faults(world)
    world.start_all()
    if plan.fleet.limit is not None:
        await _until_acknowledged(
            clients,
            Step(at=0, label="limit", what="limit", body={"task": "limited", "max_concurrent": plan.fleet.limit}),
        )
    acting = loop.create_task(clients.run(plan.steps), name="clients")
    breaking = loop.create_task(faults.run(plan.faults), name="faults")
    last = max((fault.at + fault.seconds for fault in plan.faults), default=0.0)
    await asyncio.sleep(min(last, FAULT_SECONDS) - world.now)
    await breaking
    faults.end_all()
    await acting
    for queue in QUEUES:
        await _until_acknowledged(clients, Step(at=0, label=f"resume {queue}", what="resume", body={"queue": queue}))
    while _unfinished(world) and world.now < MOST_SECONDS:  # noqa: ASYNC110 - nothing tells when all has ended
        await asyncio.sleep(1.0)
    if left := _unfinished(world):
        world.problems.append(f"{left} tasks, jobs, schedules or bulk operations have not ended")


async def _until_acknowledged(clients: Clients, step: Step) -> None:
    while not await clients.act(step) and clients.world.now < MOST_SECONDS:  # noqa: ASYNC110 - in virtual time
        await asyncio.sleep(1.0)


def _unfinished(world: World) -> int:
    (count,) = world.database.connection.execute(_UNFINISHED).fetchone()
    return int(count)


def _endings(world: World) -> list[Ending]:
    """Return what the store says in the end."""
    connection = world.database.connection
    attempts: dict[str, list[Any]] = {}
    for task, outcome in connection.execute("SELECT task_id, outcome FROM attempt ORDER BY task_id, epoch"):
        attempts.setdefault(task, []).append(AttemptOutcome(outcome).word)
    endings = []
    for task, state, key, options in connection.execute(
        "SELECT id, state, idempotency_key, options FROM task_view ORDER BY id"
    ):
        known = decode_options(options)
        endings.append(
            Ending(
                at=world.now,
                task=task,
                state=State(state).name,
                attempts=tuple(attempts.get(task, ())),
                key=key,
                job=known.job,
                schedule=known.schedule,
                fire_time=None if known.fire_time is None else str(known.fire_time),
            )
        )
    return endings


def _silence(world: World) -> None:
    """Let no log go anywhere; errors that are logged with a traceback are faults of ours."""

    def note(_logger: Any, method: str, event: Any) -> Any:
        error = event.get("exc_info")
        if error:
            world.problems.append(f"logged {method} {event.get('event')}: {event.get('error') or error!r}")
        raise structlog.DropEvent

    structlog.configure(processors=[note], cache_logger_on_first_use=False)
    logging.disable(logging.CRITICAL)


def _text_of(context: dict[str, Any]) -> str:
    return f"unhandled: {context.get('message')}: {context.get('exception')!r}"


__all__ = ("EPOCH", "Run", "Verdict", "simulate")
