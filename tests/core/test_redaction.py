"""Redaction: what stands under telling names is not shown, and comes back when somebody edits around it."""

import json
from typing import Any

import pytest
from msgspec import Raw

from drumline.core.codec import encode
from drumline.core.errors import Invalid
from drumline.core.job import JobRequest, JobTaskRequest
from drumline.core.redaction import (
    DEFAULT_REDACTION,
    REDACTED,
    Redaction,
    hidden_in,
    redacted_target,
    restored_target,
)
from drumline.core.schedule import ScheduleTarget
from drumline.core.task import TaskRequest
from tests.harness.cost import within


def raw(value: Any) -> Raw:
    return Raw(json.dumps(value).encode())


@pytest.mark.parametrize(
    "name",
    [
        "password", "Password", "db_password", "PASSWORD_HASH", "passwd", "passphrase", "secret", "client-secret",
        "clientSecret", "token", "access_token", "accessToken", "authorization", "Authorization", "Proxy-Authorization",
        "cookie", "Set-Cookie", "api_key", "apiKey", "X-API-Key", "aws_access_key_id", "private_key", "credentials",
    ],
)  # fmt: skip
def test_telling_names_hide_what_stands_under_them(name: str) -> None:
    assert json.loads(bytes(DEFAULT_REDACTION.payload(raw({"a": [{name: "hunter2"}]})))) == {"a": [{name: REDACTED}]}


@pytest.mark.parametrize("name", ["name", "max_tokens", "tokens", "author", "key", "passenger", "cookies_eaten"])
def test_other_names_do_not(name: str) -> None:
    payload = raw({name: "plain"})

    assert DEFAULT_REDACTION.payload(payload) is payload


def test_nothing_and_references_are_shown_as_they_are() -> None:
    payload = {"password": None, "token": "", "secret": {"$secret": "api"}, "cookie": {}}

    assert json.loads(bytes(DEFAULT_REDACTION.payload(raw(payload)))) == payload


def test_whole_objects_are_hidden() -> None:
    assert json.loads(bytes(DEFAULT_REDACTION.payload(raw({"credentials": {"user": "a", "x": [1]}})))) == {
        "credentials": REDACTED
    }


def test_the_rules_can_be_others_or_none() -> None:
    payload = raw({"iban": "DE89", "password": "hunter2"})

    assert json.loads(bytes(Redaction(["iban"]).payload(payload))) == {"iban": REDACTED, "password": "hunter2"}
    assert Redaction([]).payload(payload) is payload


def test_what_was_not_shown_comes_back_when_the_rest_was_edited() -> None:
    original = raw({"to": "a", "auth": [{"password": "one"}, {"password": "two"}]})

    edited = raw({"to": "b", "auth": [{"password": REDACTED}, {"password": "three"}]})

    assert json.loads(bytes(DEFAULT_REDACTION.restored(edited, original))) == {
        "to": "b",
        "auth": [{"password": "one"}, {"password": "three"}],
    }


def test_what_was_never_there_cannot_come_back() -> None:
    with pytest.raises(Invalid) as refused:
        DEFAULT_REDACTION.restored(raw({"a": {"password": REDACTED}}), raw({"a": {}}))

    assert refused.value.field == "payload.a.password"


def test_a_long_name_above_many_values_is_not_copied_when_they_are_restored() -> None:
    name = "n" * 400_000
    shown = Raw(json.dumps({name: [0] * 100_000 + [{"password": REDACTED}]}).encode())
    original = Raw(json.dumps({name: [0] * 100_000 + [{"password": "x"}]}).encode())

    restored = within(3, lambda: DEFAULT_REDACTION.restored(shown, original))

    assert json.loads(bytes(restored)) == json.loads(bytes(original))


def task_target(name: str, payload: object) -> ScheduleTarget:
    return ScheduleTarget(task=TaskRequest(name=name, payload=Raw(encode(payload))))


