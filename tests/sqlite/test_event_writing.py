"""Events that are alike are written from a template, and are the same as those that are not."""

from typing import Any

import pytest

from drumline.core.codec import encode
from drumline.core.event import Event, EventPosition, cloud_event
from drumline.core.ids import TaskId
from drumline.core.state import Act, State
from drumline.core.task import Lane
from drumline.stores.event_writing import MOST_SHAPES, EventWriter
from drumline.stores.events import EndedExecution, KnownTask, RecordedAct, task_event

LANE = Lane("default", "mail", "work", 5)
AT = 1_700_000_000_000
ACTS: dict[Any, Act | None] = {0: None, **dict(enumerate(Act, 1))}
NUMBERS = {act: number for number, act in ACTS.items()}


def row(act: Act | None = Act.COMPLETE, *, options: str | None = None, took: int = 19, **values: Any) -> list[Any]:
    state = {None: State.QUEUED, Act.CLAIM: State.RUNNING}.get(act, State.COMPLETED)
    past = [None] * 5 if act is None else [1, 4711, AT, AT + took, None]
    made = [7, 3, AT, "a-task", NUMBERS[act], int(state), 1, 1, options, AT - 5, AT - 4, *past, *[None] * 6]
    for place, value in values.items():
        made[int(place.removeprefix("at_"))] = value
    return made


def build(row: Any, lane: Lane = LANE) -> Event:
    told = RecordedAct(EventPosition(row[0], row[1]), row[2], TaskId(row[3]), ACTS[row[4]], State(row[5]), row[6])
    past = None if row[11] is None else EndedExecution(*row[11:16])
    return task_event("5f0c9a1e", told, KnownTask(lane, row[8], row[9], row[10], past, None))


def usual(row: list[Any]) -> bytes:
    return encode(cloud_event(build(row), source="/here"))


@pytest.mark.parametrize("act", [None, Act.CLAIM, Act.COMPLETE])
def test_from_the_second_on_events_that_are_alike_are_written_from_a_template(act: Act | None) -> None:
    writer = EventWriter("/here", ACTS)
    rows = [row(act, at_1=offset, at_3=f"task-{offset}", at_9=AT - offset) for offset in range(4)]

    assert writer.write(rows, build) == [None, *map(usual, rows[1:])]
    assert writer.write(rows, build) == [*map(usual, rows)]


@pytest.mark.parametrize("took", [0, 1, 10, 999, 1000, 1001, 86_400_000, 31_536_000_007, -5])
def test_durations_are_written_as_they_are_otherwise(took: int) -> None:
    writer = EventWriter("/here", ACTS)
    rows = [row(took=took)] * 2

    assert writer.write(rows, build)[1] == usual(rows[1])


@pytest.mark.parametrize(
    "options",
    [
        '{"tags":["100 %","%s %d","\\"quoted\\""]}',
        '{"trace":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}',
        '{"tags":["\u00fc"],"job":"j-1","key":"a"}',
    ],
)
def test_what_options_say_is_part_of_the_template(options: str) -> None:
    writer = EventWriter("/here", ACTS)
    rows = [row(options=options)] * 2

    assert writer.write(rows, build)[1] == usual(rows[1])


@pytest.mark.parametrize("tag", ["1970-01-02T00:00:00.222Z", "5a3c0f7e-91d2-7b48-a6e0-2f8d4c17b935"])
def test_an_event_with_a_text_that_templates_are_made_with_has_none(tag: str) -> None:
    writer = EventWriter("/here", ACTS)

    assert writer.write([row(options=f'{{"tags":["{tag}"]}}')] * 3, build) == [None] * 3


def test_events_with_other_fields_have_no_template() -> None:
    writer = EventWriter("/here", ACTS)
    others = [row(at_15='{"kind":"E"}'), row(at_13=0), row(at_7=None), row(Act.FAIL), row(None, at_11=1)]

    for each in others:
        assert writer.write([each] * 3, build) == [None] * 3


def test_a_position_and_a_time_are_those_of_each_row() -> None:
    writer = EventWriter("/here", ACTS)
    rows = [row(), row(), row(at_0=8, at_2=AT + 60_000), row(at_0=9)]

    assert writer.write(rows, build)[1:] == [usual(each) for each in rows[1:]]


def test_shapes_that_do_not_come_again_are_forgotten() -> None:
    writer = EventWriter("/here", ACTS)

    for number in range(MOST_SHAPES + 1):
        writer.write([row(at_12=number + 1)], build)

    assert writer.write([row(at_12=1)], build) == [None], "it was met once, before it was forgotten"
