"""Handing tasks out: hints first, the store decides, and idle claimers sleep until woken."""

from collections.abc import Callable, Sequence

import msgspec

from drumline.core.clock import Clock
from drumline.core.ids import SessionId
from drumline.core.session import SessionSpec
from drumline.core.task import ClaimedTask
from drumline.engine.waiting import Patience, Waiter, Waiters
from drumline.ports.queue import Queue
from drumline.ports.store import Claim, ClaimRequest, Executing
from drumline.sdk.batcher import Batcher


class Claims:
    """The way out to workers."""

    def __init__(
        self,
        store: Executing,
        queue: Queue,
        waiters: Waiters,
        *,
        clock: Clock,
        new_nonce: Callable[[], int],
        patience: Patience,
    ) -> None:
        self._store = store
        self._queue = queue
        self._waiters = waiters
        self._clock = clock
        self._new_nonce = new_nonce
        self._patience = patience
        self._batcher: Batcher[ClaimRequest, Claim] = Batcher(self._flush, name="claims", largest=50, parallel=2)

    async def claim(
        self,
        session: SessionId,
        spec: SessionSpec,
        *,
        limit: int,
        wait: float,
        nonce: int | None = None,
        again: bool = False,
    ) -> tuple[ClaimedTask, ...]:
        """Return up to `limit` tasks that the session can run; with none due, wait up to `wait` seconds.

        `nonce` names the claim, if the caller wants to name it. With `again` the claim of that name is repeated
        because its answer was lost: it returns what that one took, or if that took nothing, claims anew.
        """
        request = ClaimRequest(
            session=session,
            nonce=self._new_nonce() if nonce is None else nonce,
            limit=limit,
            queues=spec.queues,
            names=spec.names,
            tenant=spec.tenant,
            again=again and nonce is not None,
        )
        deadline = self._clock.monotonic() + wait
        while True:
            waiter = Waiter(spec.queues)
            self._waiters.add(waiter)
            try:
                claim = await self._batcher.join(request)
                left = deadline - self._clock.monotonic()
                if claim.tasks or (left <= 0 and not request.again):
                    return claim.tasks
                if not request.again:
                    await waiter.wait(min(left, self._until(claim)))
            finally:
                self._waiters.remove(waiter)
            request = msgspec.structs.replace(request, again=False)

    def _until(self, claim: Claim) -> float:
        if claim.next_due is None:
            return self._patience.poll
        until_due = (claim.next_due - self._clock.now()) / 1000
        return min(self._patience.poll, max(until_due, 0.001))

    async def _flush(self, requests: list[ClaimRequest]) -> Sequence[Claim]:
        hinted = [await self._with_hints(request) for request in requests]
        claims = await self._store.claim(hinted)
        tried = [task for request in hinted for task in request.hints or ()]
        if tried:
            await self._queue.drop(tried)
        return claims

    async def _with_hints(self, request: ClaimRequest) -> ClaimRequest:
        popped = None if request.again else await self._queue.pop(request)
        return request if popped is None else msgspec.structs.replace(request, hints=popped.tasks)
