"""The same queue and board on a Redis Cluster: every script finds its keys on one node."""

import asyncio
import shutil
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress

import pytest

from drumline.core.clock import ManualClock
from drumline.core.state import Status
from drumline.ports.read_model import Moment, Note
from drumline.redis import RedisQueue, RedisReadModel
from scripts.programs import missing
from tests.factories import new_id
from tests.harness.programs import Program, free_port, path_of, private_folder, run_as
from tests.redis.hints import NOW, PATIENCE, eventually, hint, lane, pop, popped_tasks, pushed

pytestmark = pytest.mark.faults

NODES = 6
BUS = 10_000
"""A node talks to the others on its port plus this."""


class Cluster:
    """Three primaries with a replica each."""

    def __init__(self) -> None:
        user = run_as("redis")
        self._folders = [private_folder("redis-cluster", user) for _ in range(NODES)]
        self._nodes = []
        for folder in self._folders:
            port = _port()
            command = [path_of("redis-server"), "--port", str(port), "--bind", "127.0.0.1"]
            command += [
                "--dir",
                str(folder),
                "--save",
                "",
                "--cluster-enabled",
                "yes",
                "--cluster-node-timeout",
                "2000",
            ]
            command += ["--repl-diskless-sync-delay", "0"]
            node = Program(command, folder=folder, user=user, port=port)
            node.start(node.accepts)
            self._nodes.append(node)
        addresses = [f"127.0.0.1:{node.port}" for node in self._nodes]
        cli = path_of("redis-cli")
        create = [cli, "--cluster", "create", *addresses, "--cluster-replicas", "1", "--cluster-yes"]
        subprocess.run(create, check=True, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + PATIENCE
        while not all(self._is_ready(cli, node.port) for node in self._nodes):
            if time.monotonic() > deadline:
                raise RuntimeError("the nodes did not form a cluster")
            time.sleep(0.05)
        self.url = "redis+cluster://" + ",".join(addresses[:3])

    @staticmethod
    def _is_ready(cli: str, port: int) -> bool:
        """Tell whether a node sees the whole cluster, each primary with its replica."""
        facts = subprocess.run([cli, "-p", str(port), "cluster", "info"], check=True, capture_output=True, text=True)
        nodes = subprocess.run([cli, "-p", str(port), "cluster", "nodes"], check=True, capture_output=True, text=True)
        return "cluster_state:ok" in facts.stdout and nodes.stdout.count("slave") == NODES // 2

    def remove(self) -> None:
        for node in self._nodes:
            node.stop(signal.SIGKILL)
        for folder in self._folders:
            shutil.rmtree(folder, ignore_errors=True)


def _port() -> int:
    while True:
        port = free_port()
        with suppress(OSError, OverflowError):
            free_port(port + BUS)
            return port


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    if reason := missing("redis"):
        pytest.skip(reason)
    cluster = Cluster()
    yield cluster
    cluster.remove()


@pytest.fixture
async def spread(cluster: Cluster, clock: ManualClock) -> AsyncIterator[RedisQueue]:
    queue = RedisQueue(cluster.url, prefix=f"test-{new_id()}:", clock=clock)

    async def is_up() -> bool:
        return await queue.filled() is not None

    await eventually(is_up)
    yield queue
    await queue.close()


async def test_hints_are_pushed_popped_dropped_and_restored(spread: RedisQueue) -> None:
    one, two, gone = await pushed(spread, hint(late=3), hint(lane("other", priority=1)), hint(late=1))
    lost = hint(late=2)

    await spread.drop([gone])
    absent = await spread.absent([lost])
    await spread.restore([lost], bounds={lane(): None})
    queue_state = await spread.sync(now=NOW, paused=[("default", "mail")])

    assert absent == frozenset({lost.task})
    assert queue_state is not None
    assert queue_state.generation is not None
    assert await popped_tasks(spread, "work", "other") == [two, one, lost.task]
    assert (await pop(spread)).tasks == ()


async def test_calls_at_the_same_time_do_not_disturb_each_other(spread: RedisQueue) -> None:
    tasks = await asyncio.gather(*[pushed(spread, hint(late=number)) for number in range(20)])
    pops = await asyncio.gather(*[pop(spread, limit=3) for _ in range(10)])

    taken = [task for each in pops for task in each.tasks]
    assert sorted(taken) == sorted(task for (task,) in tasks)


async def test_wake_ups_reach_listeners_on_any_node(spread: RedisQueue, cluster: Cluster) -> None:
    other = RedisQueue(cluster.url, prefix=spread._keys.due.partition("{")[0])
    heard = asyncio.Event()
    listening = asyncio.create_task(other.listen(lambda _queue, _count: heard.set()))

    async def is_heard() -> bool:
        await spread.push([hint()])
        return heard.is_set()

    await eventually(is_heard)
    listening.cancel()
    await asyncio.wait({listening})
    await other.close()


async def test_the_board_spreads_over_the_nodes(cluster: Cluster) -> None:
    board = RedisReadModel(cluster.url, prefix=f"test-{new_id()}:")
    tasks = [new_id() for _ in range(20)]
    board.note([Note(task=task, moment=Moment.CLAIMED, status=Status.PROCESSING) for task in tasks])

    async def is_written() -> bool:
        return await board.status(tasks) == [Status.PROCESSING] * len(tasks)

    await eventually(is_written)
    await board.close()
