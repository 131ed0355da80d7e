import asyncio
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from drumline import Context, Drumline, DrumlineError, Invalid, Status
from drumline.core.ids import TaskId
from drumline.sdk.context import activated
from drumline.sdk.embedded import EmbeddedTransport

ID = TaskId("01890a5d-ac96-774b-bcce-b302099a8057")


def test_a_blocking_call_on_the_engines_own_loop_is_refused_instead_of_hanging(house: EmbeddedTransport) -> None:
    app = Drumline("test")
    app.use(house)

    async def on_the_loop() -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            app.submit_task("ping")

    with pytest.raises(RuntimeError, match="would never end"):
        house.thread.wait(on_the_loop(), 5)


def test_what_was_submitted_is_there_for_the_next_process(tmp_path: Path) -> None:
    first, second = Drumline("first", data=tmp_path), Drumline("second", data=tmp_path)
    handle = first.submit_task("ping")
    first.close()

    assert second.handle(handle.id).status() is Status.QUEUED
    second.close()


async def test_a_refusal_names_the_option_alone(tmp_path: Path) -> None:
    app = Drumline("test", data=tmp_path)

    with pytest.raises(Invalid, match=r"^delay: must be zero or more$"):
        await app.asubmit_task("ping", delay=-1)
    app.close()


def test_a_closed_app_leaves_no_thread_and_connects_again(tmp_path: Path) -> None:
    before = threading.enumerate()
    app = Drumline("test", data=tmp_path)
    app.submit_task("ping")
    (thread,) = [t for t in threading.enumerate() if t.name == "drumline-embedded" and t not in before]

    app.close()
    app.close()

    assert not thread.is_alive()
    assert app.submit_task("ping").status() is Status.QUEUED
    app.close()


def test_a_failing_store_is_an_error_of_the_caller(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")

    with pytest.raises((DrumlineError, OSError)):
        Drumline("test", data=blocked).submit_task("ping")


def test_a_task_never_makes_a_store_of_its_own_to_submit_to(tmp_path: Path) -> None:
    app = Drumline("test", data=tmp_path / "missing")

    with activated(Context(id=ID, state=None)), pytest.raises(RuntimeError, match="set DRUMLINE_URL"):
        app.submit_task("ping")

    assert not (tmp_path / "missing").exists()


async def test_an_async_program_can_stay_connected_on_its_own_loop(tmp_path: Path) -> None:
    before = threading.enumerate()
    app = Drumline("test", data=tmp_path)

    async with app.connected():
        handle = await app.asubmit_task("ping")
        threads = {thread.name for thread in threading.enumerate() if thread not in before}

        assert await handle.astatus() is Status.QUEUED
        assert "drumline-embedded" not in threads


def test_loops_in_several_threads_submit_through_one_app(tmp_path: Path) -> None:
    app = Drumline("test", data=tmp_path)

    async def submit() -> list[str]:
        handles = await asyncio.gather(*(app.asubmit_task("ping", {"n": n}) for n in range(100)))
        return [handle.id for handle in handles]

    with ThreadPoolExecutor(4) as pool:
        ids = [each for made in pool.map(lambda _: asyncio.run(submit()), range(12)) for each in made]
    app.close()

    assert len(set(ids)) == 1_200


def test_a_loop_that_was_left_with_a_submission_under_way_does_not_hold_up_the_next_in_its_thread(
    tmp_path: Path,
) -> None:
    app = Drumline("test", data=tmp_path)
    app.submit_task("ping")
    left, next_one = asyncio.new_event_loop(), asyncio.new_event_loop()
    under_way = left.create_task(app.asubmit_task("ping"))
    left.run_until_complete(asyncio.sleep(0))

    handle = next_one.run_until_complete(app.asubmit_task("ping"))

    assert handle.status() is Status.QUEUED
    assert left.run_until_complete(under_way).status() is Status.QUEUED
    for loop in (left, next_one):
        loop.close()
    app.close()


def test_a_loop_that_goes_on_in_another_thread_is_not_taken_for_the_one_that_runs_here(tmp_path: Path) -> None:
    app = Drumline("test", data=tmp_path)
    app.submit_task("ping")
    moved, here = asyncio.new_event_loop(), asyncio.new_event_loop()
    under_way = moved.create_task(app.asubmit_task("ping"))
    moved.run_until_complete(asyncio.sleep(0))
    is_running, may_go_on = threading.Event(), threading.Event()

    async def stand_still() -> None:
        is_running.set()
        may_go_on.wait(10)
        await under_way

    elsewhere = threading.Thread(target=lambda: moved.run_until_complete(stand_still()))
    elsewhere.start()
    is_running.wait(10)
    handle = here.run_until_complete(app.asubmit_task("ping"))
    may_go_on.set()
    elsewhere.join()

    assert handle.status() is Status.QUEUED
    assert under_way.result().status() is Status.QUEUED
    for loop in (moved, here):
        loop.close()
    app.close()
