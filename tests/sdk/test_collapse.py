"""Collapse at submission, from Python: in this process and over HTTP."""

import pytest

from drumline import Debounce, Drumline, DrumlineError, Invalid, Singleton, Task, Throttle, Unique
from drumline.sdk.embedded import EmbeddedTransport
from tests.sdk.hand_worker import HandWorker


def refresh(customer: int) -> int:
    return customer


@pytest.fixture
def task(app: Drumline[None]) -> Task[[int], int]:
    return app.task(name="refresh")(refresh)


def test_a_debounced_submission_says_what_it_did(task: Task[[int], int]) -> None:
    often = task.options(collapse=Debounce("1h", key="all", at_most="2h"))

    first, second = often.submit(1), often.submit(2)
    kept = task.options(collapse=Debounce("1h", key="all", at_most="2h", keep="first")).submit(3)

    assert (first.collapsed, second.collapsed, kept.collapsed) == (None, "replaced", "postponed")
    assert first == second == kept
    assert type(second.id) is str
    info = second.info()
    assert bytes(info.payload) == b'{"customer":2}'
    assert info.collapse is not None
    assert info.collapse.key == "all"


async def test_async_submissions_and_lists_say_it_too(app: Drumline[None], task: Task[[int], int]) -> None:
    once = task.options(collapse=Unique("1d"))

    first = await once.asubmit(1)
    again = await once.asubmit(1)
    listed = await app.asubmit_many([once.call(1), once.call(2), task.call(1)])

    assert (first.collapsed, again.collapsed, again.id) == (None, "dropped", first.id)
    assert [None if isinstance(each, DrumlineError) else each.collapsed for each in listed] == ["dropped", None, None]


def test_a_singleton_can_be_submitted_again_when_it_has_ended(task: Task[[int], int], house: EmbeddedTransport) -> None:
    ada = HandWorker(house, "refresh")
    alone = task.options(collapse=Singleton(while_="running"))

    first, second = alone.submit(1), alone.submit(1)
    ada.succeed(b"1")
    third = alone.submit(1)

    assert (second.id, second.collapsed) == (first.id, "dropped")
    assert (third.collapsed, third.id == first.id) == (None, False)


def test_a_throttled_task_runs_at_once(app: Drumline[None], house: EmbeddedTransport) -> None:
    ada = HandWorker(house, "refresh")
    first = app.submit_task("refresh", [1], collapse=Throttle("1h", key="x"))
    ada.succeed(b"1")
    second = app.submit_task("refresh", [2], collapse=Throttle("1h", key="x"))

    assert first.result(timeout=30) == 1
    assert second.collapsed is None
    assert second.status() == "PENDING"


def test_mistakes_are_named(app: Drumline[None], task: Task[[int], int]) -> None:
    with pytest.raises(TypeError, match="Debounce, Throttle, Singleton or Unique"):
        task.options(collapse="5s")  # type: ignore[arg-type]
    with pytest.raises(Invalid) as caught:
        task.options(collapse=Unique("1d"), key="k").submit(1)
    with pytest.raises(Invalid) as wait:
        task.options(collapse=Debounce("soon")).submit(1)

    with app.dag("job") as dag, pytest.raises(Invalid, match="not for a task of a job"):
        dag.add(task.options(collapse=Unique("1d")), 1)

    assert caught.value.field == "collapse"
    assert wait.value.field == "collapse.wait"
