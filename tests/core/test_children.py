"""What children take from their parent, and how they are shown and carried."""

from typing import Any

import pytest
from msgspec import UNSET, Raw
from msgspec.structs import replace

from drumline.core.child_protocol import (
    OutcomeBody,
    OutcomePageBody,
    children_of,
    outcomes_body,
    outcomes_of,
    outcomes_request,
    start_request,
)
from drumline.core.child_views import PublicChild, show_child
from drumline.core.children import (
    ChildLink,
    ChildOutcome,
    ChildRequests,
    OnEnd,
    OutcomePage,
    ParentTask,
    as_child,
    inherit,
)
from drumline.core.clock import Instant, moment_of
from drumline.core.collapse import Collapse
from drumline.core.errors import Invalid
from drumline.core.ids import TaskId
from drumline.core.lease import Lease
from drumline.core.names import MOST_TAGS
from drumline.core.outcome import ErrorInfo
from drumline.core.protocol import LeaseBody
from drumline.core.state import State, Status
from drumline.core.task import Lane, TaskOptions, TaskRequest, TaskView, accept, decode_options, encode_options
from drumline.core.task_type import TypeDefaults, TypeRules
from drumline.core.views import ErrorBody

PARENT = TaskId("01890a5d-ac96-774b-bcce-b302099a8057")
CHILD = TaskId("01890a5d-ac96-774b-bcce-b302099a8058")
LEASE = Lease(PARENT, 3, 0xABC)
TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
OTHER_TRACE = "00-0af7651916cd43dd8448eb211c80319d-b7ad6b7169203331-01"
OF_PARENT = ParentTask(Lane("t", "parents", "p", 30), TaskOptions(tags=("eu", "vip"), trace=TRACE))
NO_RULES = TypeRules()


def inherited(asked: TaskRequest, rules: TypeRules = NO_RULES, parent: ParentTask = OF_PARENT) -> TaskRequest:
    found = inherit(asked, rules, parent)
    assert not isinstance(found, Invalid), found
    return found


@pytest.mark.parametrize(
    ("said", "declared", "queue", "priority"),
    [
        ({}, {}, "parents", 30),
        ({}, {"queue": "declared", "priority": 40}, "declared", 40),
        ({"queue": "said", "priority": 60}, {"queue": "declared", "priority": 40}, "said", 60),
        ({"priority": 0}, {"priority": 40}, "parents", 0),
        ({}, {"priority": 0}, "parents", 0),
    ],
)
def test_a_child_has_the_queue_and_priority_that_are_said_or_declared_or_its_parents(
    said: dict[str, Any], declared: dict[str, Any], queue: str, priority: int
) -> None:
    found = inherited(TaskRequest(name="c", **said), TypeRules(defaults=TypeDefaults(**declared)))
    assert (found.name, found.queue, found.priority) == ("c", queue, priority)


@pytest.mark.parametrize(
    ("said", "declared", "tags"),
    [
        (None, None, ("eu", "vip")),
        (None, ("slow",), ("slow", "eu", "vip")),
        (("own",), ("slow",), ("own", "eu", "vip")),
        ((), ("slow",), ("eu", "vip")),
        (("vip",), None, ("vip", "eu")),
    ],
)
def test_a_child_has_its_own_tags_before_those_of_its_parent(
    said: tuple[str, ...] | None, declared: tuple[str, ...] | None, tags: tuple[str, ...]
) -> None:
    rules = TypeRules(defaults=TypeDefaults(tags=declared))
    assert inherited(TaskRequest(name="c", tags=said), rules).tags == tags


def test_inherited_tags_are_left_out_where_they_would_be_too_many() -> None:
    own = tuple(f"own{n}" for n in range(MOST_TAGS - 1))
    assert inherited(TaskRequest(name="c", tags=own)).tags == (*own, "eu")


def test_a_child_with_too_many_tags_of_its_own_is_left_for_the_check_to_refuse() -> None:
    own = tuple(f"own{n}" for n in range(MOST_TAGS + 1))
    assert inherited(TaskRequest(name="c", tags=own)).tags == own


@pytest.mark.parametrize(
    ("field", "value"),
    [("idempotency_key", "k"), ("idempotency_key_alias", "k"), ("collapse", Collapse(singleton="queued", key="k"))],
)
def test_a_child_has_no_key_but_that_of_its_call(field: str, value: Any) -> None:
    found = inherit(replace(TaskRequest(name="c"), **{field: value}), NO_RULES, OF_PARENT)
    assert isinstance(found, Invalid)
    assert found.field == field
    assert found.message == "is not for children: the name and the key of its call tell a child apart"


