"""What tasks log and print, in the log of their attempt."""

# ruff: noqa: T201 - printing is what is tested here

import asyncio
import logging
import re
import sys
import threading

import pytest

from drumline.core.limits import Limits
from drumline.sdk.context import Context, inject
from drumline.worker.log_tail import LogTail
from tests.worker.house import House, until

log = logging.getLogger("shop")


async def test_logging_is_in_the_log_of_the_attempt_that_logged(house: House) -> None:
    both = asyncio.Barrier(2)

    @house.app.task(name="say")
    async def say(word: str, *, ctx: Context[None] = inject()) -> None:
        await both.wait()
        log.warning("log %s", word)
        await both.wait()
        ctx.log.warning("context %s", word)

    async with house.worker():
        ada, bob = await house.submit("say", {"word": "ada"}), await house.submit("say", {"word": "bob"})
        await house.ended(ada)
        await house.ended(bob)

    lines = (await house.log(ada)).splitlines()
    assert [line.partition(" ")[2] for line in lines] == ["WARNING shop: log ada", "WARNING drumline.task: context ada"]
    assert "ada" not in await house.log(bob)


async def test_print_is_captured_on_the_loop_and_in_threads(house: House) -> None:
    @house.app.task(name="on loop")
    async def on_loop() -> None:
        print("from the loop")
        sys.stderr.write("to stderr\n")

    @house.app.task(name="in thread")
    def in_thread() -> None:
        print("from a thread", end="")
        logging.getLogger("x").error("logged")

    async with house.worker():
        first = await house.run("on loop")
        second = await house.run("in thread")

    assert await house.log(first.id) == "from the loop\nto stderr\n"
    text = await house.log(second.id)
    assert text.startswith("from a thread")
    assert "ERROR x: logged\n" in text


async def test_a_line_is_written_once_however_many_workers_a_process_has(house: House) -> None:
    @house.app.task(name="say")
    async def say() -> None:
        print("printed")
        log.warning("logged")

    out = sys.stdout
    async with house.worker(), house.worker():
        task = await house.run("say")

    lines = (await house.log(task.id)).splitlines()
    assert [line.rpartition(" ")[2] for line in lines] == ["printed", "logged"]
    assert sys.stdout is out


async def test_output_outside_of_tasks_is_in_no_log(house: House) -> None:
    go = asyncio.Event()

    @house.app.task(name="wait")
    async def wait() -> None:
        await go.wait()

    async with house.worker():
        task = await house.submit("wait")
        await house.running(task)
        print("from outside")
        log.warning("from outside")
        go.set()
        await house.ended(task)

    assert await house.log(task) == ""


async def test_the_log_can_be_read_while_the_task_runs(house: House) -> None:
    go = asyncio.Event()

    @house.app.task(name="chat")
    async def chat() -> None:
        print("first")
        await go.wait()
        print("second")

    async with house.worker():
        task = await house.submit("chat")

        async def has_first() -> bool:
            return await house.log(task) == "first\n"

        await until(has_first)
        go.set()
        await house.ended(task)

    assert await house.log(task) == "first\nsecond\n"


async def test_the_log_is_complete_when_the_task_has_ended(house: House) -> None:
    @house.app.task(name="chat")
    async def chat(n: int) -> None:
        for line in range(n):
            print(line)

    async with house.worker(log_every=3600.0):
        tasks = [await house.submit("chat", {"n": 50}) for _ in range(20)]
        for task in tasks:
            await house.ended(task)
            assert (await house.log(task)).splitlines() == [str(n) for n in range(50)]


async def test_of_a_log_beyond_its_limit_the_beginning_and_the_end_are_kept(house: House) -> None:
    @house.app.task(name="flood")
    async def flood() -> None:
        for number in range(100_000):
            sys.stdout.write(f"line {number} äöü\n")

    async with house.worker(limits=Limits(log=10_000)):
        view = await house.run("flood")

    text = await house.log(view.id)
    lines = text.splitlines()
    assert len(text.encode()) <= 10_000
    assert lines[:3] == ["line 0 äöü", "line 1 äöü", "line 2 äöü"]
    assert lines[-2:] == ["line 99998 äöü", "line 99999 äöü"]
    written = sum(len(f"line {number} äöü\n".encode()) for number in range(100_000))
    found = re.search(
        r"\[this log is longer .*\]\n\[([\d,]+) bytes of log were left out here\]\n(line \d+ äöü\n)", text
    )
    assert found
    notes = len(f"\n[{found[0].partition('[')[2].rpartition(found[2])[0]}".encode())
    assert written - int(found[1].replace(",", "")) == len(text.encode()) - notes