def job_target(**payloads: object) -> ScheduleTarget:
    tasks = {key: JobTaskRequest(name=f"n-{key}", payload=Raw(encode(payload))) for key, payload in payloads.items()}
    return ScheduleTarget(job=JobRequest(name="job", tasks=tasks))


HIDDEN, SHOWN = {"password": REDACTED, "to": "b"}, {"password": "hunter2", "to": "a"}


def test_targets_of_schedules_are_shown_with_hidden_values_redacted() -> None:
    task = redacted_target(task_target("mail", SHOWN), DEFAULT_REDACTION)
    assert task == task_target("mail", {"password": REDACTED, "to": "a"})
    job = redacted_target(job_target(one=SHOWN, two={"x": 1}), DEFAULT_REDACTION)
    assert job == job_target(one={"password": REDACTED, "to": "a"}, two={"x": 1})
    assert redacted_target(ScheduleTarget(), DEFAULT_REDACTION) == ScheduleTarget()


def test_edited_targets_of_schedules_get_their_hidden_values_back() -> None:
    edited = {"password": "hunter2", "to": "b"}
    task = restored_target(task_target("mail", HIDDEN), task_target("mail", SHOWN), DEFAULT_REDACTION)
    assert task == task_target("mail", edited)
    job = restored_target(job_target(one={"x": 1}, two=HIDDEN), job_target(one=HIDDEN, two=SHOWN), DEFAULT_REDACTION)
    assert job == job_target(one={"x": 1}, two=edited)
    assert restored_target(ScheduleTarget(), task_target("mail", SHOWN), DEFAULT_REDACTION) == ScheduleTarget()


@pytest.mark.parametrize(
    ("edited", "original", "field"),
    [
        (task_target("other", HIDDEN), task_target("mail", SHOWN), "task.payload.password"),
        (task_target("mail", HIDDEN), job_target(one=SHOWN), "task.payload.password"),
        (job_target(one=HIDDEN), job_target(two=SHOWN), "job.tasks.one.payload.password"),
        (job_target(one=HIDDEN), ScheduleTarget(), "job.tasks.one.payload.password"),
    ],
)
def test_a_hidden_value_goes_to_no_other_task(edited: ScheduleTarget, original: ScheduleTarget, field: str) -> None:
    with pytest.raises(Invalid) as refused:
        restored_target(edited, original, DEFAULT_REDACTION)
    assert refused.value.field == field
    assert refused.value.message == f"is {REDACTED}, and there is nothing it could stand for"


def test_a_target_that_asks_for_what_was_not_shown_is_found() -> None:
    assert hidden_in(task_target("mail", HIDDEN)) == "task"
    assert hidden_in(job_target(one=SHOWN, two=HIDDEN)) == "job.tasks.two"
    assert hidden_in(task_target("mail", SHOWN)) is None
    assert hidden_in(ScheduleTarget()) is None


@pytest.mark.parametrize("original", [{}, [], "text", {"a": [1]}, {"a": {"b": 1}}, None])
def test_a_payload_is_restored_whatever_shape_the_original_has(original: object) -> None:
    edited = {"a": [1, {"b": REDACTED}], "c": {"d": "x"}}
    assert json.loads(bytes(DEFAULT_REDACTION.restored(raw(edited), raw(original)))) == edited


def test_a_longer_list_is_restored_as_far_as_the_original_goes() -> None:
    edited, original = [{"password": REDACTED}, {"to": REDACTED}], [{"password": "one"}]
    assert json.loads(bytes(DEFAULT_REDACTION.restored(raw(edited), raw(original)))) == [
        {"password": "one"},
        {"to": REDACTED},
    ]


def test_without_rules_nothing_is_hidden_or_restored() -> None:
    payload = raw({"password": REDACTED})
    assert not Redaction([]).hides("password")
    assert Redaction([]).restored(payload, raw({})) is payload


def test_an_answer_about_a_name_stays_the_same() -> None:
    redaction = Redaction(["pass-word*"])
    assert [redaction.hides(name) for name in ("PASS_WORDS", "PASS_WORDS", "passport", "passport")] == [
        True, True, False, False,
    ]  # fmt: skip
