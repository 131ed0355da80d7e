"""Whether something is at work on a store."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from drumline.core.errors import Conflict
from drumline.core.session import Beat, SessionSpec
from drumline.lifecycle import backup
from drumline.lifecycle.backup import back_up_blobs, check_idle
from drumline.lifecycle.processes import opened
from drumline.settings import Settings
from tests.factories import request

SPEC = SessionSpec(host="ada", pid=7, version="1", queues=(), types=(), capacity=1)


@pytest.mark.parametrize("is_alive", [True, False])
async def test_a_worker_that_beats_keeps_its_store_from_being_taken_for_a_restored_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_alive: bool
) -> None:
    monkeypatch.setattr(backup, "BEAT_EVERY", -0.5)
    settings = Settings(data=tmp_path / "data")
    async with opened(settings) as wired:
        await wired.engine.store.migrate()
        session = await wired.engine.sessions.open(SPEC)
        await wired.engine.store.sessions.beat([Beat(session=session)])

        async def beat() -> None:
            while is_alive:
                await wired.engine.store.sessions.beat([Beat(session=session)])
                await asyncio.sleep(0.05)

        beating = asyncio.create_task(beat())
        try:
            if is_alive:
                with pytest.raises(Conflict, match=r"workers run on this store \(ada:7\)"):
                    await check_idle(settings)
            else:
                await check_idle(settings)
        finally:
            beating.cancel()
            with suppress(asyncio.CancelledError):
                await beating


async def test_the_blobs_of_the_data_folder_are_copied_beside_the_database(tmp_path: Path) -> None:
    settings = Settings(data=tmp_path / "data")
    async with opened(settings) as wired:
        await wired.engine.store.migrate()
        await wired.engine.submissions.submit(request(payload="x" * 200_000))
        copied = back_up_blobs(settings, tmp_path / "copy.db")
        again = back_up_blobs(settings, tmp_path / "copy.db")
        (blob,) = [path for path in (settings.data / "blobs").rglob("*") if path.is_file()]

    assert copied == again == (tmp_path / "copy.db.blobs", 1)
    copy = tmp_path / "copy.db.blobs" / blob.relative_to(settings.data / "blobs")
    assert copy.read_bytes() == blob.read_bytes()
