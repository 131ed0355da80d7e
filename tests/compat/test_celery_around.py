"""What surrounds tasks with Celery's interface: signals, eager mode, beat, configuration."""

from collections.abc import Callable
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumline.compat.celery import Celery, Task, chain, chord, crontab, exceptions, group, signals
from drumline.compat.celery.errors import exception_of
from drumline.compat.celery.wire import from_wire, to_wire
from drumline.core.errors import Invalid
from drumline.core.outcome import ErrorInfo

SECONDS = 30


def test_signals_are_sent_around_each_attempt(app: Celery) -> None:
    seen: list[str] = []
    names = ("task_prerun", "task_postrun", "task_success", "task_failure", "task_retry")

    def noting(word: str) -> Callable[..., None]:
        return lambda **_: seen.append(word)

    receivers = {name: noting(name) for name in names}

    @app.task(bind=True)
    def work(self: Task, kind: str) -> str:
        if kind == "fail":
            raise ValueError(kind)
        if kind == "retry" and self.request.retries == 0:
            raise self.retry(countdown=0)
        return kind

    for name, receiver in receivers.items():
        getattr(signals, name).connect(receiver, sender=work)
    with app.running():
        for kind in ("run", "fail", "retry"):
            work.delay(kind).get(timeout=SECONDS, propagate=False)

    assert seen == [
        "task_prerun", "task_success", "task_postrun",
        "task_prerun", "task_failure", "task_postrun",
        "task_prerun", "task_retry", "task_postrun", "task_prerun", "task_success", "task_postrun",
    ]  # fmt: skip


def test_a_receiver_that_raises_does_not_harm_the_task(app: Celery, caplog: pytest.LogCaptureFixture) -> None:
    def broken(**_: Any) -> None:
        raise RuntimeError("receiver")

    @app.task
    def work() -> int:
        return 1

    signals.task_prerun.connect(broken, sender=work)
    assert work.apply().get() == 1
    assert "task_prerun" in caplog.text


def test_always_eager_runs_everything_on_the_spot(app: Celery) -> None:
    app.conf.task_always_eager = True

    @app.task(bind=True, max_retries=1)
    def add(self: Task, x: int, y: int) -> int:
        if self.request.retries == 0:
            raise self.retry()
        return x + y

    @app.task
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    assert add.delay(1, 2).get() == 3
    assert chain(add.s(1, 2), group(add.s(1), add.s(2)), total.s())().get() == 9
    assert chord([add.s(1, 1)])(total.s()).get() == 2
    with pytest.raises(TypeError):
        add.delay(1)


def test_eager_errors_are_raised_where_they_are_asked_for(app: Celery) -> None:
    @app.task
    def fail() -> None:
        raise ValueError("broken")

    assert fail.apply().failed()
    app.conf.task_eager_propagates = True
    with pytest.raises(ValueError, match="broken"):
        fail.apply()


def test_the_beat_schedule_becomes_schedules(app: Celery) -> None:
    @app.task
    def report(kind: str) -> None: ...

    app.conf.timezone = "Europe/Berlin"
    app.conf.beat_schedule = {
        "nightly": {"task": report.name, "schedule": crontab(minute=0, hour=2), "args": ("full",)},
        "often": {"task": report.name, "schedule": timedelta(minutes=5), "kwargs": {"kind": "short"}},
    }

    @app.on_after_configure.connect
    def more(sender: Celery, **_: Any) -> None:
        sender.add_periodic_task(10.0, report.s("tiny"), name="tiny")

    app.finalize()
    found = app.drumline.schedules.request("shop", ["tasks"])
    schedules = {each.schedule.name: each.schedule for each in found.schedules}

    assert schedules["nightly"].cron == "0 2 * * *"
    assert schedules["nightly"].timezone == "Europe/Berlin"
    assert schedules["often"].interval == 300
    assert schedules["tiny"].interval == 10
    task = schedules["nightly"].task
    assert task is not None
    assert (task.name, msgspec.json.decode(task.payload)["args"]) == (report.name, ["full"])


def test_a_beat_entry_without_a_schedule_is_refused_by_name(app: Celery) -> None:
    app.conf.beat_schedule = {"nightly": {"task": "report", "schedule": "2h"}}

    with pytest.raises(Invalid, match="must be a crontab") as raised:
        app.drumline.schedules.request("shop", [])
    assert raised.value.field == "beat_schedule['nightly']"


def test_a_crontab_is_written_as_a_cron_expression() -> None:
    assert crontab().expression == "* * * * *"
    assert crontab(minute="*/15", hour=[8, 20], day_of_week="mon-fri").expression == "*/15 8,20 * * mon-fri"


def test_settings_are_taken_from_objects_with_a_namespace(app: Celery) -> None:
    app.config_from_object(SimpleNamespace(CELERY_TASK_ALWAYS_EAGER=True, OTHER=1), namespace="CELERY")
    app.config_from_object({"task_default_queue": "slow"})

    assert app.conf.task_always_eager is True
    assert app.conf.task_default_queue == "slow"
    assert "other" not in app.conf


def test_a_name_that_no_task_has_is_named(app: Celery) -> None:
    with pytest.raises(exceptions.NotRegistered, match=r"no\.such"):
        _ = app.tasks["no.such"]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.datetimes()
    | st.uuids()
    | st.binary()
    | st.decimals(allow_nan=False),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["$type", "$replaced", "value"]), inner)
    ),
    max_leaves=20,
)


@given(value=JSON)
def test_values_come_back_as_they_were_written(value: Any) -> None:
    assert from_wire(msgspec.json.decode(msgspec.json.encode(to_wire(value)))) == value


class Refused(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code

    class Inner(Exception):
        pass


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ErrorInfo("KeyError", "'x'"), KeyError("'x'")),
        (ErrorInfo("ValueError", "(1, 'a')"), ValueError(1, "a")),
        (ErrorInfo("ValueError", "ValueError"), ValueError()),
        (ErrorInfo("ValueError", "(1, a)"), ValueError("(1, a)")),
        (ErrorInfo("Refused.Inner", "x", f"Traceback\n{__name__}.Refused.Inner: x"), Refused.Inner("x")),
    ],
)
def test_a_remote_error_is_the_exception_that_was_raised(error: ErrorInfo, expected: BaseException) -> None:
    found = exception_of(error)

    assert (type(found), found.args) == (type(expected), expected.args)


def test_a_remote_error_that_is_no_exception_of_a_loaded_module_is_not_called() -> None:
    for kind, trace in (("system", "os.system: ls"), ("SystemExit", ""), ("eval", "builtins.eval: 1")):
        assert isinstance(exception_of(ErrorInfo(kind, "1", trace)), exceptions.TaskError)


def test_a_remote_error_that_cannot_be_made_again_is_named_like_it() -> None:
    for trace in ("", f"Traceback\n{__name__}.Refused: no", "Traceback\nno_such_module.Refused: no"):
        found = exception_of(ErrorInfo("Refused", "no", trace))

        assert isinstance(found, exceptions.TaskError)
        assert (type(found).__name__, str(found)) == ("Refused", "Refused('no')")
