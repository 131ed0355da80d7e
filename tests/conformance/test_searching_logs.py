"""Searching the logs of many tasks."""

from typing import Any

import pytest

from drumline.core.clock import moment_of
from drumline.core.errors import Invalid
from drumline.core.ids import TaskId
from drumline.core.limits import DEFAULT_LIMITS
from drumline.core.log_lines import LOG_START, LogLevel, LogPiece, LogPlace, LogSought
from drumline.core.state import Act
from drumline.engine import log_search
from drumline.engine.log_reading import Portion
from drumline.engine.log_search import LogEffort, LogLines, LogSearches
from drumline.ports.store import LogChunk, Store, TaskFilter
from tests.factories import claim_one, log_of, open_session, settle, submit

UNKNOWN = TaskId("01900000-0000-7000-8000-00000000dead")


async def log(store: Store, task: TaskId, *texts: str, epoch: int = 1) -> None:
    chunks = [LogChunk(task=task, epoch=epoch, seq=seq, text=text) for seq, text in enumerate(texts)]
    await store.outputs.append_log(chunks)


async def logged(store: Store, *texts: str, **task: Any) -> TaskId:
    """Return a task that has written pieces of output."""
    id_ = await submit(store, **task)
    await log(store, id_, *texts)
    return id_


async def search(
    store: Store, text: str = "", *, least: LogLevel | None = None, limit: int = 100, cursor: str | None = None,
    **which: Any,
) -> LogLines:  # fmt: skip
    searches = LogSearches(store, DEFAULT_LIMITS)
    return await searches.search(TaskFilter(**which), LogSought(text, least), limit=limit, cursor=cursor)


def lines(found: LogLines) -> list[tuple[TaskId, int, str]]:
    return [(each.task.id, each.match.line, each.match.text) for each in found.items]


async def all_pages(store: Store, text: str, *, limit: int = 100) -> tuple[list[tuple[TaskId, int, str]], int]:
    """Return what the pages of a search have together, and how many there were."""
    found: list[tuple[TaskId, int, str]] = []
    cursor, pages = None, 0
    while True:
        page = await search(store, text, limit=limit, cursor=cursor)
        found, pages = found + lines(page), pages + 1
        assert len(page.items) <= limit
        assert page.is_partial == (page.next_cursor is not None and len(page.items) < limit)
        if page.next_cursor is None:
            return found, pages
        assert page.next_cursor != cursor
        cursor = page.next_cursor
        assert pages < 1000


async def test_lines_are_found_in_letters_of_either_case_the_newest_task_first(store: Store) -> None:
    older = await logged(store, "Connection REFUSED\nsecond\nrefused again\n")
    await logged(store, "all is well\n")
    newer = await logged(store, "one\ntwo: refused")

    found = await search(store, "Refused")

    assert lines(found) == [
        (newer, 2, "two: refused"),
        (older, 1, "Connection REFUSED"),
        (older, 3, "refused again"),
    ]
    assert (found.next_cursor, found.is_partial, found.tasks, found.back_to) == (None, False, 3, None)


async def test_what_no_line_has_is_not_found(store: Store) -> None:
    await logged(store, "ab\ncd\n")

    assert lines(await search(store, "bc")) == []
    assert lines(await search(store, ".*")) == []
    assert lines(await search(store, "%")) == []


async def test_a_line_in_several_pieces_is_one_line(store: Store) -> None:
    task = await logged(store, "first\nsec", "ond ne", "edle\nthird needle\n")

    assert lines(await search(store, "needle")) == [(task, 2, "second needle"), (task, 3, "third needle")]


async def test_lines_have_the_numbers_of_the_whole_log_and_the_attempt_that_wrote_them(store: Store) -> None:
    ada = await open_session(store)
    task = await submit(store)
    lease = (await claim_one(store, ada)).lease
    await log(store, task, "one\ntwo needle\n", epoch=lease.epoch)
    await settle(store, lease, Act.FAIL)
    await store.control.retry([task])
    again = (await claim_one(store, ada)).lease
    await log(store, task, "three needle\n", epoch=again.epoch)

    found = await search(store, "needle")
    text = await log_of(store, task)

    attempts = {view.epoch: view.attempt for view in await store.queries.attempts(task)}
    assert [(each.match.line, each.attempt) for each in found.items] == [
        (2, attempts[lease.epoch]),
        (3, attempts[again.epoch]),
    ]
    assert text.split("\n")[1:3] == [each.match.text for each in found.items]


async def test_levels_narrow_and_lines_without_one_have_that_of_the_line_before(store: Store) -> None:
    task = await logged(
        store,
        "plain\n2026-10-01T10:00:00.250Z INFO app: begins\nWARNING: slow\n2026-10-01T10:00:01.000Z ERROR app: broke\n",
        "Traceback: x\n  File\nINFO done\n",
    )

    found = await search(store, least=LogLevel.WARNING)
    text = await search(store, "file", least=LogLevel.ERROR)

    assert [(each.match.line, each.match.level) for each in found.items] == [
        (3, LogLevel.WARNING),
        (4, LogLevel.ERROR),
        (5, LogLevel.ERROR),
        (6, LogLevel.ERROR),
    ]
    assert [each.match.at and moment_of(each.match.at) for each in found.items[:2]] == [
        None,
        "2026-10-01T10:00:01.000Z",
    ]
    assert lines(text) == [(task, 6, "  File")]


