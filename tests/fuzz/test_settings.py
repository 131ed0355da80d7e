"""Settings, query strings and filters."""

from datetime import timedelta
from functools import partial
from typing import Any
from urllib.parse import urlencode

import msgspec
from hypothesis import example, given
from hypothesis import strategies as st

from drumline.api.reading import read_any_query, read_query
from drumline.api.task_queries import TaskQuery
from drumline.api.tasks import ListQuery
from drumline.core.duration import millis
from drumline.core.errors import DrumlineError
from drumline.settings.leaves import LEAVES, Given, plain_value, read_value
from drumline.settings.queues import MOST_WEIGHT, parse_queues
from tests.fuzz.properties import accepted, fuzz, outcome

texts = (
    st.text(max_size=20)
    | st.sampled_from(
        ["", "on", "no", "1h", "100/60s", "unlimited", "[", "{}", "nan", "inf", "-1", "1e400", "http://["]
    )
    | st.integers().map(str)
    | st.from_regex(r"[a-z]{1,5}(=\d{0,5})?(,[a-z]{1,5}(=\d{0,5})?){0,3}", fullmatch=True)
)
untyped = st.none() | st.booleans() | st.integers() | st.floats() | texts | st.lists(texts | st.integers(), max_size=3)
query_pairs = st.lists(
    st.tuples(st.sampled_from([*TaskQuery.__struct_fields__, "limit", "cursor", "status", "x"]), texts), max_size=4
)


@fuzz(150)
@given(st.sampled_from(sorted(LEAVES)), texts)
@example("port", "\udcff")
@example("worker.queues", "a=" + "9" * 5000)
@example("worker.queues", "a=" + "0" * 5000)
def test_a_variable_of_the_environment_is_a_setting_or_is_refused_by_name(path: str, text: str) -> None:
    leaf = LEAVES[path]

    value = outcome(lambda: read_value(leaf, Given(text, leaf.variable, textual=True)))

    if isinstance(value, DrumlineError):
        assert str(value.field).startswith(path)
        assert leaf.variable in value.message
    elif isinstance(value, timedelta):
        shown = read_value(leaf, Given(plain_value(value), "shown", textual=True))
        assert isinstance(shown, timedelta)
        assert millis(shown) == millis(value)


@fuzz(150)
@given(st.sampled_from(sorted(LEAVES)), untyped)
@example("retention", 10**400)
@example("retention", -(10**400))
@example("worker.queues", "\ud800")
@example("limits.payload", 10**400)
def test_a_value_of_a_file_is_a_setting_or_is_refused_by_name(path: str, value: Any) -> None:
    read = outcome(lambda: read_value(LEAVES[path], Given(value, "drumline.yaml")))

    if isinstance(read, DrumlineError):
        assert str(read.field).startswith(path)


@fuzz()
@given(
    st.dictionaries(st.from_regex(r"[a-z0-9][a-z.:@-]{0,6}", fullmatch=True), st.integers(1, MOST_WEIGHT), max_size=4)
)
def test_the_weights_of_queues_are_read_as_they_are_written(weights: dict[str, int]) -> None:
    assert parse_queues([f" {queue} = {weight}" for queue, weight in weights.items()]) == weights


@fuzz()
@given(st.lists(st.text(max_size=12) | texts, max_size=4))
def test_queues_have_weights_within_bounds_or_are_refused(queues: list[str]) -> None:
    weights = accepted(lambda: parse_queues(queues))

    assert weights is None or all(1 <= weight <= MOST_WEIGHT for weight in weights.values())


@fuzz()
@given(st.binary(max_size=40) | query_pairs.map(lambda pairs: urlencode(pairs).encode()))
@example(b"%ff=1")
@example(b"queue=%00")
@example(b"limit=" + b"9" * 5000)
@example(b"&" * 5000)
@example(b"queue=null")
def test_a_query_is_read_or_refused_by_its_parameter(text: bytes) -> None:
    for shape in (TaskQuery, ListQuery):
        query = accepted(partial(read_query, text, shape))
        assert query is None or isinstance(query, shape)
    accepted(lambda: read_any_query(text))


@fuzz()
@given(
    st.fixed_dictionaries({}, optional={name: st.text(min_size=1, max_size=8) for name in TaskQuery.__struct_fields__})
)
def test_a_filter_is_read_as_it_is_written(fields: dict[str, str]) -> None:
    query = accepted(lambda: read_query(urlencode(fields, errors="surrogatepass").encode(), TaskQuery))

    if query is not None:
        given_fields = {name: value for name, value in msgspec.structs.asdict(query).items() if value is not None}
        assert given_fields == fields
