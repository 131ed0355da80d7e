"""Families of durable tasks in the simulation: parents that call, map, gather and race children of their own.

The tree of a family is in the payload of its eldest. The label of a child is that of its parent with the number of the
call and its place in it: `f0.1.2` is the third child of the second call of `f0`.
"""

import asyncio
from collections.abc import Iterator
from random import Random
from typing import Any, Final

from drumline.sdk.context import Context
from drumline.sdk.errors import ChildFailed
from drumline.sdk.task import Call, Submittable
from tests.simulation.durable import SHARE, WORLD
from tests.simulation.plan import Fleet, Plan, Step

TURN: Final = 3
"""The seeds of a share that have families."""
MOST_DEPTH: Final = 2
NAME: Final = "member"
Member = Submittable[..., Any]
Tree = dict[str, Any]
"""What a member does: `seconds`, `fails`, `retries`, `ends`, and `calls` with the members that each starts."""


class MemberFailed(Exception):
    """What a member raises that was asked to fail."""


def tree_of(plan: Plan, label: str) -> Tree:
    """Return the tree of a member."""
    head, *path = label.split(".")
    tree: Tree = next(step.body["payload"]["tree"] for step in plan.steps if step.label == head)
    for call, place in zip(path[::2], path[1::2], strict=True):
        tree = tree["calls"][int(call)]["members"][int(place)]
    return tree


async def run_member(task: Member, label: str, ctx: Context[Any]) -> dict[str, Any]:
    """Start the children of a member, and return what it was told of them; one without any takes a time."""
    tree = tree_of(WORLD.get().plan, label)
    told = [await _run_call(task, label, number, call, ctx) for number, call in enumerate(tree["calls"])]
    if not tree["calls"]:
        await asyncio.sleep(tree["seconds"])
    if ctx.attempt <= tree["fails"]:
        raise MemberFailed(f"attempt {ctx.attempt} of {tree['fails']} that fail")
    return {"label": label, "epoch": 0 if ctx.lease is None else ctx.lease.epoch, "told": told}


async def _run_call(task: Member, label: str, number: int, call: Tree, ctx: Context[Any]) -> Any:
    members = call["members"]
    labels = [f"{label}.{number}.{place}" for place in range(len(members))]
    calls: list[Call[Any]] = [
        task.options(retries=member["retries"], backoff=0.2).call(each)
        for each, member in zip(labels, members, strict=True)
    ]
    name, on_end = f"c{number}", call["on_end"]
    try:
        match call["how"]:
            case "call":
                return await ctx.call(calls[0], name=name, on_end=on_end)
            case "map":
                window = call["window"]
                found = await ctx.map_outcomes(task.options(retries=0), labels, name=name, window=window, on_end=on_end)
                return [_failure(each) if isinstance(each, ChildFailed) else each for each in found]
            case "gather":
                return list(await ctx.gather(*calls, name=name, on_end=on_end))
            case "first":
                return await ctx.first(*calls, name=name, on_end=on_end)
            case _:
                return await _leave(calls[0], name, call, ctx)
    except ChildFailed as error:
        return _failure(error)


async def _leave(call: Call[Any], name: str, spec: Tree, ctx: Context[Any]) -> None:
    """Start a child, and go on without it: the end of its parent finds it running, or waiting."""
    calling = asyncio.ensure_future(ctx.call(call, name=name, on_end=spec["on_end"]))
    await ctx.step(f"{name} meanwhile", asyncio.sleep, 0.5)
    calling.cancel()


def _failure(error: ChildFailed) -> dict[str, str]:
    return {"failed": error.state, "child": error.child}


def family_steps(seed: int, fleet: Fleet, busy: float) -> tuple[Step, ...]:
    """Return submissions of families, and what is done to their members, of the seeds that have some."""
    if seed % SHARE != TURN or fleet.shards:
        return ()
    random = Random(f"families {seed}")
    steps: list[Step] = []
    for number in range(random.randrange(1, 4)):
        label, at = f"f{number}", round(random.uniform(0.0, busy * 0.5), 3)
        tree = _tree(random, 0)
        payload = {"label": label, "fails": tree["fails"], "tree": tree}
        body = {
            "name": NAME, "payload": payload, "retries": tree["retries"], "idempotency_key": f"key {label}",
            "backoff": {"base": 0.1, "factor": 1.0},
        }  # fmt: skip
        steps.append(Step(at=at, label=label, what="submit", body=body))
        steps += _interference(random, label, at, list(_labels(label, tree)))
    return tuple(steps)


def has_quiet_family(seed: int) -> bool:
    """Tell whether a seed has families, and is to have few faults: only then it is known when a child should stop."""
    return seed % SHARE == TURN and seed % 3 == 0


def _interference(random: Random, label: str, at: float, labels: list[str]) -> Iterator[Step]:
    """Cancel the eldest while it waits, perhaps to retry it; or do that to one of the others."""
    chance = random.random()
    if chance < 0.65:
        about = label if chance < 0.25 or not labels else random.choice(labels)
        at = round(at + random.uniform(0.3, 6.0), 3)
        yield Step(at=at, label=f"{label}cancel", what="cancel", about=about)
        if random.random() < 0.6:
            later = round(at + random.choice((0.05, 0.3, 2.0)), 3)
            whom = random.choice((about, about, label))
            yield Step(at=later, label=f"{label}retry", what="retry", client="bob", about=whom)


def _labels(label: str, tree: Tree) -> Iterator[str]:
    for number, call in enumerate(tree["calls"]):
        for place, member in enumerate(call["members"]):
            yield f"{label}.{number}.{place}"
            yield from _labels(f"{label}.{number}.{place}", member)


def _tree(random: Random, depth: int) -> Tree:
    retries = random.choice((0, 0, 1))
    fails = random.choice((0, 0, 0, 1, 2))
    seconds = random.choice((0.0, 0.2, 0.2, 1.0, 3.0, 9.0))
    chance = {0: 1.0, 1: 0.2}.get(depth, 0.0)
    calls = [_call(random, depth) for _ in range(random.randrange(1, 3))] if random.random() < chance else []
    return {"seconds": seconds, "fails": fails, "retries": retries, "calls": calls}


def _call(random: Random, depth: int) -> Tree:
    how = random.choice(("call", "map", "gather", "first", "first", "leave"))
    count = 1 if how in {"call", "leave"} else random.randrange(2, 5)
    members = [_tree(random, depth + 1) for _ in range(count)]
    if how == "leave" or (how == "first" and random.random() < 0.7):  # those that nobody waits for take long
        members[-1] |= {"seconds": 22.0, "fails": 0, "calls": []}
    return {
        # The end of a race cancels its losers, though that of their parent would not.
        "how": how, "members": members,
        "on_end": "abandon" if random.random() < (0.7 if how == "first" else 0.25) else "cancel",
        "window": random.choice((1, 2, 1000)),
    }  # fmt: skip
