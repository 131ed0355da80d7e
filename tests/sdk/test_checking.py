"""Mistakes in options are told where they are written, in the words of the SDK."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from drumline import Backoff, Drumline, Invalid, NotifyTarget
from drumline.sdk.checking import kind_of
from drumline.sdk.cron import CronOptions
from drumline.sdk.dag import DagOptions
from drumline.sdk.node import NodeOptions
from drumline.sdk.options import BatchOptions, DecoratorOptions, Options

WRONG: dict[str, list[Any]] = {
    "name": [5, None, b"x"],
    "queue": [5, ["billing"]],
    "priority": [1.5, None, [1], True],
    "retries": ["3", 1.5, True, None, [3]],
    "max_attempts": ["3", 2.0, True],
    "timeout": [[5], True, b"5s", None],
    "expires": [[5], True, b"5s", None],
    "delay": [[5], True, None],
    "backoff": ["2", True, (1, 2)],
    "retry_on": ["ConnectionError", [ValueError()], [str], 5, None],
    "give_up_on": ["ConnectionError", (ValueError, "x"), [int]],
    "tags": ["abc", 5, ["a", 5], b"x", None],
    "window": ["5", 1.5, True, [5]],
    "max_concurrent": ["3", True, 1.5],
    "rate_limit": [50, None],
    "limit_by": [5],
    "mode": [5, "fork"],
    "process": ["yes", 1],
    "run_at": ["2026-01-01", 5, 3600],
    "key": [5, ["k"]],
    "notify": [NotifyTarget(email="a@example.com"), "a@example.com", ["a@example.com"], {"email": "x"}],
    "limit_key": [5],
    "collapse": ["5s", 5, {"debounce": 5}],
    "tz": [5],
    "overlap": [5, "sometimes"],
    "catch_up": [5, "maybe"],
    "start": ["2026-01-01"],
    "end": [5],
    "jitter": [[1]],
    "max_runs": ["3", 1.5],
    "arguments": [[1], "x"],
    "owner": [5],
    "depends_on": ["an id", [5], 5],
    "run_if": [5],
}
"""Values that are of no use, by option."""


def work() -> None: ...


def task(**settings: Any) -> Any:
    return Drumline("test").task(**settings)(work)


def options(**options: Any) -> Any:
    return Drumline("test").task(work).options(**options)


def submit_task(**options: Any) -> Any:
    return Drumline("test").submit_task("work", {}, **options)


def cron(**options: Any) -> Any:
    return Drumline("test").cron("* * * * *", **options)(work)


def every(**options: Any) -> Any:
    return Drumline("test").every("5m", **options)(work)


def batch(**options: Any) -> Any:
    return Drumline("test").batch(max=2, within=0, **options)(work_on)


def work_on(items: list[int]) -> list[int]:
    return items


def dag(**options: Any) -> Any:
    return Drumline("test").dag("job", **options)


def add_task(**options: Any) -> Any:
    with Drumline("test").dag("job") as dag:
        return dag.add_task("work", {}, **options)


def node(**options: Any) -> Any:
    with Drumline("test").dag("job") as dag:
        return dag.options(**options)


PLACES: list[tuple[Callable[..., Any], Any]] = [
    (task, DecoratorOptions),
    (batch, BatchOptions),
    (options, Options),
    (submit_task, Options),
    (cron, CronOptions),
    (every, CronOptions),
    (dag, DagOptions),
    (add_task, Options),
    (node, NodeOptions),
]
CASES = [
    (place, option, value)
    for place, known in PLACES
    for option in known.__annotations__
    for value in WRONG.get(option, [])
]


def test_an_option_of_the_wrong_type_is_refused_by_its_name() -> None:
    messages = [(str(place), option, value, refusal(place, option, value)) for place, option, value in CASES]

    assert len(messages) > 200
    assert [case for case in messages if case[1] not in case[3]] == []


def refusal(place: Callable[..., Any], option: str, value: Any) -> str:
    """Return the message that a value is refused with; nothing if it is accepted."""
    try:
        place(**{option: value})
    except (TypeError, Invalid) as error:
        return str(error)
    return ""


def test_every_option_of_every_place_is_checked_here() -> None:
    everything = {option for _, known in PLACES for option in known.__annotations__}

    assert everything - {"after"} == set(WRONG)
    unchecked = {option for _, known in PLACES for option, type_ in known.__annotations__.items() if not kind_of(type_)}
    assert unchecked == {"after", "depends_on"}


@pytest.mark.parametrize("place", [place for place, _ in PLACES])
def test_an_option_that_there_is_not_is_refused_with_the_nearest_that_there_is(place: Callable[..., Any]) -> None:
    near = {cron: "jiter", every: "jiter", node: "run_iff"}.get(place, "tagss")
    with pytest.raises(TypeError, match=f"no (option|setting) '{near}'; did you mean"):
        place(**{near: 1})


@pytest.mark.parametrize(
    ("place", "given", "field"),
    [
        (task, {"retries": -1}, "retries"),
        (task, {"max_attempts": 0}, "max_attempts"),
        (task, {"timeout": 0}, "timeout"),
        (task, {"timeout": "soon"}, "timeout"),
        (task, {"queue": "no queue!"}, "queue"),
        (task, {"priority": 101}, "priority"),
        (task, {"backoff": -1.0}, "backoff.base"),
        (task, {"backoff": Backoff(factor=float("nan"))}, "backoff.factor"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_where_it_is_written(
    place: Callable[..., Any], given: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as caught:
        place(**given)

    assert caught.value.field == field


@pytest.mark.parametrize(
    "retry_on", [ConnectionError, [ConnectionError], (ConnectionError, TimeoutError), {ConnectionError}]
)
def test_errors_to_retry_on_may_be_one_or_several_in_any_list(retry_on: Any) -> None:
    definition = task(retry_on=retry_on, give_up_on=[KeyError]).definition

    assert not definition.is_permanent(ConnectionError())
    assert definition.is_permanent(ValueError())
    assert definition.is_permanent(KeyError())


def test_what_is_right_is_accepted() -> None:
    everything = task(
        queue="q", priority="high", retries=0, timeout="5s", backoff=2, tags=("a",), retry_on=(), give_up_on=OSError,
        max_concurrent=1, rate_limit="5/s", limit_by="payload.x",
    )  # fmt: skip

    said = everything.options(
        delay=5, queue="r", priority=-3, retries=2, timeout=1.5, backoff=Backoff(), key="k", tags={"x"}, notify=[],
        limit_key="acme",
    )  # fmt: skip
    assert said.options(run_at=datetime(2030, 1, 1, tzinfo=UTC)).name == everything.name


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"name": 5}, "name"),
        ({"name": ""}, "name"),
        ({"name": "a\nb"}, "name"),
        ({"name": "x", "url": 5}, "url"),
        ({"name": "x", "api_key": b"k"}, "api_key"),
        ({"name": "x", "data": 5}, "data"),
        ({"name": "x", "direct": "postgresql://x"}, "direct"),
        ({"name": "x", "lifespan": "x"}, "lifespan"),
    ],
)
def test_an_app_that_makes_no_sense_is_refused(given: dict[str, Any], word: str) -> None:
    with pytest.raises((TypeError, Invalid), match=word):
        Drumline(**given)


def test_jobs_and_lists_take_tasks_and_calls_and_say_so() -> None:
    app = Drumline("test", data=Path("/nowhere"))
    task = app.task(work)

    with app.dag("job") as dag:
        with pytest.raises(TypeError, match=r"dag\.add: .* must be a task, as @app\.task makes it"):
            dag.add(work)  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"dag\.map: .* must be a task"):
            dag.map(work, [1])  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"dag\.add_call: .* must be a call"):
            dag.add_call(task)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a text"):
        app.dag(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="must be a text"):
        app.submit_task(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the expression must be a text"):
        app.cron(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="the interval must be a duration"):
        app.every([5])  # type: ignore[arg-type]


class Custom:
    """Nothing that JSON knows."""


def with_custom(order: int, thing: Custom) -> None: ...


def with_customs(order: int, things: list[Custom] | None = None) -> None: ...


def with_later(thing: "Later") -> None: ...


later = Drumline("test").task(with_later)


def with_paths(a: Path, b: Path | None = None, *, c: list[Path] = [], d: str | Path = "x") -> Path:  # noqa: B006
    return a / (b or "") / "".join(map(str, c)) / d


@pytest.mark.parametrize(("function", "name"), [(with_custom, "thing"), (with_customs, "things")])
def test_a_parameter_that_cannot_be_read_is_told_when_the_task_is_defined(
    function: Callable[..., Any], name: str
) -> None:
    with pytest.raises(TypeError, match=f"^charge: the parameter '{name}' is annotated .*Custom.* cannot be read"):
        Drumline("test").task(name="charge")(function)


@dataclass
class Later:
    """Defined after the task whose parameter it is."""

    n: int


def test_a_parameter_may_be_of_a_class_that_is_defined_further_down() -> None:
    assert later.definition.bind(b'{"thing":{"n":3}}') == {"thing": Later(3)}


def test_paths_are_written_as_texts_and_read_as_paths() -> None:
    definition = Drumline("test").task(with_paths).definition

    payload = definition.payload(Path("/a"), Path("b"), c=[Path("c")], d=Path("d"))
    bound = definition.bind(payload)
    result = definition.encode_result(definition.invoke(bound, None))

    assert bytes(payload) == b'{"a":"/a","b":"b","c":["c"],"d":"d"}'
    assert bound == {"a": Path("/a"), "b": Path("b"), "c": [Path("c")], "d": "d"}
    assert definition.decode_result(result) == Path("/a/b/c/d")
    assert definition.schema()["properties"]["a"] == {"type": "string", "format": "path"}
    with pytest.raises(Invalid, match=r"payload\.a: must be a text"):
        definition.bind(b'{"a":5}')
