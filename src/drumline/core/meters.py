"""What a process counts of itself: counters, gauges and histograms by labels.

Counting is a look into a dictionary and an addition, in the thread of the event loop, and mostly once for a whole
batch. The exposition reads them here; `metrics.py` lists them.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

Labels = tuple[str, ...]
"""The values of a family's labels, in the order of their names."""

OTHER: Final = "other"
"""The label value that is used when there is no room for more values."""
SECONDS: Final = tuple(2.0**power for power in range(-11, 6))
"""Bounds from half a millisecond to half a minute. Powers of two, as native histograms have them."""
ITEMS: Final = tuple(float(2**power) for power in range(13))
"""Bounds of sizes, up to some thousands."""


class Family:
    """One figure by labels."""

    kind = "untyped"

    def __init__(self, name: str, help: str, labels: Labels = ()) -> None:
        self.name = name
        self.help = help
        self.labels = labels


class Counter(Family):
    """A number that only grows."""

    kind = "counter"

    def __init__(self, name: str, help: str, labels: Labels = ()) -> None:
        super().__init__(name, help, labels)
        self.values: dict[Labels, float] = {} if labels else {(): 0}

    def add(self, amount: float = 1, labels: Labels = ()) -> None:
        """Count."""
        self.values[labels] = self.values.get(labels, 0) + amount

    def begin(self, *labels: Labels) -> None:
        """Start series at zero, so that a rate can be computed from the first event on."""
        for each in labels:
            self.add(0, each)


class Gauge(Family):
    """A number that goes up and down."""

    kind = "gauge"

    def __init__(self, name: str, help: str, labels: Labels = ()) -> None:
        super().__init__(name, help, labels)
        self.values: dict[Labels, float] = {}

    def set(self, value: float, labels: Labels = ()) -> None:
        """Set the value."""
        self.values[labels] = value

    def replace(self, values: Mapping[Labels, float]) -> None:
        """Set all values; series that are not named are removed."""
        self.values = dict(values)


class HistogramSeries:
    """One histogram: how many values lie up to each bound and beyond, and their sum."""

    __slots__ = ("counts", "sum")

    def __init__(self, bounds: int) -> None:
        self.counts = [0] * (bounds + 1)
        self.sum = 0.0


class Histogram(Family):
    """How values are spread."""

    kind = "histogram"

    def __init__(self, name: str, help: str, labels: Labels = (), *, bounds: Sequence[float] = SECONDS) -> None:
        super().__init__(name, help, labels)
        self.bounds = tuple(bounds)
        self.series: dict[Labels, HistogramSeries] = {} if labels else {(): HistogramSeries(len(self.bounds))}

    def observe(self, value: float, labels: Labels = ()) -> None:
        """Count a value."""
        series = self.series.get(labels) or self._new(labels)
        series.counts[bisect_left(self.bounds, value)] += 1
        series.sum += value

    def add(self, labels: Labels, place: int, count: int, total: float) -> None:
        """Count values that were counted elsewhere: how many lie between the bound before `place` and that one."""
        series = self.series.get(labels) or self._new(labels)
        series.counts[place] += count
        series.sum += total

    def of(self, *labels: str) -> Callable[[float], None]:
        """Return what counts values of fixed labels."""
        series = self.series.get(labels) or self._new(labels)
        bounds, counts = self.bounds, series.counts

        def observe(value: float) -> None:
            counts[bisect_left(bounds, value)] += 1
            series.sum += value

        return observe

    def _new(self, labels: Labels) -> HistogramSeries:
        series = self.series[labels] = HistogramSeries(len(self.bounds))
        return series


class BoundedLabels:
    """Keeps labels that users choose from becoming too many: the first ones have their names, later ones are `other`.

    Ids never become labels, but queues and tasks may be named by the thousand.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[Labels] = set()

    def of(self, *labels: str) -> Labels:
        """Return labels that may be used for these."""
        if labels in self._known:
            return labels
        if len(self._known) >= self._most:
            return (OTHER,) * len(labels)
        self._known.add(labels)
        return labels


def summed(pairs: Iterable[tuple[Labels, float]]) -> dict[Labels, float]:
    """Return the sum for each of some labels."""
    sums: dict[Labels, float] = {}
    for labels, value in pairs:
        sums[labels] = sums.get(labels, 0) + value
    return sums


def joined(label: str, families: Mapping[str, Family]) -> Family:
    """Return families that count the same as one family, in which another label tells them apart.

    Series of histograms are not copied: they go on counting.
    """
    first = next(iter(families.values()))
    labels = (*first.labels, label)
    if isinstance(first, Histogram):
        histogram = Histogram(first.name, first.help, labels, bounds=first.bounds)
        for value, family in families.items():
            if isinstance(family, Histogram):
                histogram.series |= {(*own, value): series for own, series in list(family.series.items())}
        return histogram
    numbers = (Gauge if isinstance(first, Gauge) else Counter)(first.name, first.help, labels)
    for value, family in families.items():
        if isinstance(family, Counter | Gauge):
            numbers.values |= {(*own, value): number for own, number in list(family.values.items())}
    return numbers
