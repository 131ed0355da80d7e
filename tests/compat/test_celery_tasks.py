"""Tasks with Celery's interface: submitted to Drumline, and run by its worker."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from drumline.compat.celery import AsyncResult, Celery, Task, shared_task
from drumline.compat.celery import exceptions as errors
from drumline.core.state import Status
from drumline.lifecycle.apps import load_apps

SECONDS = 30


def test_a_task_runs_and_gives_its_result(app: Celery) -> None:
    @app.task
    def add(x: int, y: int = 1) -> int:
        return x + y

    with app.running():
        result = add.delay(2, y=3)

        assert result.get(timeout=SECONDS) == 5
        assert (result.status, result.ready(), result.successful(), result.failed()) == ("SUCCESS", True, True, False)
        assert app.AsyncResult(result.id).get(timeout=SECONDS) == 5


def test_options_of_a_submission_are_those_of_drumline(app: Celery) -> None:
    @app.task
    def add(x: int) -> int:
        return x

    app.conf.task_routes = {"*.add": {"queue": "sums"}}
    result = add.apply_async((1,), countdown=60, expires=90, priority=7, time_limit=5)
    info = result.handle.info()

    assert info.created_at is not None
    assert info.due_at is not None
    assert info.expires_at is not None
    assert round((info.due_at - info.created_at).total_seconds()) == 60
    assert round((info.expires_at - info.created_at).total_seconds()) == 90
    assert (info.queue, info.priority, info.timeout) == ("sums", 7, 5)
    assert result.status == "PENDING"


def test_an_eta_is_the_time_at_which_the_task_is_due(app: Celery) -> None:
    @app.task
    def add() -> None: ...

    when = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=2)
    assert add.apply_async(eta=when).handle.info().due_at == when


def test_the_same_task_id_is_one_task(app: Celery) -> None:
    @app.task
    def add(x: int) -> int:
        return x

    first, second = (add.apply_async((1,), task_id="order-7") for _ in range(2))

    assert first.handle.id == second.handle.id
    assert (first.id, second.id) == ("order-7", "order-7")


def test_a_call_that_does_not_fit_is_refused_before_it_is_submitted(app: Celery) -> None:
    @app.task(bind=True)
    def add(self: Task, x: int) -> int:
        return x

    with pytest.raises(TypeError, match="too many positional arguments"):
        add.delay(1, 2)


def test_an_error_fails_the_task_at_once_and_is_raised_where_the_result_is_awaited(app: Celery) -> None:
    calls: list[int] = []

    @app.task
    def charge(order: int) -> None:
        calls.append(order)
        raise LookupError("no such order", order)

    with app.running():
        result = charge.delay(7)

        with pytest.raises(LookupError) as raised:
            result.get(timeout=SECONDS)
        assert raised.value.args == ("no such order", 7)
        assert (result.status, calls) == ("FAILURE", [7])
        assert "charge" in (result.traceback or "")


def test_self_retry_runs_the_task_again_until_its_retries_are_used_up(app: Celery) -> None:
    seen: list[int] = []

    @app.task(bind=True, max_retries=2)
    def charge(self: Task) -> None:
        seen.append(self.request.retries)
        raise self.retry(exc=ConnectionError("down"), countdown=0)

    with app.running():
        result = charge.delay()

        with pytest.raises(ConnectionError, match="down"):
            result.get(timeout=SECONDS)
        assert seen == [0, 1, 2]
        assert result.retries == 2


def test_self_retry_with_other_arguments_runs_with_them(app: Celery) -> None:
    @app.task(bind=True)
    def charge(self: Task, order: int, attempt: int = 0) -> tuple[int, int, int]:
        if attempt < 2:
            raise self.retry(kwargs={"attempt": attempt + 1}, countdown=0)
        return order, attempt, self.request.retries

    with app.running():
        assert charge.delay(7).get(timeout=SECONDS) == [7, 2, 2]


def test_autoretry_for_retries_these_errors_and_no_others(app: Celery) -> None:
    seen: list[str] = []

    @app.task(autoretry_for=(OSError,), dont_autoretry_for=(FileNotFoundError,), default_retry_delay=0)
    def read(name: str) -> str:
        seen.append(name)
        if name == "missing":
            raise FileNotFoundError(name)
        if len(seen) < 3:
            raise OSError(name)
        return name

    with app.running():
        assert read.delay("flaky").get(timeout=SECONDS) == "flaky"
        assert seen == ["flaky"] * 3
        with pytest.raises(FileNotFoundError):
            read.delay("missing").get(timeout=SECONDS)
        assert seen.count("missing") == 1


def test_a_replaced_task_has_the_result_of_what_it_was_replaced_with(app: Celery) -> None:
    @app.task
    def add(x: int, y: int) -> int:
        return x + y

    @app.task(bind=True)
    def lazily(self: Task, x: int) -> None:
        self.replace(add.s(x, 1) | add.s(10))

    with app.running():
        assert lazily.delay(1).get(timeout=SECONDS) == 12
        assert (lazily.s(1) | add.s(100)).delay().get(timeout=SECONDS) == 112


def test_a_replacement_is_submitted_once_although_the_attempt_is_repeated(app: Celery) -> None:
    ids: list[Any] = []

    @app.task
    def add(x: int) -> int:
        return x

    @app.task(bind=True)
    def lazily(self: Task) -> None:
        ids.append(self.submit_instead(add.s(1), self.request))
        ids.append(self.submit_instead(add.s(1), self.request))

    with app.running():
        lazily.delay().get(timeout=SECONDS)

        assert ids[0] == ids[1]


def test_revoke_cancels_a_task_that_waits(app: Celery) -> None:
    @app.task
    def add() -> None: ...

    result = add.apply_async(countdown=600)
    result.revoke()

    with pytest.raises(errors.TaskRevokedError):
        result.get(timeout=SECONDS)
    assert result.status == "REVOKED"


def test_waiting_ends_with_celery_s_timeout(app: Celery) -> None:
    @app.task
    def add() -> None: ...

    with pytest.raises(errors.TimeoutError):
        add.apply_async(countdown=600).get(timeout=0.01)


def test_a_result_that_is_ignored_is_not_stored(app: Celery) -> None:
    @app.task(ignore_result=True)
    def add() -> int:
        return 5

    with app.running():
        result = add.delay()
        result.handle.result(timeout=SECONDS)

        assert result.get() is None
        assert AsyncResult(result.id, app=app).get() is None


def test_ignore_ends_a_task_and_reject_fails_it(app: Celery) -> None:
    @app.task
    def ignored() -> None:
        raise errors.Ignore

    @app.task
    def rejected() -> None:
        raise errors.Reject("not ours")

    with app.running():
        assert ignored.delay().get(timeout=SECONDS) is None
        with pytest.raises(errors.Reject):
            rejected.delay().get(timeout=SECONDS)


def test_hooks_of_a_task_class_are_called(app: Celery) -> None:
    seen: list[tuple[Any, ...]] = []

    class Noted(Task):
        def on_success(self, retval: Any, task_id: str, args: Any, kwargs: Any) -> None:
            seen.append(("success", retval, args))

        def on_failure(self, exc: BaseException, task_id: str, args: Any, kwargs: Any, einfo: Any) -> None:
            seen.append(("failure", str(exc), "noted" in einfo.traceback))

    @app.task(base=Noted)
    def noted(x: int) -> int:
        if x < 0:
            raise ValueError("negative")
        return x

    with app.running():
        noted.delay(1).get(timeout=SECONDS)
        noted.delay(-1).get(timeout=SECONDS, propagate=False)

    assert seen == [("success", 1, (1,)), ("failure", "negative", True)]


def test_values_that_json_has_not_come_back_with_their_types(app: Celery) -> None:
    @app.task
    def echo(value: Any) -> Any:
        return value

    value = {"when": datetime(2026, 1, 2, tzinfo=UTC), "none": None, "odd": {"$type": "datetime", "value": 1}}
    with app.running():
        assert echo.delay(value).get(timeout=SECONDS) == value


def test_shared_tasks_belong_to_the_current_app(app: Celery, tmp_path: Path) -> None:
    @shared_task
    def shared_sum(x: int) -> int:
        return x + 1

    assert shared_sum.app is app
    other = Celery("other", drumline_data=str(tmp_path / "other"))

    assert shared_sum.app is other
    assert shared_sum.name in app.tasks
    app.set_current()
    with app.running():
        assert shared_sum.delay(1).get(timeout=SECONDS) == 2


def test_a_worker_finds_the_app_in_a_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "bridged_shop.py").write_text(
        "from drumline.compat.celery import Celery, shared_task\napp = Celery('bridged', include=['bridged_tasks'])\n"
    )
    (tmp_path / "bridged_tasks.py").write_text(
        "from drumline.compat.celery import shared_task\n@shared_task\ndef add(x):\n    return x\n"
    )

    by_module, by_name = load_apps(["bridged_shop"]), load_apps(["bridged_shop:app"])

    assert by_module == by_name
    assert "bridged_tasks.add" in by_module[0].registry.names


def test_a_task_that_its_worker_lost_is_not_out_of_retries(app: Celery) -> None:
    @app.task(max_retries=0)
    def add() -> None: ...

    info = add.delay().handle.info()

    assert (info.retries, info.status) == (3, Status.QUEUED)
