"""The panels of the dashboards. Gauges that every scheduler exports are taken once for each shard: the largest.

The generator adds a condition on the chosen shards to every metric that has a label `shard`.
"""

from collections.abc import Sequence
from typing import NamedTuple


class Panel(NamedTuple):
    """A chart: its title, what it shows, in which unit, and what a reader should know."""

    title: str
    targets: dict[str, str]
    """Expressions by their legend."""
    unit: str = "short"
    about: str = ""
    kind: str = "timeseries"
    width: int = 12


class Dashboard(NamedTuple):
    """A page of charts."""

    uid: str
    title: str
    rows: dict[str, Sequence[Panel]]
    has_queue: bool = False


def stat(title: str, expression: str, unit: str = "short", about: str = "") -> Panel:
    """Return a panel with one number."""
    return Panel(title, {"": expression}, unit, about, kind="stat", width=4)


def rate(name: str, by: str = "", which: str = "") -> str:
    """Return how often something happens in a second."""
    grouped = f" by ({by})" if by else ""
    return f"sum{grouped} (rate({name}{which}[$__rate_interval]))"


def quantile(share: float, name: str, by: str = "", which: str = "") -> str:
    """Return a duration below which a share of all lies."""
    labels = ", ".join(filter(None, ("le", by)))
    return f"histogram_quantile({share}, sum by ({labels}) (rate({name}_bucket{which}[$__rate_interval])))"


def mean(name: str, by: str) -> str:
    """Return the mean of a histogram."""
    return f"{rate(f'{name}_sum', by)} / {rate(f'{name}_count', by)}"


def busiest(expression: str) -> str:
    """Return the ten largest."""
    return f"topk(10, {expression})"


def depth(state: str) -> str:
    """Return how many tasks each chosen queue has in a state."""
    return f"sum by (queue) ({tasks(state, 'queue, shard', QUEUE_IS)})"


def tasks(state: str, by: str, which: str = "") -> str:
    """Return how many tasks there are in a state."""
    conditions = ", ".join(filter(None, (f'state="{state}"', which)))
    return f"max by ({by}) (drumline_queue_tasks{{{conditions}}})"