@pytest.mark.parametrize(("own", "trace"), [(None, TRACE), (OTHER_TRACE, OTHER_TRACE)])
def test_an_accepted_child_names_its_parent_and_keeps_its_options(own: str | None, trace: str) -> None:
    task = accept(TaskRequest(name="c"), id=CHILD, tenant="t")
    task = replace(task, options=encode_options(TaskOptions(retries=7, trace=own)))
    child = as_child(task, PARENT, OF_PARENT)
    assert decode_options(child.options) == TaskOptions(retries=7, trace=trace, parent=PARENT)
    assert replace(child, options=task.options) == task


@pytest.mark.parametrize(("end", "word"), [(OnEnd.CANCEL, "cancel"), (OnEnd.ABANDON, "abandon")])
def test_children_to_start_come_back_from_the_wire_as_they_were(end: OnEnd, word: str) -> None:
    tasks = (TaskRequest(name="a"), TaskRequest(name="b", queue="q"))
    asked = ChildRequests(lease=LEASE, name="n", key="k", first=5, on_end=end, tasks=tasks, tenant="t")
    body = start_request(asked)
    assert (body.on_end, body.lease) == (word, LeaseBody(PARENT, 3, "0000000000000abc"))
    assert children_of(body, list(tasks)) == asked


@pytest.mark.parametrize(("body", "field"), [(("x", 1, "0" * 16), "lease.task"), ((PARENT, 1, "x"), "lease.nonce")])
def test_children_to_start_under_a_lease_that_is_none_are_refused(body: tuple[Any, ...], field: str) -> None:
    asked = start_request(ChildRequests(lease=LEASE, name="n", tasks=()))
    with pytest.raises(Invalid) as caught:
        children_of(replace(asked, lease=LeaseBody(*body)), [])
    assert caught.value.field == field


def test_a_page_of_outcomes_is_asked_for_by_call_and_place() -> None:
    asked = outcomes_request(LEASE, "n", "k", first=4)
    assert (asked.lease.epoch, asked.name, asked.key, asked.first) == (3, "n", "k", 4)


@pytest.mark.parametrize("has_more", [False, True])
def test_outcomes_come_back_from_the_wire_as_they_were(has_more: bool) -> None:
    page = OutcomePage(
        (
            ChildOutcome(place=0, child=CHILD, state=State.COMPLETED, result=Raw(b"[1]")),
            ChildOutcome(place=1, child=CHILD, state=State.FAILED, error=ErrorInfo("E", "m", "tb")),
            ChildOutcome(place=2, child=CHILD),
        ),
        has_more,
    )
    body = outcomes_body(page)
    assert [each.state for each in body.outcomes] == ["completed", "failed", UNSET]
    assert body.outcomes[1].error == ErrorBody("E", "m", "tb")
    assert outcomes_of(body) == page


def test_only_a_completed_child_has_a_result_on_the_wire() -> None:
    (body,) = outcomes_body(OutcomePage((ChildOutcome(place=0, child=CHILD, state=State.FAILED),))).outcomes
    assert body.result is UNSET


def test_a_state_that_only_a_later_server_knows_is_that_of_a_child_that_has_not_ended() -> None:
    page = outcomes_of(OutcomePageBody(outcomes=(OutcomeBody(place=0, child=CHILD, state="levitating"),)))
    assert page.outcomes[0].state is None


VIEW = TaskView(
    id=CHILD, lane=Lane("t", "q", "resize", 50), state=State.RUNNING, created_at=Instant(1000), due_at=Instant(1000),
    started_at=Instant(2000), epoch=1, attempt=1,
)  # fmt: skip
LINK = ChildLink(child=CHILD, name="call", key="", place=2, on_end=OnEnd.ABANDON, state=State.RUNNING)


def show(link: ChildLink, view: TaskView) -> PublicChild[str]:
    return show_child(PublicChild, link, view, now=Instant(5000), time=moment_of)


def test_a_child_is_shown_with_its_call_and_its_task() -> None:
    assert show(LINK, VIEW) == PublicChild(
        id=CHILD, name="resize", queue="q", status=Status.PROCESSING, call="call", key=None, place=2, on_end="abandon",
        created_at=moment_of(Instant(1000)), started_at=moment_of(Instant(2000)), finished_at=None,
    )  # fmt: skip


def test_a_child_that_has_ended_is_shown_with_its_end_and_the_key_of_its_call() -> None:
    ended = replace(VIEW, state=State.COMPLETED, started_at=None, finished_at=Instant(3000))
    shown = show(replace(LINK, key="k", on_end=OnEnd.CANCEL), ended)
    assert (shown.status, shown.key, shown.on_end) == (Status.COMPLETED, "k", "cancel")
    assert (shown.started_at, shown.finished_at) == (None, moment_of(Instant(3000)))


def test_a_child_that_is_not_due_yet_is_shown_as_pending() -> None:
    assert show(LINK, replace(VIEW, state=State.QUEUED, due_at=Instant(5001))).status is Status.PENDING
