"""What may be said about collapsing, and what is refused."""

from datetime import UTC, datetime
from typing import Any

import pytest

from drumline.core.collapse import Collapse, KnownTask, Merge, decide
from drumline.core.errors import Invalid
from drumline.core.ids import TaskId
from drumline.core.task import accept, placing_key
from tests.factories import new_id, request

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"collapse": Collapse()}, "collapse"),
    ({"collapse": Collapse(debounce=1, unique=1)}, "collapse"),
    ({"collapse": Collapse(debounce=0)}, "collapse.debounce"),
    ({"collapse": Collapse(throttle="never")}, "collapse.throttle"),
    ({"collapse": Collapse(unique="400d")}, "collapse.unique"),
    ({"collapse": Collapse(unique=1, key="")}, "collapse.key"),
    ({"collapse": Collapse(unique=1, key="a\nb")}, "collapse.key"),
    ({"collapse": Collapse(unique=1, key="x" * 256)}, "collapse.key"),
    ({"collapse": Collapse(unique=1, at_most=2)}, "collapse.at_most"),
    ({"collapse": Collapse(debounce=5, at_most=4)}, "collapse.at_most"),
    ({"collapse": Collapse(singleton="queued", keep="first")}, "collapse.keep"),
    ({"collapse": Collapse(unique=1), "idempotency_key": "k"}, "collapse"),
    ({"collapse": Collapse(debounce=1), "delay": 5}, "collapse"),
    ({"collapse": Collapse(throttle=1), "run_at": datetime(2030, 1, 1, tzinfo=UTC)}, "collapse"),
    ({"collapse": Collapse(debounce=1), "expires": 5}, "collapse"),
]


@pytest.mark.parametrize(("said", "field"), WRONG, ids=lambda value: value if isinstance(value, str) else "")
def test_what_makes_no_sense_is_refused_with_its_field(said: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as caught:
        accept(request(**said), id=new_id())

    assert caught.value.field == field


def test_a_task_that_may_wait_has_a_delay_of_its_own() -> None:
    task = accept(request(collapse=Collapse(singleton="queued"), delay=5, expires=9), id=new_id())

    assert (task.delay_ms, task.collapse is not None) == (5_000, True)


def test_a_key_has_one_slot_for_all_who_submit_it() -> None:
    one, other = (request(payload={"n": n}, collapse=Collapse(unique=1, key="k")) for n in (1, 2))
    alone = request(payload={"n": 1}, collapse=Collapse(unique=1))

    assert placing_key(one) == placing_key(other) == "work\nunique\nk"
    assert placing_key(alone) not in {None, placing_key(one)}
    assert placing_key(request()) is None


def test_a_debounced_task_whose_time_has_come_is_not_put_off_again() -> None:
    rule = accept(request(collapse=Collapse(debounce=5, at_most=10)), id=new_id()).collapse
    assert rule is not None
    known = KnownTask(TaskId("x"), first_at=0, until=10_000, due_at=10_000, is_fresh=True, is_queued=True)

    answers = [decide(rule, known, now) for now in (4_000, 8_000, 30_000)]

    assert [answer.due_at for answer in answers if isinstance(answer, Merge)] == [9_000, 10_000, 10_000]