QUEUE_IS = 'queue=~"$queue"'
QUEUE = f"{{{QUEUE_IS}}}"
OVERVIEW = Dashboard(
    "drumline-overview",
    "Drumline: overview",
    {
        "Now": (
            stat("Due", f"sum({tasks('queued', 'queue, shard')})", about="Tasks that could run."),
            stat("Running", f"sum({tasks('processing', 'queue, shard')})"),
            stat("Later", f"sum({tasks('pending', 'queue, shard')})", about="Due later, or blocked."),
            stat("Oldest due", "max(drumline_queue_oldest_due_seconds)", "s"),
            stat("Workers", "max(drumline_sessions)", about="A worker has its session in every shard."),
            stat(
                "Dead letters", "sum(max by (shard) (drumline_dead_letters))", about="Counted up to 10,000 in a shard."
            ),
        ),
        "Work": (
            Panel(
                "Tasks",
                {
                    "submitted": rate("drumline_tasks_submitted_total"),
                    "completed": rate("drumline_tasks_completed_total"),
                    "failed": rate("drumline_tasks_failed_total"),
                    "retried": rate("drumline_tasks_retried_total"),
                    "cancelled": rate("drumline_tasks_cancelled_total"),
                    "skipped": rate("drumline_tasks_skipped_total"),
                },
                "ops",
            ),
            Panel(
                "Waiting before the first start",
                {
                    "half": quantile(0.5, "drumline_task_wait_seconds"),
                    "95 %": quantile(0.95, "drumline_task_wait_seconds"),
                    "99 %": quantile(0.99, "drumline_task_wait_seconds"),
                },
                "s",
            ),
            Panel(
                "Requests to the API",
                {"{{status}}": rate("drumline_http_request_seconds_count", "status")},
                "reqps",
            ),
            Panel(
                "Slots",
                {
                    "all": "max(drumline_session_slots)",
                    "busy": f"sum({tasks('processing', 'queue, shard')})",
                },
            ),
        ),
        "Trouble": (
            Panel("Alerts that fire", {"{{severity}}": "max by (severity) (drumline_alerts_firing)"}),
            Panel(
                "Dead letters by reason", {"{{reason}}": rate("drumline_tasks_dead_lettered_total", "reason")}, "ops"
            ),
            Panel(
                "Not passed on",
                {"{{consumer}}": "max by (consumer) (drumline_outbox_age_seconds)"},
                "s",
                "How long events wait for each consumer of the log.",
            ),
            Panel(
                "Configuration",
                {
                    "version at {{instance}}": "drumline_config_version",
                    "refused at {{instance}}": "drumline_config_refused",
                },
                about="Every process should go by the same version, and refuse none.",
            ),
            Panel(
                "Processes",
                {"{{role}} {{version}}": "count by (role, version) (drumline_build_info)"},
                about="How many of each role Prometheus sees.",
            ),
            Panel(
                "Event loop, 99 %", {"{{instance}}": quantile(0.99, "drumline_event_loop_lag_seconds", "instance")}, "s"
            ),
        ),
    },
)
QUEUES = Dashboard(
    "drumline-queues",
    "Drumline: queues",
    {
        "Depth": (
            Panel("Due", {"{{queue}}": depth("queued")}),
            Panel("Running", {"{{queue}}": depth("processing")}),
            Panel("Later", {"{{queue}}": depth("pending")}),
            Panel("Oldest due", {"{{queue}}": f"max by (queue) (drumline_queue_oldest_due_seconds{QUEUE})"}, "s"),
        ),
        "Flow": (
            Panel("Submitted", {"{{queue}}": rate("drumline_tasks_submitted_total", "queue", QUEUE)}, "ops"),
            Panel("Completed", {"{{queue}}": rate("drumline_tasks_completed_total", "queue", QUEUE)}, "ops"),
            Panel(
                "Failed for good",
                {"{{queue}} {{task}}": rate("drumline_tasks_failed_total", "queue, task", QUEUE)},
                "ops",
            ),
            Panel("Retried", {"{{queue}} {{task}}": rate("drumline_tasks_retried_total", "queue, task", QUEUE)}, "ops"),
        ),
        "Time": (
            Panel("Waiting, 95 %", {"{{queue}}": quantile(0.95, "drumline_task_wait_seconds", "queue", QUEUE)}, "s"),
            Panel("Running, 95 %", {"{{task}}": quantile(0.95, "drumline_task_run_seconds", "task", QUEUE)}, "s"),
        ),
        "Who serves them": (
            Panel("Slots", {"{{queue}}": f"max by (queue) (drumline_queue_slots{QUEUE})"}),
            Panel("Paused", {"{{queue}}": f"max by (queue) (drumline_queue_paused{QUEUE})"}),
        ),
    },
    has_queue=True,
)
WORKERS = Dashboard(
    "drumline-workers",
    "Drumline: workers",
    {
        "Slots": (
            Panel("Busy", {"{{instance}}": 'sum by (instance) (drumline_worker_slots{state="busy"})'}),
            Panel("Free", {"{{instance}}": 'sum by (instance) (drumline_worker_slots{state="free"})'}),
            Panel("Sessions", {"all": "max(drumline_sessions)", "seen": "sum(drumline_worker_session_open)"}),
            Panel("Executions", {"{{outcome}}": rate("drumline_worker_attempts_total", "outcome")}, "ops"),
        ),
        "Claims": (
            Panel("Tasks handed out", {"by {{source}}": rate("drumline_tasks_claimed_total", "source")}, "ops"),
            Panel(
                "The store had to choose",
                {"{{reason}}": rate("drumline_claim_fallbacks_total", "reason")},
                "ops",
                "Without a queue in Redis there are never any hints; with one, these should be few.",
            ),
            Panel(
                "Reports in a batch, 95 %",
                {"{{batch}}": quantile(0.95, "drumline_batch_items", "batch", '{batch="reports"}')},
            ),
            Panel("Not answered", {"{{instance}}": rate("drumline_worker_unanswered_total", "instance")}, "ops"),
        ),
        "Durable tasks": (
            Panel(
                "Durable tasks that wait", {"{{kind}}": "sum by (kind) (max by (shard, kind) (drumline_waiting_tasks))"}
            ),
            Panel("Records of durable tasks", {"{{status}}": rate("drumline_records_total", "status")}, "ops"),
            Panel(
                "Waits and signals",
                {
                    "waits {{outcome}}": rate("drumline_waits_total", "outcome"),
                    "signals {{kind}}": rate("drumline_signals_total", "kind"),
                },
                "ops",
            ),
        ),
        "Lost": (
            Panel("Dead workers", {"reaped": rate("drumline_sessions_reaped_total")}, "ops"),
            Panel("Tasks taken back", {"{{fate}}": rate("drumline_tasks_reaped_total", "fate")}, "ops"),
            Panel("Late reports", {"refused": rate("drumline_settlements_fenced_total")}, "ops"),
        ),
        "Processes": (
            Panel(
                "Processor",
                {"{{instance}}": 'rate(process_cpu_seconds_total{job=~".*drumline.*"}[$__rate_interval])'},
                "percentunit",
            ),
            Panel("Memory", {"{{instance}}": 'process_resident_memory_bytes{job=~".*drumline.*"}'}, "bytes"),
            Panel(
                "Event loop, 99 %", {"{{instance}}": quantile(0.99, "drumline_event_loop_lag_seconds", "instance")}, "s"
            ),
            Panel(
                "Silent activities",
                {"{{instance}} {{activity}} {{shard}}": "topk(10, drumline_activity_idle_seconds)"},
                "s",
            ),
        ),
    },
)
BACKENDS = Dashboard(
    "drumline-backends",
    "Drumline: store and Redis",
    {
        "Store": (
            Panel("Calls", {"{{line}}": rate("drumline_store_seconds_count", "line")}, "ops"),
            Panel("Half", {"{{line}}": quantile(0.5, "drumline_store_seconds", "line")}, "s"),
            Panel("99 %", {"{{line}}": quantile(0.99, "drumline_store_seconds", "line")}, "s"),
            Panel("Failed", {"{{line}}": rate("drumline_store_errors_total", "line")}, "ops"),
        ),
        "Batches": (
            Panel("Batches", {"{{batch}}": rate("drumline_batch_items_count", "batch")}, "ops"),
            Panel(
                "Items in a batch",
                {"{{batch}}": mean("drumline_batch_items", "batch")},
            ),
        ),
        "Redis": (
            Panel(
                "Answers",
                {"{{line}} {{shard}}": "min by (line, shard) (drumline_redis_up)"},
                about="1 while every process reaches it.",
            ),
            Panel("Calls", {"{{line}}": rate("drumline_redis_seconds_count", "line")}, "ops"),
            Panel("99 %", {"{{line}}": quantile(0.99, "drumline_redis_seconds", "line")}, "s"),
            Panel("Failures", {"{{line}}": rate("drumline_redis_errors_total", "line")}, "ops"),
        ),
        "Duties": (
            Panel("Passes", {"{{duty}} {{outcome}}": rate("drumline_duty_passes_total", "duty, outcome")}, "ops"),
            Panel("How long they take, 95 %", {"{{duty}}": quantile(0.95, "drumline_duty_seconds", "duty")}, "s"),
            Panel("Hints restored", {"by sweeps": rate("drumline_sweep_hints_total")}, "ops"),
            Panel(
                "Stock taken", {"{{shard}}": "time() - max by (shard) (drumline_stock_taken_timestamp_seconds)"}, "s"
            ),
        ),
        "Events": (
            Panel(
                "Rows not passed on",
                {"{{consumer}}": "sum by (consumer) (max by (consumer, shard) (drumline_outbox_rows))"},
            ),
            Panel("Sent to Kafka", {"events": rate("drumline_relay_events_total")}, "ops"),
            Panel("Deliveries", {"{{kind}} {{outcome}}": rate("drumline_deliveries_total", "kind, outcome")}, "ops"),
            Panel("Deliveries, 95 %", {"{{kind}}": quantile(0.95, "drumline_delivery_seconds", "kind")}, "s"),
        ),
        "API": (
            Panel("Connections", {"{{instance}}": "drumline_http_connections"}),
            Panel(
                "Bodies held in memory",
                {"{{instance}}": "drumline_http_request_bytes"},
                "bytes",
                "At most http.request_bytes for each server.",
            ),
            Panel(
                "Refused before an answer",
                {"{{reason}}": rate("drumline_http_refused_total", "reason")},
                "ops",
                "Connections and requests beyond the limits of SECURITY.md.",
            ),
            Panel(
                "Requests",
                {"{{method}} {{route}}": busiest(rate("drumline_http_request_seconds_count", "method, route"))},
                "reqps",
            ),
            Panel(
                "95 %",
                {"{{method}} {{route}}": busiest(quantile(0.95, "drumline_http_request_seconds", "method, route"))},
                "s",
            ),
        ),
    },
)
SHARDS = Dashboard(
    "drumline-shards",
    "Drumline: shards",
    {
        "New work": (
            Panel(
                "Slots",
                {"{{shard}}": "max by (shard) (drumline_shard_slots)"},
                about="Of 4096: the share of new work that a shard takes. They change by `drumline shards move`.",
            ),
            Panel(
                "Open",
                {"{{shard}}": "min by (shard) (drumline_shard_open)"},
                about="1 while every process has opened the shard's database.",
            ),
        ),
        "Depth": (
            Panel("Due", {"{{shard}}": f"sum by (shard) ({tasks('queued', 'queue, shard')})"}),
            Panel("Running", {"{{shard}}": f"sum by (shard) ({tasks('processing', 'queue, shard')})"}),
            Panel("Later", {"{{shard}}": f"sum by (shard) ({tasks('pending', 'queue, shard')})"}),
            Panel("Oldest due", {"{{shard}}": "max by (shard) (drumline_queue_oldest_due_seconds)"}, "s"),
        ),
        "Flow": (
            Panel(
                "Submitted",
                {"{{shard}}": rate("drumline_tasks_submitted_total", "shard")},
                "ops",
                "New tasks go where there is room: shards with as many slots should get about as many.",
            ),
            Panel("Completed", {"{{shard}}": rate("drumline_tasks_completed_total", "shard")}, "ops"),
            Panel("Failed for good", {"{{shard}}": rate("drumline_tasks_failed_total", "shard")}, "ops"),
            Panel("Waiting, 95 %", {"{{shard}}": quantile(0.95, "drumline_task_wait_seconds", "shard")}, "s"),
            Panel("Dead letters", {"{{shard}}": "max by (shard) (drumline_dead_letters)"}),
            Panel(
                "Workers",
                {"{{shard}}": "max by (shard) (drumline_sessions)"},
                about="A worker has its session in every shard: these should be equal.",
            ),
        ),
        "Databases": (
            Panel("Calls", {"{{shard}}": rate("drumline_store_seconds_count", "shard")}, "ops"),
            Panel("99 %", {"{{shard}}": quantile(0.99, "drumline_store_seconds", "shard")}, "s"),
            Panel("Failed calls", {"{{shard}}": rate("drumline_store_errors_total", "shard")}, "ops"),
            Panel("Batches", {"{{shard}} {{batch}}": rate("drumline_batch_items_count", "shard, batch")}, "ops"),
        ),
        "Redis": (
            Panel("Answers", {"{{shard}}": "min by (shard) (drumline_redis_up)"}),
            Panel("99 %", {"{{shard}}": quantile(0.99, "drumline_redis_seconds", "shard")}, "s"),
            Panel("Hints restored", {"{{shard}}": rate("drumline_sweep_hints_total", "shard")}, "ops"),
            Panel("The store had to choose", {"{{shard}}": rate("drumline_claim_fallbacks_total", "shard")}, "ops"),
        ),
        "Duties": (
            Panel("Passes", {"{{shard}}": rate("drumline_duty_passes_total", "shard")}, "ops"),
            Panel(
                "Stock taken", {"{{shard}}": "time() - max by (shard) (drumline_stock_taken_timestamp_seconds)"}, "s"
            ),
            Panel(
                "Not passed on",
                {"{{shard}} {{consumer}}": "max by (shard, consumer) (drumline_outbox_age_seconds)"},
                "s",
                "How long events wait for each consumer of a shard's log.",
            ),
            Panel("Sent to Kafka", {"{{shard}}": rate("drumline_relay_events_total", "shard")}, "ops"),
        ),
    },
)
ALL = (OVERVIEW, QUEUES, SHARDS, WORKERS, BACKENDS)
