"""The duties of a scheduler: those of each shard, and those between shards. Loaded by processes that have some."""

from collections.abc import Sequence
from datetime import timedelta

from drumline.core.clock import SystemClock
from drumline.engine.engine import Engine
from drumline.lifecycle.relay_setup import relay_services
from drumline.lifecycle.shard_services import following_shards, for_each_shard
from drumline.lifecycle.stages import Service
from drumline.scheduler.alerts import AlertEvaluator
from drumline.scheduler.blobs import BlobSweeper
from drumline.scheduler.bulk import BulkDuty
from drumline.scheduler.children import ChildNotes
from drumline.scheduler.copies import DirectoryCopies
from drumline.scheduler.depth import DepthSampler
from drumline.scheduler.drain import Drainer
from drumline.scheduler.duty import Duty, Rounds
from drumline.scheduler.expire import Expirer
from drumline.scheduler.fire import Firer
from drumline.scheduler.limit_shares import LimitShares
from drumline.scheduler.moves import MoveKeeper
from drumline.scheduler.pauses import PauseKeeper
from drumline.scheduler.prune import Pruner
from drumline.scheduler.prune_events import EventPruner
from drumline.scheduler.queue_metrics import QueueMetrics
from drumline.scheduler.read_model import ReadModelKeeper
from drumline.scheduler.reap import Reaper
from drumline.scheduler.ripple import Ripple
from drumline.scheduler.signals import SignalDuty
from drumline.scheduler.sort import Sorter
from drumline.scheduler.stats import StatsCounter
from drumline.scheduler.stored import StoredTasks
from drumline.scheduler.sweep import Sweeper
from drumline.scheduler.tidy import Tidier
from drumline.scheduler.waits import WaitExchange
from drumline.settings import Settings
from drumline.shards.forwarding import Forwarding
from drumline.shards.limits import share_mover
from drumline.shards.shard_set import Shard
from drumline.transactions.relay import Outbox, OutboxRelay
from drumline.wiring import Opened


def scheduler_services(opened: Opened, settings: Settings) -> dict[str, Service]:
    """Return the duties of every shard, and those between shards."""
    shards, metrics = opened.shards, opened.engine.metrics
    between: list[Duty] = [
        MoveKeeper(shards),
        Drainer(shards),
        WaitExchange(shards, forwarded=Forwarding(shards).forwarded),
        SignalDuty(shards, forwarded=Forwarding(shards).forwarded),
        LimitShares(share_mover(shards)),
        DirectoryCopies(shards),
        AlertEvaluator(opened.engine.store, metrics=metrics),
        *blob_duties(opened.engine, settings),
        PauseKeeper(opened.engine.store, opened.engine.control, queues=lambda: opened.engine.tuning.paused_queues),
    ]
    between += outbox_relays(
        opened.engine, (settings.outbox.urls or "").split(), settings.outbox.tenants, retention=settings.retention
    )
    return {
        "shards": following_shards(shards),
        "duties": for_each_shard(shards, lambda shard: duties_of(shard, settings)),
        **{duty.name: Rounds(duty, metrics=metrics).run for duty in between},
    }


def blob_duties(engine: Engine, settings: Settings) -> list[Duty]:
    """Return the duty that deletes blobs of tasks that do not exist, where there is a blob store."""
    if engine.blobs.store is None:
        return []
    return [BlobSweeper(engine.blobs, engine.store, clock=SystemClock(), grace=settings.blobs.grace)]


def duties_of(shard: Shard, settings: Settings) -> dict[str, Service]:
    """Return the scheduler's duties for one shard."""
    engine = shard.engine
    duties: list[Duty] = [
        *least_duties(engine, settings),
        Pruner(engine.store, retention=settings.retention),
        EventPruner(engine.store, retention=settings.events.retention, rows=settings.events.rows),
        Tidier(engine.store, clock=SystemClock()),
        BulkDuty(engine, clock=SystemClock(), retention=settings.retention),
        StatsCounter(engine.store, metrics=engine.metrics),
        DepthSampler(engine.store.stats, clock=SystemClock()),
        QueueMetrics(engine.store, engine.metrics, clock=SystemClock()),
        Ripple(engine),
        Sorter(engine),
    ]
    if shard.swept is not None:
        duties.append(Sweeper(engine.store, shard.swept, metrics=engine.metrics))
    if engine.read_model is not None:
        duties.append(ReadModelKeeper(engine.store, engine.read_model, engine.notes))
    services: dict[str, Service] = {duty.name: Rounds(duty, metrics=engine.metrics).run for duty in duties}
    if shard.listen_stored is not None:
        services["stored"] = StoredTasks(shard.store, engine.offer, shard.listen_stored).run
    return services | relay_services(engine.store, settings, engine.metrics)


def least_duties(engine: Engine, settings: Settings) -> list[Duty]:
    """Return the duties without which tasks of dead workers and of retried parents, schedules, expiries stood still."""
    return [
        Reaper(engine, clock=SystemClock(), poison_after=settings.poison_after),
        Firer(engine.firings),
        Expirer(engine),
        ChildNotes(engine),
    ]


def outbox_relays(
    engine: Engine, urls: Sequence[str], tenants: Sequence[str], *, retention: timedelta
) -> list[OutboxRelay]:
    """Return what relays the outboxes at these addresses."""
    tasks = engine.store.queries
    return [OutboxRelay(Outbox(url), engine.submissions, tasks, tenants=tenants, retention=retention) for url in urls]
