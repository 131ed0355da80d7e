"""Which events a client follows, and which a subscription is told."""

from typing import Any

import msgspec
import pytest

from drumline.core.accept_subscription import (
    SubscriptionPatch,
    SubscriptionRequest,
    accept_patch,
    accept_subscription,
)
from drumline.core.clock import Instant
from drumline.core.errors import Invalid
from drumline.core.event import Event, EventPosition, TaskChange
from drumline.core.event_interest import EventInterest, check_types
from drumline.core.ids import TaskId
from drumline.core.signing import SigningSecret, secret_text
from drumline.core.state import State, Status
from drumline.core.subscription import (
    EventFilter,
    Subscription,
    SubscriptionChange,
    SubscriptionId,
    check_filter,
    is_told,
    states_wanted,
)
from drumline.core.target import Target, TargetKind

HOOK = Target(TargetKind.WEBHOOK, "https://example.org/x")
MAIL = Target(TargetKind.EMAIL, "ada@example.org")


def event(type_: str = "drumline.task.failed", *, subject: str = "t-1", tenant: str = "acme", **data: Any) -> Event:
    is_task = type_.startswith("drumline.task.")
    change = TaskChange(id=TaskId(subject), status=data.pop("status", Status.FAILED), **data) if is_task else data
    return Event(
        log="l", place=EventPosition(1, 0), type=type_, at=Instant(100), subject=subject, tenant=tenant, data=change
    )


def subscription(target: Target = HOOK, *, tenant: str = "acme", **wanted: Any) -> Subscription:
    return Subscription(
        id=SubscriptionId("s"),
        tenant=tenant,
        name="mine",
        filter=EventFilter(**wanted),
        target=target,
        created_at=Instant(100),
    )


@pytest.mark.parametrize(
    ("interest", "is_of_interest"),
    [
        (EventInterest(), True),
        (EventInterest(tenant="acme"), True),
        (EventInterest(tenant="other"), False),
        (EventInterest(subjects=("t-0", "t-1")), True),
        (EventInterest(subjects=("t-2",)), False),
        (EventInterest(types=("task",)), True),
        (EventInterest(types=("job", "task.failed")), True),
        (EventInterest(types=("task.fail",)), False),
        (EventInterest(types=("tas",)), False),
        (EventInterest(hidden=("task",)), False),
        (EventInterest(hidden=("task.failed",), types=("task",)), False),
        (EventInterest(hidden=("job",)), True),
        (EventInterest(names=("mail",)), True),
        (EventInterest(names=("other",)), False),
        (EventInterest(queues=("q",)), True),
        (EventInterest(queues=("other",)), False),
        (EventInterest(jobs=("j",)), True),
        (EventInterest(jobs=("other",)), False),
        (EventInterest(tags=("b", "c")), True),
        (EventInterest(tags=("c",)), False),
        (EventInterest(statuses=(Status.FAILED,)), True),
        (EventInterest(statuses=(Status.COMPLETED,)), False),
        (EventInterest(names=("mail",), queues=("other",)), False),
        (EventInterest(names=("mail",), tenant="other"), False),
    ],
)
def test_a_client_gets_the_events_of_tasks_that_it_asked_for(interest: EventInterest, is_of_interest: bool) -> None:
    happened = event(name="mail", queue="q", job="j", tags=("a", "b"))

    assert interest.has(happened) is is_of_interest


@pytest.mark.parametrize(
    ("interest", "happened", "is_of_interest"),
    [
        (EventInterest(queues=("mail",)), event("drumline.queue.paused", subject="mail"), True),
        (EventInterest(queues=("mail",)), event("drumline.queue.paused", subject="other", queue="mail"), False),
        (EventInterest(queues=("mail",)), event("drumline.bulk.begun", queue="mail"), True),
        (EventInterest(jobs=("j",)), event("drumline.job.failed", subject="j"), True),
        (EventInterest(jobs=("j",)), event("drumline.job.failed", subject="k", job="j"), False),
        (EventInterest(jobs=("j",)), event("drumline.bulk.begun", job="j"), True),
        (EventInterest(names=("n",)), event("drumline.job.failed", name="n"), True),
        (EventInterest(names=("n",)), event("drumline.job.failed"), False),
        (EventInterest(tags=("a",)), event("drumline.job.failed", tags=["a"]), True),
        (EventInterest(tags=("a",)), event("drumline.job.failed", tags=None), False),
        (EventInterest(statuses=(Status.FAILED,)), event("drumline.job.failed", status="FAILED"), True),
        (EventInterest(statuses=(Status.FAILED,)), event("drumline.job.failed"), False),
    ],
)
def test_a_fact_is_matched_by_what_it_says_and_is_about(
    interest: EventInterest, happened: Event, is_of_interest: bool
) -> None:
    assert interest.has(happened) is is_of_interest


