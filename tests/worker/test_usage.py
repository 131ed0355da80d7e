"""How much memory and processor time a worker says that it uses."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from drumline.core.clock import ManualClock, SystemClock
from drumline.core.session import MOST_CORES, MOST_MEMORY, NO_USAGE, Usage
from drumline.worker import usage as usage_module
from drumline.worker.usage import MOST_PROCESSES, UsageMeter
from tests.worker.house import House, until

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


class Proc:
    """A folder like `/proc`, with processes that say what they are told to."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(
        self, pid: int, *, seconds: float = 0.0, pages: int = 0, children: dict[int, list[int]] | None = None
    ) -> None:
        """Have a process; `children` are by the threads that started them."""
        folder = self.root / str(pid)
        for thread, started in (children or {pid: []}).items():
            (folder / "task" / str(thread)).mkdir(parents=True, exist_ok=True)
            (folder / "task" / str(thread) / "children").write_text(" ".join(map(str, started)))
        fields = ["S"] + ["0"] * 49
        fields[11] = str(round(seconds * TICKS))
        fields[21] = str(pages)
        (folder / "stat").write_text(f"{pid} (a (strange) name) {' '.join(fields)}\n")


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for measurements however busy the machine is; the test of what takes too long waits less."""
    monkeypatch.setattr(usage_module, "WAIT_SECONDS", 60.0)


@pytest.fixture
def proc(tmp_path: Path) -> Proc:
    return Proc(tmp_path)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


async def started(proc: Proc, clock: ManualClock) -> UsageMeter:
    """Return a meter of process 1 that has measured once."""
    meter = UsageMeter(clock, proc=proc.root, pid=1)
    await meter.measure()
    clock.advance(5)
    return meter


async def test_memory_and_processor_time_are_those_of_the_process_and_all_its_descendants(
    proc: Proc, clock: ManualClock
) -> None:
    proc.put(1, seconds=10, pages=100, children={1: [2], 7: [3, 4]})
    proc.put(2, seconds=1, pages=20, children={2: [5]})
    for pid in (3, 4, 5):
        proc.put(pid, pages=1)
    proc.put(6, pages=1000)  # another's
    meter = await started(proc, clock)

    proc.put(2, seconds=4, pages=20, children={2: [5]})
    proc.put(5, seconds=4.5, pages=1)

    assert await meter.measure() == Usage(memory=123 * PAGE, cpu=1.5)


async def test_processor_time_is_that_since_the_last_measurement(proc: Proc, clock: ManualClock) -> None:
    proc.put(1, seconds=10)
    meter = await started(proc, clock)
    proc.put(1, seconds=12)
    first = await meter.measure()
    clock.advance(10)
    proc.put(1, seconds=13)

    second = await meter.measure()

    assert (first.cpu, second.cpu) == (0.4, 0.1)


async def test_a_child_that_ended_and_took_its_time_along_does_not_make_it_negative(
    proc: Proc, clock: ManualClock
) -> None:
    proc.put(1, seconds=1, pages=1, children={1: [2]})
    proc.put(2, seconds=100, pages=1)
    meter = await started(proc, clock)
    (proc.root / "2" / "stat").unlink()

    assert await meter.measure() == Usage(memory=PAGE, cpu=0.0)


async def test_without_time_between_two_measurements_there_is_no_share(proc: Proc, clock: ManualClock) -> None:
    proc.put(1, seconds=1)
    meter = await started(proc, clock)
    await meter.measure()

    assert (await meter.measure()).cpu is None


async def test_what_is_told_is_within_what_a_heartbeat_may_say(proc: Proc, clock: ManualClock) -> None:
    proc.put(1)
    meter = await started(proc, clock)
    proc.put(1, seconds=6 * MOST_CORES, pages=MOST_MEMORY)

    assert await meter.measure() == Usage(memory=MOST_MEMORY, cpu=float(MOST_CORES))


async def test_however_many_processes_tasks_start_a_bounded_number_is_measured(proc: Proc, clock: ManualClock) -> None:
    count = MOST_PROCESSES + 10
    proc.put(1, pages=1, children={1: list(range(2, count))})
    for pid in range(2, count):
        proc.put(pid, pages=1)

    assert (await UsageMeter(clock, proc=proc.root, pid=1).measure()).memory == MOST_PROCESSES * PAGE


async def test_where_the_system_does_not_tell_memory_is_not_known_and_processor_time_is(
    tmp_path: Path, clock: ManualClock
) -> None:
    meter = UsageMeter(clock, proc=tmp_path / "none", pid=1)
    clock.advance(3600)

    found = await meter.measure()

    assert found.memory is None
    assert found.cpu is not None
    assert 0 <= found.cpu < 1


async def test_a_heartbeat_does_not_wait_for_a_measurement_that_takes_long(
    proc: Proc, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(proc.root / "slow")  # a file whose reader waits for a writer
    (proc.root / "1").mkdir()
    (proc.root / "1" / "stat").symlink_to(proc.root / "slow")
    monkeypatch.setattr(usage_module, "WAIT_SECONDS", 0.01)
    meter = UsageMeter(clock, proc=proc.root, pid=1)
    threads = threading.active_count()

    waits = [await meter.measure() for _ in range(3)]

    assert waits == [NO_USAGE] * 3
    assert threading.active_count() <= threads + 1  # the first goes on; no other is begun beside it
    proc.put(2, pages=9)
    text = (proc.root / "2" / "stat").read_bytes()
    await asyncio.to_thread((proc.root / "slow").write_bytes, text)
    monkeypatch.setattr(usage_module, "WAIT_SECONDS", 60.0)
    assert (await meter.measure()).memory == 9 * PAGE


async def test_this_process_has_memory_and_uses_its_processor() -> None:
    meter = UsageMeter(SystemClock())
    sum(range(1_000_000))

    found = await meter.measure()

    assert found.cpu is not None
    assert found.memory is None or found.memory > 4_000_000  # None where there is no /proc


async def test_a_worker_says_in_its_heartbeats_what_it_uses(house: House) -> None:
    async def is_told() -> bool:
        return any(view.usage.cpu is not None for view in await house.engine.sessions.list())

    async with house.worker(beat_every=0.02, measures_usage=True):
        await until(is_told)


async def test_a_worker_that_does_not_measure_says_nothing(house: House) -> None:
    async def has_beaten() -> bool:
        return any(view.beat > 2 for view in await house.engine.sessions.list())

    async with house.worker(beat_every=0.02):
        await until(has_beaten)

    (view,) = await house.engine.sessions.list(closed=True)
    assert view.usage == NO_USAGE
