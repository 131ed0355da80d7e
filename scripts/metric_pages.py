"""The reference of metrics, made from `core/metrics.py`."""

from drumline.core.meters import Family
from drumline.core.metrics import Metrics

INTRODUCTION = """# Metrics

Made from `core/metrics.py`. Every process serves them at `/metrics` of its [monitor port](settings.md), and an API
server also on its own port, to keys with `system:read`. [Observe](../how-to/observe.md) explains how to use them.

Labels that users choose are bounded: the first few hundred queues and tasks have their names, the rest is counted as
`other`. Tasks are counted once, by the scheduler that reads the event log: sum them over all processes. Gauges of
queues, workers and the event log are reported by every scheduler: use the maximum, for each `shard`. All others belong
to the process that reports them. `shard` is `main` in an installation with one database.

| name | kind | labels | meaning |
|---|---|---|---|
"""
BESIDES = """
There are also `process_*` (memory, processor time, open files) and `python_gc_*`.
"""


def metrics_page() -> str:
    """Return the reference of all metrics."""
    return INTRODUCTION + "".join(_row(family) for family in Metrics().families()) + BESIDES


def _row(family: Family) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    return f"| `{family.name}` | {family.kind} | {labels} | {family.help} |\n"
