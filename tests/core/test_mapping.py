"""Which task a `map` starts, and that a key for some tasks is asked about it."""

from typing import Any

import pytest
from msgspec import Raw

from drumline.core.codec import encode
from drumline.core.errors import Forbidden
from drumline.core.mapping import MappedTask, allow_task, mapped_task, names_in
from drumline.core.task_type import TypeDefaults, TypeRules


def payload(**fields: Any) -> Raw:
    return Raw(encode({"items": [1], **fields}))


RESIZE = payload(each={"name": "resize", "queue": "images"})


@pytest.mark.parametrize(
    ("each", "found"),
    [
        ({"name": "resize"}, MappedTask("resize", None)),
        ({"name": "resize", "queue": "images", "payload": {}}, MappedTask("resize", "images")),
        ({"name": "resize", "queue": None}, MappedTask("resize", None)),
        ({"name": "map"}, None),
        ({"name": 5}, None),
        ({}, None),
        ({"name": "resize", "queue": 5}, None),
        ({"$result": "list"}, None),
        (["resize"], None),
        (None, None),
    ],
)
def test_the_task_of_a_map_is_known_where_its_submission_names_it(each: Any, found: MappedTask | None) -> None:
    assert mapped_task(payload(each=each)) == found


@pytest.mark.parametrize(
    "given",
    [Raw(b"{}"), Raw(b"["), payload(each={"name": "n"}, window=0), payload(each={"name": "n"}, other=1)],
)
def test_the_task_of_a_payload_that_is_none_of_a_map_is_not_known(given: Raw) -> None:
    assert mapped_task(given) is None


@pytest.mark.parametrize(
    ("name", "given", "names"),
    [
        ("map", RESIZE, {"map", "resize"}),
        ("map", payload(each={}), {"map"}),
        ("report", RESIZE, {"report"}),
    ],
)
def test_a_map_is_known_by_its_own_name_and_that_of_the_task_that_it_starts(
    name: str, given: Raw, names: set[str]
) -> None:
    assert names_in(name, given) == names


class Asked:
    """Notes which tasks a caller was asked about."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str, str]] = []

    def __call__(self, name: str, queue: str, *, field: str = "") -> None:
        self.asked.append((name, queue, field))


RULES = {"resize": TypeRules(defaults=TypeDefaults(queue="declared"))}


@pytest.mark.parametrize(
    ("name", "each", "rules", "asked"),
    [
        ("report", {"name": "resize"}, RULES, []),
        ("map", {"name": "resize", "queue": "images"}, RULES, [("resize", "images", "tasks[1].payload.each.")]),
        ("map", {"name": "resize"}, RULES, [("resize", "declared", "tasks[1].payload.each.")]),
        ("map", {"name": "resize"}, {}, [("resize", "q", "tasks[1].payload.each.")]),
    ],
)
def test_a_key_is_asked_about_a_map_and_about_what_it_starts(
    name: str, each: Any, rules: dict[str, TypeRules], asked: list[tuple[str, str, str]]
) -> None:
    allow = Asked()
    allow_task(allow, name, "q", payload(each=each), rules, field="tasks[1].")
    assert allow.asked == [(name, "q", "tasks[1]."), *asked]


@pytest.mark.parametrize("field", ["", "tasks[1]."])
def test_a_map_of_an_unknown_task_is_refused_for_a_key_for_some_tasks(field: str) -> None:
    allow = Asked()
    with pytest.raises(Forbidden) as caught:
        allow_task(allow, "map", "q", payload(each={"name": "map"}), {}, field=field)
    assert caught.value.field == f"{field}payload.each"
    assert caught.value.message == (
        "this key is for some tasks only, so it must be said which task a map starts: one that is no map itself"
    )
    assert allow.asked == [("map", "q", field)]


def test_the_fields_of_one_submission_have_no_prefix() -> None:
    allow = Asked()
    allow_task(allow, "map", "q", RESIZE, {})
    assert allow.asked == [("map", "q", ""), ("resize", "images", "payload.each.")]