async def test_only_logs_of_tasks_that_the_filter_means_are_searched(store: Store) -> None:
    charge = await logged(store, "needle\n", name="charge", queue="fast")
    await logged(store, "needle\n", name="refund", queue="fast")
    await logged(store, "needle\n", name="charge", queue="bulk")

    assert lines(await search(store, "needle", name="charge", queue="fast")) == [(charge, 1, "needle")]


async def test_lines_of_another_tenant_are_not_found(store: Store) -> None:
    red = await logged(store, "needle red\n", tenant="red")
    blue = await logged(store, "needle blue\n", tenant="blue")
    place = f"{blue}.1.0.0.1.-.0"

    assert lines(await search(store, "needle", tenant="red")) == [(red, 1, "needle red")]
    assert lines(await search(store, "needle", tenant="red", cursor=place)) == [(red, 1, "needle red")]
    assert lines(await search(store, "needle", tenant="green")) == []
    outputs = store.outputs
    assert await outputs.first_logs([blue, red], pieces=5, longest=100, tenant="red") == [
        (),
        (LogPiece(1, 0, 0, "needle red\n"),),
    ]
    assert await outputs.log_from(blue, LOG_START, pieces=5, longest=100, tenant="red") == ()


async def test_logs_are_handed_out_in_bounded_pieces(store: Store) -> None:
    task = await logged(store, "abcdef", "ghi", "jkl", "mno")
    silent = await submit(store)

    first = await store.outputs.first_logs([task, UNKNOWN, silent], pieces=2, longest=4)
    more = await store.outputs.log_from(task, LogPlace(1, 0, 4), pieces=3, longest=4)

    assert first == [(LogPiece(1, 0, 0, "abcd"), LogPiece(1, 1, 0, "ghi")), (), ()]
    assert more == (LogPiece(1, 0, 4, "ef"), LogPiece(1, 1, 0, "ghi"), LogPiece(1, 2, 0, "jkl"))


@pytest.mark.parametrize("limit", [1, 3, 7])
async def test_pages_have_each_line_once_in_order(store: Store, limit: int) -> None:
    tasks = [await logged(store, "x\nneedle 1\n", "needle 2\nneed", "le 3") for _ in range(5)]

    found, pages = await all_pages(store, "needle", limit=limit)

    assert found == [(task, number + 1, f"needle {number}") for task in reversed(tasks) for number in (1, 2, 3)]
    assert pages >= 15 // limit


async def test_a_search_is_bounded_and_its_cursor_goes_on_without_gaps(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_search, "LOG_EFFORT", LogEffort(tasks=(2, 3), characters=4_000))
    monkeypatch.setattr(log_search, "TASKS_AT_ONCE", 2)
    monkeypatch.setattr(log_search, "FIRST", Portion(2, 8))
    monkeypatch.setattr(log_search, "SMALL", Portion(3, 16))
    monkeypatch.setattr(log_search, "LARGE", Portion(2, 20))
    long = ["begin\n", *(f"{number}: needle\nand more of it\n" for number in range(12)), "end"]
    tasks = [await logged(store, *(long if number % 3 == 0 else ["no", "thing\n"])) for number in range(9)]

    found, pages = await all_pages(store, "needle")
    first = await search(store, "needle")

    wanted = [(task, 2 + 2 * line, f"{line}: needle") for task in reversed(tasks[::3]) for line in range(12)]
    assert found == wanted
    assert pages > 3
    assert first.is_partial
    assert first.back_to is not None
    assert first.tasks <= 5


async def test_a_line_of_very_many_pieces_does_not_hold_a_search_up(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_search, "LOG_EFFORT", LogEffort(tasks=(2, 3), characters=3_000))
    monkeypatch.setattr(log_search, "FIRST", Portion(2, 100))
    monkeypatch.setattr(log_search, "SMALL", Portion(2, 100))
    older = await logged(store, "needle\n")
    task = await logged(store, "needle ", *("." for _ in range(30)), "\nneedle again\n")

    found, _ = await all_pages(store, "needle")

    assert [(id_, line) for id_, line, _ in found] == [(task, 1), (task, 2), (older, 1)]


async def test_a_search_goes_on_below_a_task_that_is_gone(store: Store) -> None:
    task = await logged(store, "needle\n")
    gone = "ffffffff-ffff-7fff-bfff-ffffffffffff.1.0.0.1.error.0"

    assert lines(await search(store, "needle", cursor=gone)) == [(task, 1, "needle")]


@pytest.mark.parametrize(
    "cursor",
    [
        "",
        "x",
        "1",
        f"{UNKNOWN}.1",
        f"{UNKNOWN}.1.2.3.4.loud.0",
        f"{UNKNOWN}.9999999999.1.1.1.-.0",
        f"{UNKNOWN}.1.1.1.0.-.0",
    ],
)
async def test_what_is_no_cursor_is_refused_by_name(store: Store, cursor: str) -> None:
    with pytest.raises(Invalid) as refused:
        await search(store, "x", cursor=cursor)

    assert refused.value.field == "cursor"
