import re

import pytest
from msgspec.structs import replace

from drumline.core.clock import Instant
from drumline.core.codec import decode, encode
from drumline.core.errors import Invalid
from drumline.core.event import (
    MOST_LOGS,
    Event,
    EventPosition,
    Fact,
    TaskChange,
    cloud_event,
    parse_event_id,
    parse_event_ids,
    queue_paused,
    queue_resumed,
    trace_of,
    type_of,
    worker_closed,
    worker_draining,
    worker_opened,
    worker_reaped,
    worker_text,
    worker_undrained,
)
from drumline.core.ids import SessionId, TaskId, session_text
from drumline.core.session import SessionSpec, TaskType
from drumline.core.state import TRANSITIONS, Act, State, Status


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


def test_a_cancellation_that_a_worker_has_yet_to_see_is_an_event_of_its_own() -> None:
    assert type_of(Act.CANCEL, State.RUNNING) == "drumline.task.cancel_requested"
    assert type_of(Act.CANCEL, State.CANCELLED) == "drumline.task.cancelled"
    assert type_of(None, State.QUEUED) == type_of(None, State.BLOCKED) == "drumline.task.submitted"


def test_a_published_event_carries_its_trace_and_its_page_where_it_has_them() -> None:
    trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    published = encode(cloud_event(replace(event(), trace=trace), link="https://here/t"))

    assert decode(published, dict) == decode(encode(cloud_event(event())), dict) | {
        "traceparent": trace,
        "link": "https://here/t",
    }
    assert trace_of(published) == trace
    assert trace_of(encode(cloud_event(event()))) is None


def test_the_id_of_a_message_names_a_place_in_each_log() -> None:
    assert parse_event_ids("5f0c9a1e-7-2.0b1c2d3e-10-0", field="x") == {
        "5f0c9a1e": EventPosition(7, 2),
        "0b1c2d3e": EventPosition(10, 0),
    }
    with pytest.raises(Invalid) as caught:
        parse_event_ids("5f0c9a1e-7-2.nonsense", field="Last-Event-ID")
    assert str(caught.value) == "Last-Event-ID: must be the id of an event, such as 5f0c9a1e-1042-0"


def test_a_message_names_no_more_logs_than_there_may_be_shards() -> None:
    ids = [f"{number:08x}-1-0" for number in range(MOST_LOGS + 1)]

    assert len(parse_event_ids(".".join(ids[1:]), field="x")) == MOST_LOGS
    with pytest.raises(Invalid) as caught:
        parse_event_ids(".".join(ids), field="Last-Event-ID")
    assert str(caught.value) == f"Last-Event-ID: must name at most {MOST_LOGS} logs"


SPEC = SessionSpec(
    host="h",
    pid=7,
    version="1.2",
    queues=("mail",),
    types=(TaskType(name="send"),),
    capacity=4,
    label="blue",
    app_version="shop 3",
)
WHO = {"host": "h", "pid": 7, "label": "blue"}


def test_the_facts_of_a_worker_say_which_it_is_and_whose() -> None:
    session = SessionId(255)
    subject = session_text(session)
    details = {"queues": ("mail",), "tasks": ("send",), "capacity": 4, "version": "1.2", "app_version": "shop 3"}

    assert worker_opened(session, SPEC) == Fact("drumline.worker.opened", subject, "", WHO | details)
    for word, fact in (
        ("draining", worker_draining),
        ("undrained", worker_undrained),
        ("closed", worker_closed),
        ("reaped", worker_reaped),
    ):
        assert fact(session, SPEC) == Fact(f"drumline.worker.{word}", subject, "", WHO)
    assert worker_closed(session, replace(SPEC, tenant="acme")).tenant == "acme"


def test_the_facts_of_a_queue_say_why_it_is_paused() -> None:
    paused = Fact("drumline.queue.paused", "mail", "acme", {"reason": "audit"})

    assert queue_paused("mail", tenant="acme", reason="audit") == paused
    assert queue_paused("mail", tenant="acme", reason=None) == replace(paused, data={"reason": None})
    assert queue_resumed("mail", tenant="acme") == Fact("drumline.queue.resumed", "mail", "acme", {})


def test_an_execution_without_a_worker_names_none() -> None:
    assert worker_text(255) == session_text(SessionId(255)) == "w-00000000000000ff"
    assert worker_text(0) is worker_text(None) is None
