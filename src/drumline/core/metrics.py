"""Every metric: its name, meaning and labels. docs/reference/metrics.md is made from this file.

Names are those of Prometheus: seconds, `_total` for what only grows. Labels have few values: those that users choose
(queues, task names) are bounded, ids are never among them. One object holds the metrics of a process, whatever roles it
has; the process makes it and passes it to everything that counts.

What exists once for each database has a label `shard` besides: `main` in an installation with one database. The engine
of another shard is given `metrics.of_shard(name)`, where it counts as every engine does; the label is added when the
metrics are read, so that it costs nothing while tasks pass.
"""

from collections.abc import Callable, Iterator
from typing import Final

from drumline.core.clock import Clock, SystemClock
from drumline.core.dead_letter import Reason
from drumline.core.liveness import Liveness
from drumline.core.meters import ITEMS, BoundedLabels, Counter, Family, Gauge, Histogram, joined
from drumline.core.shard_map import DIRECTORY
from drumline.core.stats import BOUNDS, Figure, Measure

MOST_QUEUES: Final = 200
MOST_TASKS: Final = 400
"""Pairs of queue and task name that have series of their own."""
DURATIONS: Final = tuple(bound / 1000 for bound in BOUNDS)
SHARD_LABEL: Final = "shard"
INSTALLATION: Final = (
    "submitted", "completed", "failed", "retried", "cancelled", "skipped", "task_wait", "task_run",
    "queue_tasks", "queue_oldest", "queue_paused", "queue_slots", "sessions", "session_slots", "dead_letters",
    "outbox_rows", "outbox_age", "stock_taken",
)  # fmt: skip
"""The metrics of the whole installation, as `Metrics` names them."""
OF_WORKERS: Final = frozenset({"drumline_sessions", "drumline_session_slots", "drumline_queue_slots"})
"""Gauges of workers, each of which has its session in every shard: the largest counts, not the sum over shards."""


