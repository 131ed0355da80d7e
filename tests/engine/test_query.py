"""What people ask."""

import pytest

from drumline.engine.engine import Engine
from drumline.ports.store import LogChunk
from tests.factories import request


async def test_a_log_of_many_pieces_is_read_to_its_end(engine: Engine) -> None:
    task = (await engine.submissions.submit(request())).id
    pieces = [f"{number}\n" for number in range(2_500)]
    await engine.store.outputs.append_log(
        [LogChunk(task=task, epoch=1, seq=n, text=text) for n, text in enumerate(pieces)]
    )

    page = await engine.queries.read_log(task)

    assert page.text == "".join(pieces)
    assert page.after == (1, 2_499)


async def test_a_log_without_end_is_cut_with_a_word(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drumline.engine.query.LARGEST_LOG", 1_000)
    task = (await engine.submissions.submit(request())).id
    await engine.store.outputs.append_log([LogChunk(task=task, epoch=1, seq=n, text="x") for n in range(2_500)])

    page = await engine.queries.read_log(task)

    assert page.text == "x" * 1_000 + "\n[the log goes on: read it attempt by attempt]\n"
