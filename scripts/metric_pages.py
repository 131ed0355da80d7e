"""The reference of figures, made from the page in the code that has them all."""

from drumline.core.meters import Family
from drumline.core.metrics import Metrics

INTRODUCTION = """# Figures

Made from `core/metrics.py`. Every process shows them at `/metrics` of its [monitor port](settings.md), and an API
server besides at its own port to keys that may read figures. How to watch them: [Observe](../how-to/observe.md).

Labels that users choose are bounded: of queues and tasks the first few hundred have their names, the rest is counted as
`other`. Tasks are counted from the log of changes, once, by whichever scheduler reads it: sum them over all processes.
Gauges of queues, workers and the outbox are told by every scheduler: take the largest. Whatever else there is belongs
to the process that shows it.

| name | kind | labels | meaning |
|---|---|---|---|
"""
BESIDES = """
Besides those there are `process_*` (memory, processor time, open files) and `python_gc_*`.
"""


def metrics_page() -> str:
    """Return the reference of all figures."""
    return INTRODUCTION + "".join(_row(family) for family in Metrics().families()) + BESIDES


def _row(family: Family) -> str:
    labels = ", ".join(f"`{label}`" for label in family.labels)
    return f"| `{family.name}` | {family.kind} | {labels} | {family.help} |\n"
