"""Filters: text that callers type into a search box, a flag or a URL."""

from hypothesis import example, given
from hypothesis import strategies as st

from drumline.core.clock import Instant
from drumline.core.errors import DrumlineError, Invalid
from drumline.core.filter_subjects import TASKS
from drumline.core.filter_syntax import LONGEST_FILTER, MOST_TERMS, scan
from drumline.core.filters import read_filter
from drumline.core.ids import TaskId
from drumline.core.state import State
from drumline.core.task import Lane, TaskView
from tests.fuzz.properties import accepted, fuzz, outcome, steps

NOW = Instant(1_790_000_000_000)
VIEW = TaskView(
    id=TaskId("01a0c4f4-2800-7abc-8123-0123456789ab"), lane=Lane("default", "mail", "charge", 0), state=State.FAILED,
    created_at=NOW, due_at=NOW, epoch=1, attempt=1,
)  # fmt: skip
fields = st.sampled_from([*TASKS.fields, "payload.a", "payload.a.0", "since", "", "foo"])
operators = st.sampled_from([":", "=", "!=", ">", ">=", "<", "<=", ":>", ""])
known_values = ["failed", "a*", '"a b"', "2h", "+2h", "17", "1e400", "2026-10-01", "-5", "a,b", ""]
values = st.sampled_from(known_values) | st.text(max_size=8)
near_terms = st.tuples(st.sampled_from(["", "-", "--"]), fields, operators, values).map("".join)
near_filters = st.lists(near_terms, max_size=8).map(" ".join)
names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(str.strip)


@fuzz(300)
@given(near_filters | st.text(max_size=60))
@example('name:"')
@example("-")
@example("a:=:")
@example("id:-")
@example("payload..a=1")
@example("created>9999999999999999999d")
@example("attempts:٣")
def test_any_text_is_a_filter_or_refused_by_its_field(text: str) -> None:
    made = outcome(lambda: read_filter(text, TASKS, now=NOW))

    if isinstance(made, DrumlineError):
        assert isinstance(made, Invalid)
        assert made.field == "filter"
        return
    assert isinstance(made.matches(VIEW, NOW), bool)
    assert isinstance(made.matches_payload({"a": [1, "b", None, {"c": 2}]}), bool)
    assert made.narrowing(TASKS.statuses).statuses is None or made.names_status


@fuzz()
@given(st.lists(near_terms.filter(lambda term: accepted(lambda: scan(term)) is not None), max_size=6))
def test_the_terms_of_a_filter_are_those_that_were_joined(terms: list[str]) -> None:
    alone = [term for text in terms for term in scan(text)]
    joined = accepted(lambda: scan(" ".join(terms)))

    if joined is not None and len(alone) <= MOST_TERMS:
        assert [(term.field, term.values) for term in joined] == [(term.field, term.values) for term in alone]
        assert all(" ".join(terms)[term.place - 1 :].startswith(term.text) for term in joined)


@fuzz()
@given(names)
def test_a_quoted_name_means_that_name_and_no_other(name: str) -> None:
    quoted = name.replace("\\", "\\\\").replace('"', '\\"')
    made = read_filter(f'name:"{quoted}"', TASKS, now=NOW)

    assert made.narrowing(TASKS.statuses).exact == {"name": name}
    assert made.covers_lane(Lane("t", "q", name, 0))
    assert not made.covers_lane(Lane("t", "q", f"{name}x", 0))


@fuzz(60)
@given(near_filters.filter(bool))
def test_the_work_of_reading_grows_with_the_length(text: str) -> None:
    short = (text * 40)[: LONGEST_FILTER // 4]
    long = (text * 400)[:LONGEST_FILTER]

    assert steps(lambda: outcome(lambda: scan(long))) <= 5 * steps(lambda: outcome(lambda: scan(short))) + 500