async def test_a_log_within_its_limit_is_kept_whole(house: House) -> None:
    @house.app.task(name="talk")
    async def talk() -> None:
        for number in range(970):
            sys.stdout.write(f"line {number:04}\n")

    async with house.worker(limits=Limits(log=10_000)):
        view = await house.run("talk")

    assert await house.log(view.id) == "".join(f"line {number:04}\n" for number in range(970))


async def test_who_follows_a_long_log_reads_what_is_stored(house: House) -> None:
    begun, go_on = asyncio.Event(), asyncio.Event()

    @house.app.task(name="flood")
    async def flood() -> None:
        for number in range(10_000):
            sys.stdout.write(f"line {number}\n")
        begun.set()
        await go_on.wait()
        sys.stdout.write("the end\n")

    pieces = []
    async with house.worker(limits=Limits(log=10_000)):
        task = await house.submit("flood")
        await begun.wait()
        async for piece in house.engine.queries.follow_log(task):
            pieces.append(piece)
            if "its end follows" in piece:
                go_on.set()

    assert "".join(pieces) == await house.log(task)
    assert pieces[-1].endswith("line 9999\nthe end\n")


@pytest.mark.parametrize("piece", ["x", "äöü\n", "line\n", "y" * 5_000, "z" * 100_000])
def test_the_end_of_a_text_is_kept_in_its_bounds(piece: str) -> None:
    tail = LogTail(20_000)
    for _ in range(50_000 if len(piece) < 100 else 50):
        tail.write(piece)

    text = tail.text()
    total = len(piece.encode()) * (50_000 if len(piece) < 100 else 50)
    assert len(text.encode()) <= 20_000
    assert tail.left_out + len(text.encode()) == total
    assert text.endswith(piece[-10:])
    assert len(tail._blocks) + len(tail._recent) < 20_000


async def test_a_failing_task_keeps_its_log(house: House) -> None:
    @house.app.task(name="break")
    async def broken() -> None:
        print("before the fall")
        raise ValueError

    async with house.worker():
        view = await house.try_once("break")

    assert await house.log(view.id) == "before the fall\n"


async def test_text_that_no_store_keeps_is_replaced(house: House) -> None:
    @house.app.task(name="odd")
    async def odd() -> None:
        log.warning("a\x00b\ud800c")

    async with house.worker():
        view = await house.run("odd")

    assert "a\ufffdb?c" in await house.log(view.id)


async def test_a_log_survives_an_outage(house: House) -> None:
    go = asyncio.Event()

    @house.app.task(name="chat")
    async def chat() -> None:
        print("before")
        await go.wait()
        print("after")

    async with house.worker(longest_silence=60.0) as shift:
        task = await house.submit("chat")
        await house.running(task)
        house.line.is_cut = True
        go.set()
        await until(lambda: shift.worker._services.retry._failures > 1)
        house.line.is_cut = False
        await house.ended(task)

    assert await house.log(task) == "before\nafter\n"


async def test_the_streams_are_given_back_when_the_worker_has_left(house: House) -> None:
    streams, handlers, level = (sys.stdout, sys.stderr), list(logging.root.handlers), logging.root.level

    async with house.worker() as shift:
        await until(lambda: shift.worker.session is not None)
        assert sys.stdout is not streams[0]

    assert (sys.stdout, sys.stderr) == streams
    assert (logging.root.handlers, logging.root.level) == (handlers, level)


async def test_threads_that_a_task_starts_itself_write_to_the_console_only(house: House) -> None:
    @house.app.task(name="stray")
    def stray() -> None:
        thread = threading.Thread(target=print, args=("stray",))
        thread.start()
        thread.join()

    async with house.worker():
        view = await house.run("stray")

    assert await house.log(view.id) == ""
