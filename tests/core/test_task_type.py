"""What a worker may declare about a type of task, and what submissions of the type go by."""

from typing import Any

import pytest
from msgspec.structs import replace

from drumline.core.errors import Invalid
from drumline.core.payload_check import COMPILE_COST, Detail, PayloadCheck
from drumline.core.retry import MOST_RETRIES, Backoff
from drumline.core.task_type import (
    LARGEST_SCHEMA,
    NO_DEFAULTS,
    UNKNOWN_TYPE,
    PayloadMode,
    StoredType,
    SubmissionWarning,
    TypeDefaults,
    TypeRules,
    read_type,
    rules_of,
    stored_defaults,
    stored_schema,
    unfit_payload,
    unknown_type,
    weight_of_rules,
)

SCHEMA = b'{"type":"object"}'


@pytest.mark.parametrize(
    "defaults",
    [
        NO_DEFAULTS,
        TypeDefaults(
            queue="q", priority=100, retries=MOST_RETRIES, backoff=Backoff(), timeout=0.001, tags=("eu",), expires=60.0
        ),
        TypeDefaults(retries=0, priority=-100),
    ],
)
def test_defaults_that_a_submission_could_have_are_taken_as_they_are(defaults: TypeDefaults) -> None:
    assert defaults.check(field="types[1].defaults") is defaults


@pytest.mark.parametrize(
    ("declared", "field"),
    [
        ({"queue": "a b"}, "queue"),
        ({"priority": 101}, "priority"),
        ({"retries": -1}, "retries"),
        ({"retries": MOST_RETRIES + 1}, "retries"),
        ({"backoff": Backoff(base=-1)}, "backoff.base"),
        ({"timeout": 0.0}, "timeout"),
        ({"timeout": -1.0}, "timeout"),
        ({"expires": 0.0}, "expires"),
        ({"tags": ("",)}, "tags[0]"),
    ],
)
def test_a_default_that_no_submission_could_have_is_refused_by_its_field(declared: dict[str, Any], field: str) -> None:
    with pytest.raises(Invalid) as caught:
        TypeDefaults(**declared).check(field="types[1].defaults")
    assert caught.value.field == f"types[1].defaults.{field}"


def test_bounds_of_defaults_are_told() -> None:
    for declared, message in (
        (TypeDefaults(retries=-1), f"must be from 0 to {MOST_RETRIES}"),
        (TypeDefaults(timeout=0.0), "must be more than zero"),
    ):
        with pytest.raises(Invalid) as caught:
            declared.check(field="d")
        assert caught.value.message == message


def test_a_schema_is_stored_unless_it_is_too_large() -> None:
    assert stored_schema(None) is None
    assert stored_schema({"type": "object"}) == SCHEMA
    largest = "x" * (LARGEST_SCHEMA - 2)
    assert stored_schema(largest) == f'"{largest}"'.encode()
    assert stored_schema(largest + "x") is None


def test_defaults_come_back_from_the_store_as_they_were() -> None:
    declared = TypeDefaults(queue="q", tags=("eu",))
    stored = stored_defaults(declared)
    assert stored is not None
    assert read_type(stored.decode(), None, None) == StoredType(defaults=declared)
    assert stored_defaults(None) is None


def test_a_type_that_declares_nothing_has_the_one_object_for_it() -> None:
    assert read_type(None, None, None).defaults is NO_DEFAULTS
    assert read_type("{}", None, None).defaults is NO_DEFAULTS


def test_both_schemas_of_a_type_are_read() -> None:
    assert read_type(None, "1", "2") == StoredType(schema=b"1", former_schema=b"2")


STORED = StoredType(defaults=TypeDefaults(queue="q"), schema=SCHEMA, former_schema=b"{}")


@pytest.mark.parametrize(
    ("mode", "checks", "warns"),
    [(PayloadMode.REFUSE, True, False), (PayloadMode.WARN, False, True), (PayloadMode.OFF, False, False)],
)
def test_payloads_are_checked_as_the_installation_is_set_to(mode: PayloadMode, checks: bool, warns: bool) -> None:
    check = PayloadCheck(SCHEMA, b"{}")
    rules = rules_of(STORED, mode=mode)
    assert rules == TypeRules(
        defaults=STORED.defaults, check=check if checks else None, warn=check if warns else None, is_known=True
    )


def test_payloads_are_not_checked_unless_that_is_set() -> None:
    assert rules_of(STORED) == TypeRules(defaults=STORED.defaults)
    assert rules_of(StoredType(), mode=PayloadMode.REFUSE).check is None
    assert rules_of(None, mode=PayloadMode.REFUSE) is UNKNOWN_TYPE


@pytest.mark.parametrize("detail", ["full", "brief", "none"])
def test_rules_tell_as_much_as_a_caller_may_know(detail: Detail) -> None:
    check = PayloadCheck(SCHEMA, None)
    told = replace(check, detail=detail)
    assert TypeRules(check=check).telling(detail) == TypeRules(check=told)
    assert TypeRules(warn=check).telling(detail) == TypeRules(warn=told)
    assert TypeRules().telling(detail) == TypeRules()


def test_a_name_that_no_worker_has_published_is_warned_about() -> None:
    message = "no worker has published a task named chrage: it waits for one"
    assert unknown_type("chrage") == SubmissionWarning("unknown_type", message, "name")
    assert unknown_type("chrage", field="tasks[1].name").field == "tasks[1].name"


def test_a_payload_that_does_not_fit_is_warned_about() -> None:
    message = "does not fit the task's parameters: must be a number"
    assert unfit_payload(Invalid("must be a number", field="payload.n")) == SubmissionWarning(
        "unfit_payload", message, "payload.n"
    )
    assert unfit_payload(Invalid("must be a number")).field == ""


def test_a_payload_is_checked_by_the_schema_of_its_type() -> None:
    schema = b'{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}'
    rules = rules_of(StoredType(schema=schema), mode=PayloadMode.REFUSE)
    assert rules.check is not None
    with pytest.raises(Invalid):
        rules.check.check(b'{"n":"x"}')


def test_types_weigh_as_much_as_is_compiled_before_their_payloads_are_checked() -> None:
    stored = StoredType(schema=b'{"title":"a schema that no other test has"}')
    weights = [rules_of(stored, mode=mode).weight for mode in PayloadMode]

    heavy = rules_of(stored, mode=PayloadMode.REFUSE)

    assert stored.schema is not None
    assert weights == [COMPILE_COST * len(stored.schema)] * 2 + [0]
    assert weight_of_rules([heavy, UNKNOWN_TYPE, rules_of(stored, mode=PayloadMode.OFF), heavy]) == 2 * weights[0]
