"""Which order of messages counts: an event may be repeated at any time later, and comes where it first came."""

from typing import Any

from tests.chaos.events import disordered
from tests.kafka.reading import firsts


def event(number: int) -> dict[str, Any]:
    return {"id": f"e{number}", "subject": "a task", "sequence": f"{number:04}"}


def test_a_repetition_by_a_relay_that_was_stopped_for_a_while_is_no_disorder() -> None:
    messages = [event(1), event(2), event(3), event(1), event(2)]

    assert [message["id"] for message in firsts(messages)] == ["e1", "e2", "e3"]
    assert disordered(messages) == []


def test_an_event_that_first_comes_after_a_later_one_is_found() -> None:
    assert disordered([event(2), event(1), event(2)]) == ["a task: event 0001 came after 0002"]
