"""Whether something is at work on a store."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest

from drumline.core.errors import Conflict
from drumline.core.session import Beat, SessionSpec
from drumline.lifecycle import backup
from drumline.lifecycle.backup import check_idle
from drumline.lifecycle.processes import opened
from drumline.settings import Settings

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
