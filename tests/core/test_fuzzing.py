"""Whatever stands in a request is accepted or refused by its field: nothing else is raised, and nothing hangs."""

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Raw

from drumline.core.accept_job import accept_job
from drumline.core.clock import Instant
from drumline.core.cron import parse_cron
from drumline.core.duration import parse_duration
from drumline.core.errors import Invalid
from drumline.core.graph import check_graph
from drumline.core.ids import JobId, TaskId, parse_job_id, parse_session_id, parse_task_id
from drumline.core.job import JobRequest, JobTaskRequest
from drumline.core.redaction import DEFAULT_REDACTION
from drumline.core.references import find_references
from drumline.core.secret_references import find_secrets
from drumline.core.task import TaskRequest, accept
from drumline.core.timetable import Rule, timetable

ID = TaskId("01890a5d-ac96-774b-bcce-b302099a8057")
FUZZ = settings(max_examples=400, deadline=timedelta(seconds=20), suppress_health_check=list(HealthCheck))

near_cron = st.lists(
    st.from_regex(r"[\d*/,\-?LW#A-Z]{1,12}", fullmatch=True) | st.sampled_from(["*", "*/5", "1-5", "MON#2", "L", "0"]),
    min_size=4,
    max_size=7,
).map(" ".join)
near_duration = st.from_regex(r"[+-]?[\d.eE]{0,8}\s?(ms|s|m|h|d|w|min)?", fullmatch=True)
names = st.text(min_size=1, max_size=4)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["$secret", "$result", "$literal", "format", "password", "a"]), inner, max_size=3
        )
    ),
    max_leaves=20,
)


def outcome(act: Callable[[], Any]) -> Any:
    """Return what comes of it; `Invalid` is an answer like any other."""
    try:
        return act()
    except Invalid as error:
        return error


@FUZZ
@given(st.text(max_size=60) | near_cron)
def test_any_cron_fires_or_is_refused(text: str) -> None:
    cron = outcome(lambda: parse_cron(text))
    if not isinstance(cron, Invalid):
        outcome(
            lambda: timetable(Rule(cron=cron.text, timezone="Europe/Berlin")).next_after(Instant(1_700_000_000_000))
        )


@FUZZ
@given(st.text(max_size=30) | near_duration | st.floats() | st.integers())
def test_any_duration_is_a_time_or_refused(value: Any) -> None:
    read = outcome(lambda: parse_duration(value, field="delay"))

    assert isinstance(read, timedelta | Invalid)


@FUZZ
@given(st.text(max_size=40) | st.uuids().map(str) | st.from_regex(r"w-[0-9a-fA-F]{14,18}", fullmatch=True))
@pytest.mark.parametrize("parse", [parse_task_id, parse_job_id, parse_session_id])
def test_any_id_is_one_or_refused(parse: Callable[..., Any], text: str) -> None:
    outcome(lambda: parse(text, field="id"))


@FUZZ
@given(st.dictionaries(names, st.lists(names, max_size=5).map(tuple), max_size=12))
def test_any_graph_is_sorted_or_refused(graph: dict[str, tuple[str, ...]]) -> None:
    outcome(lambda: check_graph(graph, most=100))
    tasks = {key: JobTaskRequest(name="work", needs=needs) for key, needs in graph.items()}
    outcome(lambda: accept_job(JobRequest(name="j", tasks=tasks), id=JobId(ID), new_id=lambda: ID))


def test_a_long_chain_and_a_wide_fan_are_looked_through_at_once() -> None:
    chain = {str(number): (str(number - 1),) if number else () for number in range(9_000)}
    circle = {**chain, "0": ("8999",)}
    fan: dict[str, tuple[str, ...]] = {
        **{str(number): () for number in range(9_000)},
        "all": tuple(map(str, range(9_000))),
    }

    assert not isinstance(outcome(lambda: check_graph(chain, most=10_000)), Invalid)
    assert not isinstance(outcome(lambda: check_graph(fan, most=10_000)), Invalid)
    assert isinstance(outcome(lambda: check_graph(circle, most=10_000)), Invalid)


@FUZZ
@given(json_values)
def test_any_payload_is_looked_through_for_references(value: Any) -> None:
    outcome(lambda: find_secrets(value))
    outcome(lambda: find_references(value, ("a", "b")))
    raw = Raw(json.dumps(value).encode())
    assert DEFAULT_REDACTION.restored(DEFAULT_REDACTION.payload(raw), raw) is not None
    outcome(lambda: accept(TaskRequest(name="work", payload=raw), id=ID))


@FUZZ
@given(st.binary(max_size=40) | st.text(max_size=40).map(lambda text: text.encode("utf-8", "replace")))
def test_any_bytes_are_a_payload_or_refused(data: bytes) -> None:
    outcome(lambda: accept(TaskRequest(name="work", payload=Raw(data)), id=ID))
