"""The stored traceback of an error: with all that led to it, and bounded."""

import time
from typing import Any

import pytest

from drumline.core.shorten import shorten
from drumline.worker.tracebacks import LONGEST, traceback_of
from tests.worker.house import House


def raised(error: BaseException) -> BaseException:
    try:
        raise error  # noqa: TRY301 - so that it has a traceback
    except BaseException as caught:  # noqa: BLE001 - with its traceback
        return caught


def chained(count: int, *, by_cause: bool) -> BaseException:
    error: BaseException = raised(ValueError("link 0"))
    for number in range(1, count):
        outer = raised(RuntimeError(f"link {number}"))
        if by_cause:
            outer.__cause__ = error
        else:
            outer.__context__ = error
        error = outer
    return error


async def stored(house: House, function: Any) -> str:
    house.app.task(name="broken")(function)
    async with house.worker():
        view = await house.try_once("broken")
    (attempt,) = await house.engine.queries.attempts(view.id)
    assert attempt.error is not None
    return attempt.error.traceback


def failing() -> None:
    try:
        raise KeyError("missing row")  # noqa: TRY301 - so that it is a cause
    except KeyError as error:
        error.add_note("row 7 of orders.csv")
        raise RuntimeError("cannot load") from error


def failing_again() -> None:
    try:
        failing()
    finally:
        raise ConnectionError("clean-up failed, too")


async def failing_async() -> None:
    failing_again()


def grouped() -> None:
    raise BaseExceptionGroup("two went wrong", [raised(ValueError("first")), raised(TypeError("second"))])


@pytest.mark.parametrize("function", [failing_again, failing_async])
async def test_a_stored_traceback_has_cause_context_and_notes_in_pythons_order(house: House, function: Any) -> None:
    text = await stored(house, function)

    places = [
        text.index(piece)
        for piece in (
            "KeyError: 'missing row'",
            "row 7 of orders.csv",
            "direct cause of the following",
            "RuntimeError: cannot load",
            "During handling of the above",
            "ConnectionError: clean-up failed, too",
        )
    ]
    assert places == sorted(places)
    assert "in failing" in text
    assert "drumline/worker" not in text


async def test_a_stored_traceback_shows_the_errors_of_a_group(house: House) -> None:
    text = await stored(house, grouped)

    assert "two went wrong (2 sub-exceptions)" in text
    assert "  | ValueError: first" in text
    assert "  | TypeError: second" in text


async def test_a_permanent_failure_keeps_its_cause(house: House) -> None:
    @house.app.task(name="broken", give_up_on=(RuntimeError,))
    def broken() -> None:
        failing()

    async with house.worker():
        view = await house.run("broken")

    assert view.error is not None
    assert "KeyError: 'missing row'" in view.error.traceback


def test_a_suppressed_context_is_not_shown() -> None:
    error = raised(ValueError("shown"))
    error.__context__ = raised(KeyError("hidden"))
    error.__suppress_context__ = True

    assert "hidden" not in traceback_of(error)


def test_an_error_that_is_its_own_cause_is_shown_once() -> None:
    error = raised(ValueError("round"))
    other = raised(KeyError("and round"))
    error.__cause__, other.__cause__ = other, error

    assert traceback_of(error).count("ValueError: round") == 1


@pytest.mark.parametrize("by_cause", [True, False])
def test_a_long_chain_keeps_its_first_and_last_errors(by_cause: bool) -> None:
    text = traceback_of(chained(50_000, by_cause=by_cause))

    assert len(text) <= LONGEST
    assert "ValueError: link 0\n" in text
    assert text.endswith("RuntimeError: link 49999\n")
    assert "[49,980 exceptions left out]" in text


def test_a_traceback_takes_time_in_proportion_to_its_error() -> None:
    def seconds(count: int) -> float:
        error = chained(count, by_cause=True)
        begun = time.process_time()
        traceback_of(error)
        return time.process_time() - begun

    assert seconds(100_000) < 100 * seconds(1_000) * 10 + 1


def test_deep_recursion_wide_groups_and_long_messages_are_bounded() -> None:
    def down(left: int) -> None:
        if left:
            sideways(left - 1)
        raise ValueError("x" * 10_000_000)

    def sideways(left: int) -> None:
        down(left)

    group: BaseException = BaseExceptionGroup("many", [raised(ValueError(str(number))) for number in range(1_000)])
    for _ in range(200):
        group = BaseExceptionGroup("nested", [group, group])
    with pytest.raises(ValueError, match="x") as caught:
        down(400)
    deep = caught.value
    deep.__cause__ = group

    text = traceback_of(deep)

    assert len(text) <= LONGEST
    assert "left out" in text


def test_an_error_that_cannot_be_shown_is_said_to_be_so() -> None:
    class Nasty(Exception):
        @property
        def __notes__(self) -> list[str]:  # type: ignore[override]
            raise SystemExit

    assert "cannot be shown: SystemExit" in traceback_of(raised(Nasty()))


@pytest.mark.parametrize("largest", [0, 1, 50, 120, 121, 300, 10_000])
def test_a_cut_text_is_never_longer_than_allowed(largest: int) -> None:
    assert len(shorten("x" * 10_000, largest)) <= largest


def test_a_cut_text_keeps_both_ends_and_says_how_much_is_missing() -> None:
    text = shorten("first " + "x" * 10_000 + " last", 300)

    assert text.startswith("first x")
    assert text.endswith("x last")
    assert "[9,771 characters left out]" in text