class Metrics:
    """The metrics of one process."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or SystemClock()
        self.liveness = Liveness(self._clock)
        self.queue_labels = BoundedLabels(MOST_QUEUES)
        self.task_labels = BoundedLabels(MOST_TASKS)
        self.before_reading: list[Callable[[], None]] = []
        """Called before the metrics are read, to set values that change all the time."""
        self._shards: dict[str, Metrics] = {DIRECTORY: self}
        self._make_shard()
        self._make_process()

    def of_shard(self, shard: str) -> "Metrics":
        """Return the metrics of a shard in this process; what belongs to the process is the same in all of them.

        Queues and task names are bounded over all shards together, so that one that has series of its own has them in
        each shard.
        """
        known = self._shards.get(shard)
        if known is None:
            known = self._shards[shard] = Metrics(self._clock)
            vars(known).update({name: value for name, value in vars(self).items() if name not in self._of_shard})
            known.liveness = self._shards[DIRECTORY].liveness.of_shard(shard)
        return known

    def forget_shard(self, shard: str) -> None:
        """Stop reporting a shard that has left the installation."""
        if shard != DIRECTORY:
            self._shards.pop(shard, None)
            self._shards[DIRECTORY].liveness.forget_shard(shard)

    def families(self) -> Iterator[Family]:
        """Yield every metric family of all shards with its current values, to be read only."""
        for refresh in self.before_reading:
            refresh()
        shards = dict(self._shards)
        for metrics in shards.values():
            metrics.activity_idle.replace({(name,): seconds for name, seconds in metrics.liveness.idle().items()})
        for name, value in list(vars(self).items()):
            if isinstance(value, Family):
                yield self._labelled(name, shards) if name in self._of_shard else value

    def installation_families(self) -> tuple[Family, ...]:
        """Return the metrics of the whole installation, which every process would report alike, to be read only."""
        shards = dict(self._shards)
        return tuple(self._labelled(name, shards) for name in INSTALLATION)

    @staticmethod
    def _labelled(name: str, shards: "dict[str, Metrics]") -> Family:
        return joined(SHARD_LABEL, {shard: getattr(metrics, name) for shard, metrics in shards.items()})

    def count(self, figure: Figure) -> None:
        """Count the changes of a lane, from the event log."""
        lane = self.task_labels.of(figure.queue, figure.name)
        if lane not in self.submitted.values:
            for counter in self._by_measure.values():
                counter.add(0, lane)  # a rate can only be computed from the second value on
        seconds = figure.total_ms / 1000
        if figure.measure is Measure.WAIT:
            self.task_wait.add(self.queue_labels.of(figure.queue), figure.duration, figure.count, seconds)
        elif figure.measure is Measure.RUN:
            self.task_run.add(lane, figure.duration, figure.count, seconds)
        else:
            self._by_measure[figure.measure].add(figure.count, lane)

    def _make_shard(self) -> None:
        """Make what exists once for each database."""
        before = set(vars(self))
        self._make_tasks()
        self._make_engine()
        self._make_backends()
        self._make_duties()
        self._make_stock()
        self._of_shard = frozenset(vars(self).keys() - before)

    def _make_tasks(self) -> None:
        """Make what schedulers count from the log of changes: once, wherever it happened, some seconds later."""
        lane = ("queue", "task")
        self.submitted = Counter("drumline_tasks_submitted_total", "Tasks that were stored.", lane)
        self.completed = Counter("drumline_tasks_completed_total", "Tasks that completed.", lane)
        self.failed = Counter("drumline_tasks_failed_total", "Tasks that failed for good.", lane)
        self.retried = Counter("drumline_tasks_retried_total", "Attempts that failed and will be repeated.", lane)
        self.cancelled = Counter("drumline_tasks_cancelled_total", "Tasks that were cancelled.", lane)
        self.skipped = Counter("drumline_tasks_skipped_total", "Tasks of jobs that were skipped.", lane)
        self.task_wait = Histogram(
            "drumline_task_wait_seconds",
            "From when a task was due to its first start.",
            ("queue",),
            bounds=DURATIONS,
        )
        self.task_run = Histogram("drumline_task_run_seconds", "How long executions took.", lane, bounds=DURATIONS)
        self._by_measure = {
            Measure.SUBMITTED: self.submitted,
            Measure.COMPLETED: self.completed,
            Measure.FAILED: self.failed,
            Measure.RETRIED: self.retried,
            Measure.CANCELLED: self.cancelled,
            Measure.SKIPPED: self.skipped,
        }

    def _make_engine(self) -> None:
        """Make what the engine counts, in API servers, direct workers and schedulers."""
        self.claimed = Counter(
            "drumline_tasks_claimed_total",
            "Tasks that were handed to workers, as hinted at by the queue or chosen by the store.",
            ("source",),
        )
        self.fallbacks = Counter(
            "drumline_claim_fallbacks_total",
            "Claims for which the store chose: the queue had no hints, wrong ones, or knew of better ones.",
            ("reason",),
        )
        self.dead_lettered = Counter(
            "drumline_tasks_dead_lettered_total", "Tasks that became dead letters, by the reason.", ("reason",)
        )
        self.dead_lettered.begin(*((reason.value,) for reason in Reason))
        self.fenced = Counter(
            "drumline_settlements_fenced_total", "Reports of attempts that did not hold their task any more."
        )
        self.records = Counter(
            "drumline_records_total",
            "Records of durable tasks that workers asked for: written, or there already, by their status.",
            ("status",),
        )
        self.records.begin(("done",), ("failed",), ("tried",))
        self.waits = Counter(
            "drumline_waits_total", "Waits of attempts of durable tasks: answered, or the attempt parked.", ("outcome",)
        )
        self.waits.begin(("answered",), ("parked",))
        self.signals = Counter(
            "drumline_signals_total", "Signals that were accepted: new ones, and ones that were sent again.", ("kind",)
        )
        self.signals.begin(("new",), ("repeated",))
        self.batch = Histogram(
            "drumline_batch_items", "Items that went to a backend together.", ("batch",), bounds=ITEMS
        )

    def _make_backends(self) -> None:
        self.shard_open = Gauge(
            "drumline_shard_open", "1 while this process works with the shard, 0 while it cannot open its database."
        )
        self.shard_slots = Gauge(
            "drumline_shard_slots", "Slots whose new work the shard takes, of 4096 in all, by the map of this process."
        )
        self.store = Histogram(
            "drumline_store_seconds", "Calls to the store, waiting for a connection included.", ("line",)
        )
        self.store_errors = Counter("drumline_store_errors_total", "Calls to the store that failed.", ("line",))
        self.redis = Histogram("drumline_redis_seconds", "Calls to Redis, several of which may go together.", ("line",))
        self.redis_errors = Counter("drumline_redis_errors_total", "Failures of Redis.", ("line",))
        self.redis_up = Gauge(
            "drumline_redis_up", "1 while Redis answers, 0 since it failed: then the store chooses.", ("line",)
        )

    def _make_duties(self) -> None:
        self.passes = Counter("drumline_duty_passes_total", "Passes of duties.", ("duty", "outcome"))
        self.pass_seconds = Histogram("drumline_duty_seconds", "How long passes of duties took.", ("duty",))
        self.reaped_sessions = Counter("drumline_sessions_reaped_total", "Sessions of workers that died.")
        self.reaped_tasks = Counter(
            "drumline_tasks_reaped_total",
            "Tasks taken back: requeued, failed for good as poison, or claimed and never heard of (ghost).",
            ("fate",),
        )
        self.sweep_hints = Counter("drumline_sweep_hints_total", "Hints that sweeps put into the queue.")
        self.relayed = Counter("drumline_relay_events_total", "Events that Kafka has kept.")
        self.activity_idle = Gauge(
            "drumline_activity_idle_seconds",
            "How long an activity of this process has not got anywhere.",
            ("activity",),
        )

    def _make_stock(self) -> None:
        """Make what schedulers take stock of, now and then: each tells the same, so take the largest."""
        self.queue_tasks = Gauge(
            "drumline_queue_tasks",
            "Tasks that have not ended: pending (due later or blocked), queued (due) and processing.",
            ("queue", "state"),
        )
        self.queue_oldest = Gauge(
            "drumline_queue_oldest_due_seconds", "How long the longest-waiting task has been due.", ("queue",)
        )
        self.queue_paused = Gauge("drumline_queue_paused", "1 while a queue is paused.", ("queue",))
        self.queue_slots = Gauge(
            "drumline_queue_slots", "Tasks that the workers serving a queue can run at once.", ("queue",)
        )
        self.sessions = Gauge("drumline_sessions", "Workers that have a session.")
        self.session_slots = Gauge("drumline_session_slots", "Tasks that all workers can run at once.")
        self.dead_letters = Gauge("drumline_dead_letters", "Unresolved dead letters, up to 10,000.")
        self.waiting_tasks = Gauge(
            "drumline_waiting_tasks",
            "Durable tasks that are not due, by the kind of what they wait for; up to 100,000 waits are looked at.",
            ("kind",),
        )
        self.outbox_rows = Gauge(
            "drumline_outbox_rows", "Rows of the log of changes that a consumer has not passed on.", ("consumer",)
        )
        self.outbox_age = Gauge(
            "drumline_outbox_age_seconds", "How long the first of those rows has been there.", ("consumer",)
        )
        self.stock_taken = Gauge("drumline_stock_taken_timestamp_seconds", "When stock was last taken.")

    def _make_process(self) -> None:
        """Make what belongs to the process, whatever shards it works for."""
        self.alerts_firing = Gauge(
            "drumline_alerts_firing", "Alerts that fire, of all tenants, by severity; set by schedulers.", ("severity",)
        )
        self.http = Histogram(
            "drumline_http_request_seconds",
            "Requests to the API, by what was asked for.",
            ("method", "route", "status"),
        )
        self.http_connections = Gauge("drumline_http_connections", "Connections to the API.")
        self.http_request_bytes = Gauge("drumline_http_request_bytes", "Bodies of requests that are held in memory.")
        self.http_refused = Counter(
            "drumline_http_refused_total",
            "Connections and requests that were refused or ended before the API answered them, by the reason.",
            ("reason",),
        )
        self.slots = Gauge("drumline_worker_slots", "Tasks that this worker can run at once.", ("state",))
        self.attempts = Counter(
            "drumline_worker_attempts_total", "Executions that this worker has reported.", ("outcome",)
        )
        self.worker_session = Gauge("drumline_worker_session_open", "1 while this worker has a session.")
        self.unanswered = Counter(
            "drumline_worker_unanswered_total", "Calls of this worker that the engine did not answer."
        )
        self.deliveries = Counter(
            "drumline_deliveries_total", "Attempts to deliver notifications, by their outcome.", ("kind", "outcome")
        )
        self.deliveries.begin(
            *((kind, outcome) for kind in ("webhook", "mail") for outcome in ("delivered", "put_off", "failed"))
        )
        self.delivery = Histogram("drumline_delivery_seconds", "How long such tries took.", ("kind",))
        self.loop_lag = Histogram(
            "drumline_event_loop_lag_seconds", "How much later than asked for the event loop gets to something."
        )
        self.config_version = Gauge(
            "drumline_config_version", "The version of the runtime configuration that this process goes by."
        )
        self.config_refused = Gauge(
            "drumline_config_refused", "1 while this process goes by an older configuration: the newest cannot be."
        )
        self.build = Gauge(
            "drumline_build_info", "1, with the version and what the process does.", ("version", "python", "role")
        )
