"""Listing dead letters while others resolve them."""

from collections.abc import Sequence

import pytest

from drumline.core.clock import ManualClock
from drumline.core.ids import TaskId
from drumline.core.state import Act
from drumline.ports.dead_letters import DeadLetter, DeadLetterFilter
from drumline.stores.parts.dead_letters import DeadLetters
from drumline.stores.postgres import PostgresStore
from tests.factories import OOPS, claim, open_session, settle, submit

pytestmark = pytest.mark.services


class Interrupted(DeadLetters):
    """Dead letters of which one is discarded between the two looks that a list takes."""

    has_been = False

    async def get_dead_letters(self, tasks: Sequence[TaskId], *, tenant: str | None = None) -> list[DeadLetter | None]:
        if not self.has_been and len(tasks) > 1:
            self.has_been = True
            await self.discard([tasks[1]])
        return await super().get_dead_letters(tasks, tenant=tenant)


async def test_a_page_is_full_while_there_is_more_whatever_is_resolved_meanwhile(postgres_url: str) -> None:
    store = await PostgresStore.open(postgres_url, clock=ManualClock())
    interrupted = Interrupted(store._database, store._clock, store._lanes, store.control)
    ada = await open_session(store)
    for _ in range(5):
        await submit(store)
    for held in await claim(store, ada):
        await settle(store, held.lease, Act.FAIL, error=OOPS)

    page = await interrupted.dead_letters(DeadLetterFilter(), limit=4)
    whole = await store.dead_letters.dead_letters(DeadLetterFilter(), limit=100)
    await store.close()

    assert page == whole
    assert len(page) == 4
