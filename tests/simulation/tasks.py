"""The tasks that simulated workers run, and the witness that notes each execution."""

import asyncio
import json
from typing import TYPE_CHECKING, Any

from drumline.sdk.app import Drumline
from drumline.sdk.context import Context, inject
from drumline.sdk.signals import Parked
from drumline.testing.clock import current_process
from drumline.worker.executors.executor import ExecutorCall
from drumline.worker.executors.function import AsyncFunction
from drumline.worker.executors.registry import Executors
from tests.evidence.trace import Execution
from tests.simulation.durable import WORLD, run_durable
from tests.simulation.families import NAME, run_member

if TYPE_CHECKING:
    from tests.simulation.world import World

app = Drumline("simulated")


class ToldToFail(Exception):
    """What a task raises that was asked to fail."""


async def _run(seconds: float, fails: int, attempt: int) -> int:
    await asyncio.sleep(seconds)
    if attempt <= fails:
        raise ToldToFail(f"attempt {attempt} of {fails} that fail")
    return attempt


@app.task(name="work")
async def work(label: str, seconds: float, fails: int, kills: int = 0, *, ctx: Context[Any] = inject()) -> int:
    """Take a time, and fail so many times."""
    del label, kills
    return await _run(seconds, fails, ctx.attempt)


@app.task(name="limited")
async def limited(label: str, seconds: float, fails: int, kills: int = 0, *, ctx: Context[Any] = inject()) -> int:
    """Do the same under a limit."""
    del label, kills
    return await _run(seconds, fails, ctx.attempt)


@app.task(name="durable")
async def durable(*, ctx: Context[Any] = inject(), **payload: Any) -> dict[str, Any]:
    """Act in steps, sleep, and wait for signals."""
    return await run_durable(payload, 0 if ctx.lease is None else ctx.lease.epoch, ctx)


@app.task(name=NAME)
async def member(
    label: str, fails: int = 0, tree: dict[str, Any] | None = None, *, ctx: Context[Any] = inject()
) -> Any:
    """Start children, and wait for them; or take a time."""
    del fails, tree  # what is in the plan
    return await run_member(member, label, ctx)


class WitnessedFunction(AsyncFunction):
    """Runs a function, and notes when it begins and ends."""

    world: "World"

    async def execute(self, call: ExecutorCall) -> Any:
        """Run it."""
        self._note(call, "begin")
        if call.task.attempt <= json.loads(bytes(call.task.payload)).get("kills", 0):
            await self._die()
        WORLD.set(self.world)
        try:
            value = await super().execute(call)
        except Parked:
            self._note(call, "parked")
            raise
        except asyncio.CancelledError:
            self._note(call, "stopped")
            raise
        except Exception:
            self._note(call, "error")
            raise
        self._note(call, "end")
        return value

    async def _die(self) -> None:
        """Take the whole worker along, as a task does that eats all memory."""
        process = current_process()
        if process is not None:
            self.world.note_fault("kill", process.name, by="task")
            self.world.kill(process.name.partition(".")[0])
        await asyncio.get_running_loop().create_future()

    def _note(self, call: ExecutorCall, moment: str) -> None:
        process = current_process()
        task = call.task
        self.world.trace.append(
            Execution(
                at=self.world.now,
                task=task.lease.task,
                moment=moment,
                worker="" if process is None else process.name,
                attempt=task.attempt,
                epoch=task.lease.epoch,
                limit="limited" if task.name == "limited" else None,
            )
        )


def executors_of(world: "World") -> Executors:
    """Return what a worker of this world runs."""
    executors = Executors()
    for definition in app.registry:
        function = WitnessedFunction(definition, lambda: None)
        function.world = world
        executors.add(function)
    return executors
