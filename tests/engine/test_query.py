"""What people ask."""

import pytest

from drumline.engine.engine import Engine
from drumline.engine.query import ATTEMPT_GOES_ON, LOG_GOES_ON
from drumline.ports.store import LogChunk
from tests.factories import request


async def test_a_log_of_many_pieces_is_read_to_its_end(engine: Engine) -> None:
    task = (await engine.submissions.submit(request())).id
    pieces = [f"{number}\n" for number in range(2_500)]
    await engine.store.outputs.append_log(
        [LogChunk(task=task, epoch=1, seq=n, text=text) for n, text in enumerate(pieces)]
    )

    assert await engine.queries.read_log(task) == "".join(pieces)


async def test_a_log_without_end_is_cut_with_a_word(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drumline.engine.query.LARGEST_LOG", 1_000)
    task = (await engine.submissions.submit(request())).id
    await engine.store.outputs.append_log([LogChunk(task=task, epoch=1, seq=n, text="x") for n in range(2_500)])

    assert await engine.queries.read_log(task) == "x" * 1_000 + LOG_GOES_ON


async def test_the_executions_of_an_attempt_share_the_bound_of_a_log(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drumline.engine.query.LARGEST_LOG", 1_000)
    task = (await engine.submissions.submit(request())).id
    await engine.store.outputs.append_log([LogChunk(task=task, epoch=n, seq=0, text="x") for n in range(1, 2_500)])

    assert await engine.queries.read_log(task, epochs=range(2, 2_000)) == "x" * 1_000 + ATTEMPT_GOES_ON
    assert await engine.queries.read_log(task, epochs=[3, 2_499]) == "xx"