def test_kinds_of_events_are_taken_in_every_usual_form() -> None:
    given = ("task.failed", "drumline.task.failed", "task.*", "drumline.job.*", "job", "a" * 40 + "." + "b" * 40)

    assert check_types(given, field="types") == (
        "task.failed", "task.failed", "task", "job", "job", "a" * 40 + "." + "b" * 40,
    )  # fmt: skip


@pytest.mark.parametrize("word", ["", "Task", "a.b.c", "a b", "a" * 41, "a." + "b" * 41, "*"])
def test_other_kinds_of_events_are_refused(word: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_types((word,), field="types")

    assert str(caught.value) == "types: must be a kind of event, such as task.failed, or task for all of them"


@pytest.mark.parametrize(
    ("wanted", "is_wanted"),
    [
        ({}, True),
        ({"events": ("drumline.task.*",)}, True),
        ({"events": ("drumline.task.completed",)}, False),
        ({"events": ("drumline.job.*",)}, False),
        ({"task": "mail"}, True),
        ({"task": "other"}, False),
        ({"queue": "q"}, True),
        ({"queue": "other"}, False),
        ({"job": "j"}, True),
        ({"job": "other"}, False),
        ({"tag": "b"}, True),
        ({"tag": "c"}, False),
    ],
)
def test_a_subscription_is_told_of_the_ends_of_tasks_that_fit(wanted: dict[str, Any], is_wanted: bool) -> None:
    happened = event(name="mail", queue="q", job="j", tags=("a", "b"))

    assert is_told(subscription(**wanted), happened) is is_wanted


def test_a_subscription_to_all_of_tasks_is_told_of_ends_only() -> None:
    every = subscription(events=("drumline.task.*",))

    assert not is_told(every, event("drumline.task.started"))
    assert is_told(every, event("drumline.task.skipped"))


def test_a_subscription_is_told_of_its_own_tenant_and_of_what_came_after_it() -> None:
    assert not is_told(subscription(tenant="other"), event())
    assert is_told(subscription(tenant="default"), event(tenant=""))
    assert not is_told(subscription(), event(tenant=""))
    assert not is_told(subscription(), msgspec.structs.replace(event(), at=Instant(99)))


@pytest.mark.parametrize(
    ("wanted", "happened", "is_wanted"),
    [
        ({"job": "j"}, event("drumline.job.failed", subject="j"), True),
        ({"job": "name"}, event("drumline.job.failed", name="name"), True),
        ({"job": "k"}, event("drumline.job.failed", subject="j", job="k"), False),
        ({"job": "j"}, event("drumline.limit.reached", job="j"), True),
        ({"job": "l"}, event("drumline.limit.reached", subject="l"), False),
        ({"queue": "q"}, event("drumline.queue.paused", subject="q"), True),
        ({"queue": "q"}, event("drumline.limit.reached", queue="q"), True),
        ({"queue": "q"}, event("drumline.limit.reached", subject="q"), False),
        ({"task": "mail"}, event("drumline.limit.reached", task="mail"), True),
        ({"task": "mail"}, event("drumline.limit.reached", task_name="mail"), True),
        ({"task": "mail"}, event("drumline.limit.reached", name="mail"), False),
        ({"tag": "a"}, event("drumline.job.failed", tags=["a"]), True),
        ({"tag": "a"}, event("drumline.job.failed", tags=None), False),
    ],
)
def test_a_subscription_is_told_of_facts_that_fit(wanted: dict[str, Any], happened: Event, is_wanted: bool) -> None:
    noun = happened.type.rpartition(".")[0]

    assert is_told(subscription(events=(f"{noun}.*",), **wanted), happened) is is_wanted


def test_a_filter_says_which_ends_of_tasks_it_wants() -> None:
    assert states_wanted(EventFilter()) == {State.FAILED}
    assert states_wanted(EventFilter(events=("drumline.task.*",))) == {
        State.COMPLETED, State.FAILED, State.CANCELLED, State.SKIPPED,
    }  # fmt: skip
    assert states_wanted(EventFilter(events=("drumline.job.*",))) == frozenset()


def test_a_filter_is_kept_with_the_full_names_of_its_events_each_once() -> None:
    kept = check_filter(
        EventFilter(events=("task.failed", "drumline.task.failed", "job.*"), task="t", queue="q", job="j", tag="x")
    )

    assert kept == EventFilter(events=("drumline.task.failed", "drumline.job.*"), task="t", queue="q", job="j", tag="x")
    assert len(check_filter(EventFilter(events=("job.failed",) * 50)).events) == 1


@pytest.mark.parametrize(
    ("wanted", "told"),
    [
        ({"events": ()}, "events: must have at least one type of event"),
        ({"events": ("job.failed",) * 51}, "events: must be at most 50"),
        *(
            ({"events": ("job.*", text)},
             "events[1]: must be a type of event such as task.failed, or job.* for all of a noun")
            for text in ("x", "job", "Job.failed", "job.failed.x", "job." + "a" * 41, "a" * 41 + ".x", "*")
        ),
        (
            {"events": ("task.started",)},
            "events[0]: must be the end of a task: task.completed, task.failed, task.cancelled, task.skipped; follow",
        ),
        ({"task": " "}, "task: must not be blank"),
        ({"queue": "a b"}, "queue: "),
        ({"job": ""}, "job: must not be blank"),
        ({"job": "x" * 256}, "job: must be at most "),
        ({"tag": "x" * 256}, "tag: must be at most "),
    ],
)  # fmt: skip
def test_a_filter_that_cannot_be_is_refused_by_its_field(wanted: dict[str, Any], told: str) -> None:
    with pytest.raises(Invalid) as caught:
        check_filter(EventFilter(**wanted))

    assert str(caught.value).startswith(told)


def accepted(**request: Any) -> Any:
    return accept_subscription(
        SubscriptionRequest(name="mine", **request),
        id=SubscriptionId("s"),
        tenant="acme",
        new_secret=lambda: "made",
    )


def test_a_webhook_gets_a_secret_and_a_mail_address_none() -> None:
    own = secret_text(b"k" * 24)

    assert accepted(webhook=HOOK.address).secrets == (SigningSecret("made"),)
    assert accepted(webhook=HOOK.address, secret=own).secrets == (SigningSecret(own),)
    assert accepted(email=MAIL.address).secrets == ()


def test_a_subscription_is_accepted_with_all_that_was_asked_for() -> None:
    made = accepted(email=MAIL.address, events=("job.*",), task="t", queue="q", job="j", tag="x")

    assert (made.id, made.tenant, made.name, made.target) == ("s", "acme", "mine", MAIL)
    assert made.filter == EventFilter(events=("drumline.job.*",), task="t", queue="q", job="j", tag="x")
    assert accepted(email=MAIL.address).filter == EventFilter()


@pytest.mark.parametrize(
    ("request_", "told"),
    [
        ({}, "webhook: must have either webhook or email"),
        ({"email": MAIL.address, "secret": "x"}, "secret: is for webhooks only"),
        ({"webhook": HOOK.address, "secret": "x"}, "secret: must be whsec_"),
        ({"email": MAIL.address, "name": ""}, "name: must not be blank"),
    ],
)
def test_a_subscription_that_cannot_be_is_refused_by_its_field(request_: dict[str, Any], told: str) -> None:
    request = msgspec.structs.replace(SubscriptionRequest(name="mine"), **request_)

    with pytest.raises(Invalid) as caught:
        accept_subscription(request, id=SubscriptionId("s"), tenant="acme", new_secret=lambda: "made")

    assert str(caught.value).startswith(told)


@pytest.mark.parametrize(
    ("patch", "change"),
    [
        (SubscriptionPatch(name="new"), SubscriptionChange(name="new")),
        (SubscriptionPatch(enabled=False), SubscriptionChange(is_enabled=False)),
        (SubscriptionPatch(reason="why"), SubscriptionChange(reason="why")),
        (SubscriptionPatch(reason=None), SubscriptionChange()),
        (SubscriptionPatch(webhook="https://b.c"), SubscriptionChange(address="https://b.c")),
        (
            SubscriptionPatch(queue=None, tag="x"),
            SubscriptionChange(filter=EventFilter(events=("drumline.job.*",), task="t", job="j", tag="x")),
        ),
        (
            SubscriptionPatch(events=("task.failed",), job="k", task="u"),
            SubscriptionChange(filter=EventFilter(events=("drumline.task.failed",), task="u", queue="q", job="k")),
        ),
    ],
)
def test_a_patch_changes_what_it_names_and_nothing_else(patch: SubscriptionPatch, change: SubscriptionChange) -> None:
    old = subscription(events=("drumline.job.*",), task="t", queue="q", job="j")

    assert accept_patch(patch, old) == change


@pytest.mark.parametrize(
    ("patch", "target", "told"),
    [
        (SubscriptionPatch(), HOOK, "body: must have something to change"),
        (SubscriptionPatch(email="a@b"), HOOK, "email: cannot be given: this subscription has a webhook"),
        (
            SubscriptionPatch(webhook="https://a.b"),
            MAIL,
            "webhook: cannot be given: this subscription has a mail address",
        ),
        (SubscriptionPatch(webhook="x"), HOOK, "webhook: must start with http:// or https://"),
        (SubscriptionPatch(email="x"), MAIL, "email: must be one mail address such as ada@example.org"),
        (SubscriptionPatch(reason=" "), HOOK, "reason: must not be blank"),
        (SubscriptionPatch(name=" "), HOOK, "name: must not be blank"),
    ],
)
def test_a_patch_that_cannot_be_is_refused_by_its_field(patch: SubscriptionPatch, target: Target, told: str) -> None:
    with pytest.raises(Invalid) as caught:
        accept_patch(patch, subscription(target))

    assert str(caught.value) == told


def test_a_mail_address_can_be_changed() -> None:
    assert accept_patch(SubscriptionPatch(email="b@c"), subscription(MAIL)) == SubscriptionChange(address="b@c")
