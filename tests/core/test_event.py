import re

import pytest

from drumline.core.clock import Instant
from drumline.core.codec import decode, encode
from drumline.core.errors import Invalid
from drumline.core.event import Event, EventPosition, TaskChange, cloud_event, parse_event_id, type_of
from drumline.core.ids import TaskId
from drumline.core.state import TRANSITIONS, Status


def event(position: int = 7, offset: int = 2) -> Event:
    return Event(
        log="5f0c9a1e",
        place=EventPosition(position, offset),
        type="drumline.task.submitted",
        at=Instant(1_700_000_000_042),
        subject="t",
        tenant="acme",
        data=TaskChange(id=TaskId("t"), status=Status.QUEUED, name="work", queue="default"),
    )


def test_an_event_leaves_the_house_as_a_cloud_event() -> None:
    told = decode(encode(cloud_event(event(), source="/here")), dict)

    assert told == {
        "specversion": "1.0",
        "id": "5f0c9a1e-7-2",
        "source": "/here",
        "type": "drumline.task.submitted",
        "time": "2023-11-14T22:13:20.042Z",
        "subject": "t",
        "tenant": "acme",
        "sequence": "000000000000000007-000002",
        "datacontenttype": "application/json",
        "dataschema": "https://drumline.readthedocs.io/schemas/event-1.json",
        "data": {"id": "t", "status": "QUEUED", "name": "work", "queue": "default"},
    }


def test_sequences_compare_as_text() -> None:
    places = [(1, 0), (1, 9), (1, 10), (2, 0), (10, 0), (999, 99_999), (1000, 0)]

    sequences = [cloud_event(event(*place)).sequence for place in places]

    assert sequences == sorted(sequences)


def test_an_id_leads_back_to_its_place() -> None:
    assert parse_event_id(event().id, field="x") == ("5f0c9a1e", EventPosition(7, 2))


@pytest.mark.parametrize(
    "text", ["", "7-2", "5f0c9a1e-7", "5f0c9a1e-7-2-", "5f0c9a1e--1", "x" * 10_000, "5f0c9a1e-٣-٣"]
)
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="id of an event"):
        parse_event_id(text, field="Last-Event-ID")


def test_every_transition_of_the_table_has_a_type() -> None:
    types = {type_of(act, after) for (_, act), after in TRANSITIONS.items()}

    assert all(re.fullmatch(r"drumline\.task\.[a-z_]+", type_) for type_ in types)
