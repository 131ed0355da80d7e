"""Chains, groups and chords: each is one job of Drumline."""

from typing import Any

import pytest

from drumline.compat.celery import Celery, Task, chain, chord, group, signature

SECONDS = 30


@pytest.fixture
def tasks(app: Celery) -> dict[str, Task]:
    @app.task
    def add(x: int, y: int) -> int:
        return x + y

    @app.task
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    @app.task
    def fail(*_: Any) -> None:
        raise ValueError("broken")

    return {"add": add, "total": total, "fail": fail}


def test_a_canvas_of_all_kinds_gives_the_result_that_celery_gives(app: Celery, tasks: dict[str, Task]) -> None:
    add, total = tasks["add"], tasks["total"]
    with app.running():
        assert (add.s(1, 1) | add.s(2))().get(timeout=SECONDS) == 4
        assert group(add.s(i, i) for i in range(3))().get(timeout=SECONDS) == [0, 2, 4]
        assert chord([add.s(i, i) for i in range(3)])(total.s()).get(timeout=SECONDS) == 6
        assert (add.s(1, 1) | group(add.s(1), add.s(2)) | total.s() | add.s(10))().get(timeout=SECONDS) == 17
        assert (add.s(1, 1) | add.si(5, 5))().get(timeout=SECONDS) == 10
        assert chain(add.s(3), add.s(1)).delay(4).get(timeout=SECONDS) == 8
        assert add.starmap([(1, 2), (3, 4)]).delay().get(timeout=SECONDS) == [3, 7]
        assert chord([], total.s())().get(timeout=SECONDS) == 0


def test_a_canvas_is_one_job_that_is_stored_whole(app: Celery, tasks: dict[str, Task]) -> None:
    add, total = tasks["add"], tasks["total"]
    result = chord([add.s(1, 1), add.s(2, 2)])(total.s())
    job = result.handle.info().job_id

    assert job is not None
    nodes = app.drumline.job(job).nodes()
    assert [node.key for node in nodes] == ["add-1", "add-2", "total-1"]
    assert nodes[2].needs == ("add-1", "add-2")


def test_a_failure_is_the_result_of_all_that_hangs_on_it(app: Celery, tasks: dict[str, Task]) -> None:
    add, total, fail = tasks["add"], tasks["total"], tasks["fail"]
    with app.running():
        for canvas in (chain(fail.s(), add.s(1), add.s(2)), chord([add.s(1, 1), fail.s()], total.s())):
            result = canvas()

            with pytest.raises(ValueError, match="broken"):
                result.get(timeout=SECONDS)
            assert result.status == "FAILURE"


def test_callbacks_get_the_result_and_errbacks_the_error(app: Celery, tasks: dict[str, Task]) -> None:
    seen: list[Any] = []

    @app.task
    def noted(value: int) -> None:
        seen.append(value)

    @app.task
    def alarm(request: Any, exc: BaseException, traceback: str) -> None:
        seen.append((request.id, repr(exc), "ValueError" in traceback))

    with app.running():
        tasks["add"].apply_async((1, 2), link=noted.s(), link_error=alarm.s()).get(timeout=SECONDS)
        failed = tasks["fail"].apply_async(link=noted.s(), link_error=alarm.s())
        failed.get(timeout=SECONDS, propagate=False)
        job = failed.handle.info().job_id
        assert job is not None
        app.drumline.job(job).wait(timeout=SECONDS)
        first = app.drumline.handle(failed.handle.id).info()

    assert first.error is not None
    assert 3 in seen
    assert (failed.id, "ValueError('broken')", True) in seen
    assert len(seen) == 2


def test_an_errback_of_a_chain_is_called_once_for_the_task_that_failed(app: Celery, tasks: dict[str, Task]) -> None:
    seen: list[str] = []

    @app.task
    def alarm(task_id: str) -> None:
        seen.append(task_id)

    with app.running():
        canvas = chain(tasks["add"].s(1, 1), tasks["fail"].s(), tasks["add"].s(1)).on_error(alarm.s())
        result = canvas.delay()
        result.get(timeout=SECONDS, propagate=False)
        job = result.handle.info().job_id
        assert job is not None
        app.drumline.job(job).wait(timeout=SECONDS)

    assert seen == [result.parent.id]


def test_a_replaced_task_in_a_chord_holds_up_the_body_and_no_worker(app: Celery, tasks: dict[str, Task]) -> None:
    add, total = tasks["add"], tasks["total"]

    @app.task(bind=True)
    def lazily(self: Task, x: int) -> None:
        self.replace(group(add.s(x, 1).set(countdown=0.5), add.s(x, 2)))

    @app.task
    def flat(parts: list[Any]) -> list[Any]:
        return parts

    with app.running():
        assert chord([lazily.s(1), add.s(5, 5)])(flat.s()).get(timeout=SECONDS) == [[2, 3], 10]
        assert (lazily.s(1) | total.s())().get(timeout=SECONDS) == 5


def test_the_failure_of_a_replacement_is_the_failure_of_what_waits_for_it(app: Celery, tasks: dict[str, Task]) -> None:
    @app.task(bind=True)
    def lazily(self: Task) -> None:
        self.replace(tasks["fail"].s())

    with app.running():
        result = (lazily.s() | tasks["add"].s(1) | tasks["add"].s(2))()

        with pytest.raises(ValueError, match="broken"):
            result.get(timeout=SECONDS)


def test_a_signature_survives_being_written_as_a_dictionary(app: Celery, tasks: dict[str, Task]) -> None:
    add, total = tasks["add"], tasks["total"]
    canvas = chain(add.s(1, 1), group(add.s(1), add.s(2)), total.s())

    assert signature(dict(canvas)) == canvas
    with app.running():
        assert signature(dict(canvas)).delay().get(timeout=SECONDS) == 7


def test_a_chord_that_runs_cannot_grow(app: Celery, tasks: dict[str, Task]) -> None:
    with pytest.raises(NotImplementedError, match="group"):
        tasks["add"].add_to_chord(tasks["add"].s(1, 1))
