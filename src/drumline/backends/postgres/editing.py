"""Running an ended task again with another payload."""

from msgspec import Raw

from drumline.backends.postgres.access import tell_facts
from drumline.backends.postgres.controlling import Changes, Controlling, Doing
from drumline.backends.postgres.database import Transaction
from drumline.backends.postgres.dead_letters import DeadLetters
from drumline.core.ids import TaskId
from drumline.ports.dead_letters import edited
from drumline.ports.hint import Effects
from drumline.ports.store import Changed


class Editing(Controlling, DeadLetters):
    """`ports.dead_letters.DeadLetters` on PostgreSQL, with what people do to tasks."""

    async def retry_edited(self, task: TaskId, payload: Raw, *, tenant: str | None = None) -> Changed:
        """Queue an ended task again with another payload; what it was given before is kept as a `PayloadEdit`."""
        retrying = self._retrying()

        async def edit(transaction: Transaction, lane: int, epoch: int) -> None:
            ((before,),) = await transaction.fetch(
                "edit_payload", id=task, payload=bytes(payload), epoch=epoch, now=self._now()
            )
            lanes = await self._lanes.lanes([lane])
            fact = edited(task, lanes[lane], before=Raw(before), epoch=epoch)
            await tell_facts(transaction, [fact], now=self._now())

        async def write(transaction: Transaction, changed: Changes) -> Effects:
            effects = await retrying.write(transaction, changed)
            ((stand, _),) = changed.values()
            await edit(transaction, stand.lane, stand.epoch)
            return effects

        if await self._in_jobs([task]):
            answer = await self._retry_in_job(task, tenant, then=edit)
        else:
            (answer,) = await self._each([task], tenant, Doing(retrying.decide, write))
        if not isinstance(answer, Changed):
            raise answer
        return answer
