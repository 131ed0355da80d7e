"""CPU-bound functions, which run in child processes that can be killed."""

import os
from pathlib import Path

import psutil
import pytest

from drumline.core.state import State
from tests.worker.house import House, result_of, until
from tests.worker.process_tasks import app


@pytest.fixture(autouse=True)
def _serve_process_tasks(house: House) -> None:
    house.app = app


async def test_a_cpu_bound_function_runs_in_another_process_which_is_kept(house: House) -> None:
    async with house.worker(processes=1):
        first = result_of(await house.run("pid"))
        second = result_of(await house.run("pid"))

    assert first == second != os.getpid()
    assert not psutil.pid_exists(first)


async def test_arguments_and_results_travel_as_json(house: House) -> None:
    async with house.worker(processes=2):
        tasks = [await house.submit("square", {"n": n}) for n in range(6)]
        results = [result_of(await house.ended(task)) for task in tasks]
        refused = await house.run("square", {"n": "x"})
        opaque = await house.run("opaque")

    assert results == [0, 1, 4, 9, 16, 25]
    assert refused.error is not None
    assert refused.error.message.startswith("payload.n: ")
    assert opaque.error is not None
    assert opaque.error.message.startswith("result: ")


async def test_what_the_child_says_is_in_the_tasks_log(house: House) -> None:
    async with house.worker(processes=1):
        view = await house.run("talk")

    log = await house.log(view.id)
    assert "printed in the child\n" in log
    assert "written to stderr\n" in log
    assert "INFO child: logged in the child" in log


@pytest.mark.parametrize(
    ("kind", "state"),
    [
        ("permanent", State.FAILED),
        ("give up", State.FAILED),
        ("retry", State.QUEUED),
        ("snooze", State.QUEUED),
        ("exit", State.QUEUED),
        ("unknown", State.QUEUED),
    ],
)
async def test_errors_in_the_child_mean_what_they_mean_elsewhere(house: House, kind: str, state: State) -> None:
    async with house.worker(processes=1):
        task = await house.submit("raise", {"kind": kind})
        await until(lambda: sum(map(len, house.line.settled)))
        await until(lambda: not house.engine.settlements._batcher._flights)

    view = await house.get(task)
    assert view.state is state
    waits = {"retry": 30_000, "snooze": 60_000}.get(kind, 2000)
    assert state is State.FAILED or view.due_at == house.clock.now() + waits


async def test_a_child_that_dies_is_a_failure_and_is_replaced(house: House) -> None:
    async with house.worker(processes=1):
        first = result_of(await house.run("pid"))
        dead = await house.try_once("die")
        second = result_of(await house.run("pid"))

    (attempt,) = await house.engine.queries.attempts(dead.id)
    assert attempt.error is not None
    assert attempt.error.kind == "ProcessDied"
    assert "SIGKILL" in attempt.error.message
    assert first != second


async def test_a_timeout_kills_the_child(house: House, tmp_path: Path) -> None:
    marker = tmp_path / "pid"

    async with house.worker(processes=1):
        await house.run("pid")  # so that the child is there: its start would count
        view = await house.try_once("spin", {"marker": str(marker)}, timeout=2)

    (attempt,) = await house.engine.queries.attempts(view.id)
    assert attempt.error is not None
    assert attempt.error.kind == "timeout"
    assert not psutil.pid_exists(int(marker.read_text()))


async def test_a_cancelled_function_may_tidy_up_before_its_child_ends(house: House, tmp_path: Path) -> None:
    marker = tmp_path / "pid"

    async with house.worker(processes=1, beat_every=0.02, stop_grace=5.0):
        task = await house.submit("spin", {"marker": str(marker), "tidy": True})
        await until(lambda: marker.exists() and marker.read_text())
        await house.engine.control.cancel(task)
        view = await house.ended(task)

    assert view.state is State.CANCELLED
    assert (tmp_path / "pid.tidied").exists()
    assert not psutil.pid_exists(int(marker.read_text()))


async def test_a_lost_lease_kills_the_child_at_once(house: House, tmp_path: Path) -> None:
    marker = tmp_path / "pid"

    async with house.worker(processes=1, beat_every=0.02, stop_grace=60.0):
        task = await house.submit("spin", {"marker": str(marker)})
        await until(lambda: marker.exists() and marker.read_text())
        await house.engine.control.cancel(task, force=True)
        await until(lambda: not psutil.pid_exists(int(marker.read_text())))

    assert house.line.settled == []


async def test_a_child_has_a_context_and_can_make_files(house: House) -> None:
    async with house.worker(processes=1):
        view = await house.run("make", timeout=60)

    assert result_of(view) == [view.id, "make", 1, True]
    assert (await house.engine.queries.artifact(view.id, "made.bin")).data == b"\x00\xff" * 1000
