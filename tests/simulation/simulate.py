"""Runs a plan: from the start of the processes to the judgement, on a loop of its own."""

import asyncio
import hashlib
import logging
from sqlite3 import Connection
from time import process_time
from typing import Any, Final

import msgspec
import structlog
from msgspec import Struct

from drumline.core.attempt import AttemptOutcome
from drumline.core.state import State
from drumline.core.task import decode_options
from drumline.testing.clock import EPOCH, current_process, monotonic_time, wall_time
from drumline.testing.loop import Stalled
from tests.evidence import checker as judge
from tests.evidence.trace import Ending, Execution, Line, Operation, Phase
from tests.simulation import checker, determinism
from tests.simulation.clients import Clients
from tests.simulation.faults import Faults
from tests.simulation.loop import LeanLoop
from tests.simulation.plan import Plan, Step
from tests.simulation.workload import FAULT_SECONDS, QUEUES
from tests.simulation.world import World

MOST_SECONDS: Final = 240.0
"""Virtual time in which all work has to have ended, unless some of it begins all the time until then."""
IDLE_SECONDS: Final = 30.0
"""For how long no execution begins where work goes on: the longest takes 22 s."""
BUSY_SECONDS: Final = 900.0
"""Virtual time in which it has to have ended also then: what a lone slow worker needs for the longest plan."""

_UNFINISHED: Final = (
    "SELECT (SELECT count(*) FROM task_live) + (SELECT count(*) FROM job WHERE finished_at IS NULL)"
    " + (SELECT count(*) FROM schedule_live WHERE due_at IS NOT NULL OR waiting > 0)"
    " + (SELECT count(*) FROM bulk WHERE finished_at IS NULL) + (SELECT count(*) FROM delivery WHERE state = 0)"
)
_UNREAD: Final = (
    "SELECT count(*) FROM outbox WHERE seq > coalesce((SELECT position FROM event_cursor WHERE consumer = :reader), 0)"
)


class Verdict(Struct, frozen=True, kw_only=True):
    """What came of a run."""

    seed: int
    hash: str
    problems: tuple[str, ...]
    operations: int = 0
    executions: int = 0
    faults: int = 0
    virtual_seconds: float = 0.0
    processor_seconds: float = 0.0


class Run(Struct):
    """A run with its whole trace."""

    verdict: Verdict
    trace: list[Line]


def simulate(plan: Plan, loop: LeanLoop | None = None) -> Run:
    """Run a plan, and judge it. The process should simulate nothing else before or after: see `run.py`."""
    loop = LeanLoop() if loop is None else loop
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
    judged = judge.judge(world.trace)
    problems = (*world.problems, *checker.check(world), *(f"by the trace, {each}" for each in judged.findings))
    verdict = Verdict(
        seed=plan.seed, hash=digest.hexdigest(), problems=problems, executions=judged.executions, faults=judged.faults,
        operations=sum(isinstance(line, Operation) and line.phase is Phase.INVOKE for line in world.trace),
        virtual_seconds=world.now, processor_seconds=process_time(),
    )  # fmt: skip
    return Run(verdict, world.trace)


async def _run(world: World) -> None:
    loop, plan = world.loop, world.plan
    clients, faults = Clients(world), Faults(world)
    world.start_all()
    for tenant in plan.fleet.tenants:
        await _until_acknowledged(clients, Step(at=0, label=tenant, what="tenant", body={"name": tenant}))
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
    for tenant in ("", *plan.fleet.tenants) if not plan.fleet.shards else ():
        for queue in QUEUES:
            step = Step(at=0, label=f"resume {queue}", what="resume", tenant=tenant, body={"queue": queue})
            await _until_acknowledged(clients, step)
    while _unfinished(world) and _may_go_on(world):  # noqa: ASYNC110 - nothing tells when all has ended
        await asyncio.sleep(1.0)
    if left := _unfinished(world):
        world.problems.append(f"{left} tasks, jobs, schedules or bulk operations have not ended")


def _may_go_on(world: World) -> bool:
    """Tell whether work that has not ended may still end: there is time, or an execution has begun lately."""
    if world.now < MOST_SECONDS:
        return True
    begun = (line.at for line in reversed(world.trace) if isinstance(line, Execution) and line.moment == "begin")
    return world.now < BUSY_SECONDS and world.now - next(begun, 0.0) < IDLE_SECONDS


async def _until_acknowledged(clients: Clients, step: Step) -> None:
    while not await clients.act(step) and clients.world.now < MOST_SECONDS:  # noqa: ASYNC110 - in virtual time
        await asyncio.sleep(1.0)


def _unfinished(world: World) -> int:
    connection, fleet = world.database.connection, world.plan.fleet
    count = sum(each.execute(_UNFINISHED).fetchone()[0] for each in world.connections)
    readers = ["notifier"] * bool(fleet.notifiers) + ["kafka"] * fleet.has_bus
    for reader in readers if not count else ():
        count += connection.execute(_UNREAD, {"reader": reader}).fetchone()[0]
    return int(count)


def _endings(world: World) -> list[Ending]:
    """Return what all databases say in the end."""
    return sorted((each for db in world.connections for each in _endings_in(world, db)), key=lambda each: each.task)


def _endings_in(world: World, connection: Connection) -> list[Ending]:
    attempts: dict[str, list[tuple[str, int]]] = {}
    for task, outcome, epoch in connection.execute(
        "SELECT task_id, outcome, epoch FROM attempt ORDER BY task_id, epoch"
    ):
        attempts.setdefault(task, []).append((AttemptOutcome(outcome).word, epoch))
    endings = []
    for task, state, key, options, tenant in connection.execute(
        "SELECT v.id, v.state, v.idempotency_key, v.options, lane.tenant FROM task_view AS v"
        " JOIN task ON task.id = v.id JOIN lane ON lane.id = task.lane ORDER BY v.id"
    ):
        known = decode_options(options)
        endings.append(
            Ending(
                at=world.now,
                task=task,
                state=State(state).name,
                attempts=tuple(word for word, _ in attempts.get(task, ())),
                epochs=tuple(epoch for _, epoch in attempts.get(task, ())),
                key=key if key is None or tenant == "default" else f"{tenant}/{key}",
                job=known.job,
                parent=known.parent,
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
