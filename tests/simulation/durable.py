"""Durable tasks in the simulation: steps whose effects are noted outside, sleeps, and waits that signals race."""

import asyncio
from collections.abc import Sequence
from contextvars import ContextVar
from random import Random
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from drumline.sdk.context import Context
from drumline.sdk.errors import SignalTimeout
from tests.simulation.plan import FaultStep, Fleet, Step

if TYPE_CHECKING:
    from tests.simulation.world import World

SHARE: Final = 7
"""Every so many seeds have durable tasks: what other seeds do stays as it was."""
TURN: Final = SHARE - 1
SIGNAL: Final = "go"


class Effect(NamedTuple):
    """Something that a step of a task did outside, under a lease."""

    task: str
    key: str
    token: str
    """Names the lease and the effect: it is the step's result."""


WORLD: "Final[ContextVar[World]]" = ContextVar("simulated_world")
"""The world of the execution that runs here."""


async def run_durable(payload: dict[str, Any], epoch: int, ctx: Context[Any]) -> dict[str, Any]:
    """Act in steps, sleep, then wait for signals; return what the steps and the waits gave."""

    async def act(key: str) -> str:
        world = WORLD.get()
        await asyncio.sleep(0.01)
        token = f"{epoch}.{len(world.effects)}"
        world.effects.append(Effect(ctx.id, key, token))
        await asyncio.sleep(payload["seconds"])
        return token

    acted = {str(number): await ctx.step("act", act, str(number), key=number) for number in range(payload["steps"])}
    await ctx.sleep("nap", payload["nap"])
    taken: list[str | None] = []
    for number in range(payload["signals"]):
        try:
            taken.append(await ctx.wait_for(SIGNAL, str, timeout=payload["timeout"], key=number))
        except SignalTimeout:
            taken.append(None)
    return {"acted": acted, "taken": taken}


def durable_faults(seed: int, fleet: Fleet, steps: Sequence[Step]) -> tuple[FaultStep, ...]:
    """Return the pause of a worker that is about to run a durable task: it comes back when its lease is lost."""
    random = Random(f"durable faults {seed}")
    mine = [step for step in steps if step.what == "submit" and step.body["name"] in {"durable", "member"}]
    if not mine or random.random() < 0.5:
        return ()
    at = round(random.choice(mine).at + random.uniform(0.05, 2.0), 3)
    target = f"worker{random.randrange(fleet.workers)}"
    return (FaultStep(at=at, kind="stop", target=target, seconds=round(random.uniform(16.0, 19.0), 2)),)


def durable_steps(seed: int, fleet: Fleet, busy: float) -> tuple[Step, ...]:
    """Return submissions of durable tasks, and signals to them, of the seeds that have some."""
    if seed % SHARE != TURN or fleet.shards:
        return ()
    random = Random(f"durable {seed}")
    steps: list[Step] = []
    for number in range(random.randrange(1, 5)):
        label, at = f"d{number}", round(random.uniform(0.0, busy * 0.6), 3)
        count = random.randrange(0, 4)
        timeout = random.choice((0.5, 2.0, 6.0))
        payload: dict[str, Any] = {
            "label": label, "fails": 0, "seconds": random.choice((0.0, 0.2, 2.0)), "steps": random.randrange(1, 4),
            "nap": random.choice((0.0, 0.3, 3.0)), "signals": count, "timeout": timeout,
        }  # fmt: skip
        body = {"name": "durable", "payload": payload, "retries": 0, "idempotency_key": f"key {label}"}
        steps.append(Step(at=at, label=label, what="submit", body=body))
        for sent in range(count + random.choice((-1, 0, 0, 1)) if count else 0):
            # About when the task waits, or when its wait is over.
            later = round(
                at + payload["seconds"] * payload["steps"] + payload["nap"] + random.uniform(0.0, timeout * 2), 3
            )
            signal = {"payload": f"{label}.{sent}", "id": f"{label}.{sent}"}
            name = f"{label}signal{sent}"
            steps.append(Step(at=later, label=name, what="signal", about=label, body=signal))
            if random.random() < 0.3:  # the same one again, by another client
                again = round(later + random.choice((0.0, 0.001, 1.0)), 3)
                steps.append(
                    Step(at=again, label=f"{name}again", what="signal", client="bob", about=label, body=signal)
                )
    return tuple(steps)
