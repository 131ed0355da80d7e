"""Mutants of tenants, of the protocol of remote workers, of the notifier and of the relay."""

from typing import Final

from tests.simulation.mutants.mutant import Mutant

_RELAY: Final = "scheduler/relay.py"

OUTSIDE_MUTANTS: Final = (
    Mutant(
        "settle without comparing the nonce",
        "stores/sqlite/sql/settle.sql",
        "    AND live.epoch = json_extract(given.value, '$[1]')\n"
        "    AND live.nonce = json_extract(given.value, '$[2]')",
        "    AND live.epoch = json_extract(given.value, '$[1]')",
    ),
    Mutant(
        "show tasks to every tenant",
        "stores/parts/tasks.py",
        "for view in views if tenant is None or view.lane.tenant == tenant}",
        "for view in views}",
    ),
    Mutant(
        "give a worker of one tenant tasks of another",
        "stores/sqlite/sql/claim.sql",
        "    AND (:tenant IS NULL OR lane.tenant = :tenant)\n    AND NOT EXISTS (\n        SELECT 1 FROM queue_pause",
        "    AND NOT EXISTS (\n        SELECT 1 FROM queue_pause",
    ),
    Mutant(
        "share keys among tenants",
        "stores/sqlite/sql/submit.sql",
        "FROM idempotency WHERE tenant = :tenant AND key = :key",
        "FROM idempotency WHERE (:tenant IS NOT NULL) AND key = :key",
    ),
    Mutant(
        "move the relay's cursor before the bus has kept all",
        _RELAY,
        "return await self._is_kept() and await self._move(page)",
        "return await self._move(page)",
    ),
    Mutant(
        "send no dead letters to the bus",
        _RELAY,
        "            batches.append(await self._dead_letters(page.failed))\n",
        "            pass\n",
    ),
    Mutant(
        "do not send again what the bus has refused",
        _RELAY,
        "            self._is_under_way = False\n            await self._note_away(error.message)\n"
        "            return False\n        if is_kept:",
        "            await self._note_away(error.message)\n            return False\n        if is_kept:",
    ),
    Mutant(
        "leave the first notification of a page out",
        "notifier/reader.py",
        "queue_deliveries(deliveries, move=move)",
        "queue_deliveries(deliveries[1:], move=move)",
    ),
    Mutant(
        "move the relay's cursor one event too far",
        _RELAY,
        "old=page.old, new=page.new)",
        "old=page.old, new=page.new + 1)",
    ),
    Mutant(
        "count a failed delivery as delivered",
        "notifier/webhooks.py",
        "state=DeliveryState.FAILED if delay is None else DeliveryState.PENDING,",
        "state=DeliveryState.FAILED if delay is None else DeliveryState.DELIVERED,",
    ),
    Mutant(
        "give up a delivery after one failure",
        "notifier/webhooks.py",
        "        if error.permanent or delivery.is_test:\n",
        "        if error is not None:\n",
    ),
    Mutant(
        "take reports of remote workers without recording them",
        "api/protocol.py",
        "    settled = await call.context.gateway.join([report for report in checked if isinstance(report, Report)])\n",
        "    settled = [State.COMPLETED for report in checked if isinstance(report, Report)]\n",
    ),
    Mutant(
        "forget the keys of former owners of a slot",
        "shards/task_router.py",
        "        for name, numbers in asked.items():\n            found = await self._find_keys",
        "        for name, numbers in ():\n            found = await self._find_keys",
    ),
    Mutant(
        "let the new owner of a slot hold what was made before",
        "shards/move.py",
        "OwnEntry(slot=entry.slot, version=entry.version + 1, since=entry.closed_at)",
        "OwnEntry(slot=entry.slot, version=entry.version + 1, since=0)",
    ),
    Mutant(
        "beat in the directory alone",
        "shards/gateway.py",
        "            self._shards,\n            lambda shard: LocalGateway(shard.engine).beat(",
        "            [self._shards.directory],\n            lambda shard: LocalGateway(shard.engine).beat(",
    ),
    Mutant(
        "take a wait for a job of another database for registered",
        "scheduler/waits.py",
        "            missing = await awaited.store.waits.register(waits)\n",
        "            missing = await awaited.store.waits.register([])\n",
    ),
    Mutant(
        "do not tell jobs of other databases of ends",
        "scheduler/waits.py",
        "            told = await waiting.store.waits.tell(ripples)\n            for effects in told:\n",
        "            told = list(ripples)\n            for effects in ():\n",
    ),
    Mutant(
        "send a job without saying what it waits for elsewhere",
        "shards/job_router.py",
        "            job = replace(job, elsewhere=frozenset(job.depends_on))\n",
        "            job = replace(job, depends_on=())\n",
    ),
)
