"""Running an ended task again with another payload."""

from msgspec import Raw

from drumline.core.errors import Conflict
from drumline.core.ids import TaskId
from drumline.ports.dead_letters import edited
from drumline.ports.hint import Effects
from drumline.ports.store import Changed
from drumline.stores.driver import tell_facts
from drumline.stores.postgres.controlling import Changes, Controlling, Doing
from drumline.stores.postgres.controlling_jobs import Stand
from drumline.stores.postgres.database import Transaction
from drumline.stores.postgres.dead_letters import DeadLetters


class Editing(Controlling, DeadLetters):
    """`ports.dead_letters.DeadLetters` on PostgreSQL, with what people do to tasks."""

    async def retry_edited(self, task: TaskId, payload: Raw, *, tenant: str | None = None) -> Changed:
        """Queue an ended task again with another payload; what it was given before is kept as a `PayloadEdit`."""
        retrying = self._retrying()

        async def edit(transaction: Transaction, stand: Stand) -> None:
            await transaction.fetch("edit_payload", id=task, payload=bytes(payload), epoch=stand.epoch, now=self._now())
            lanes = await self._lanes.lanes([stand.lane])
            fact = edited(task, lanes[stand.lane], epoch=stand.epoch)
            await tell_facts(transaction, [fact], now=self._now())

        async def write(transaction: Transaction, changed: Changes) -> Effects:
            effects = await retrying.write(transaction, changed)
            ((stand, _),) = changed.values()
            await edit(transaction, stand)
            return effects

        async def in_job(transaction: Transaction, stand: Stand) -> Changed | Conflict:
            answer = await self._retry_in_job(transaction, stand)
            if isinstance(answer, Changed):
                await edit(transaction, stand)
            return answer

        (answer,) = await self._each([task], tenant, Doing(retrying.decide, write, in_job))
        if not isinstance(answer, Changed):
            raise answer
        return answer
