"""Metrics in the text format of Prometheus, or OpenMetrics if the client accepts it."""

import platform
from collections.abc import Iterator
from math import inf

from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from drumline._version import __version__
from drumline.core.meters import Counter, Family, Gauge, Histogram, HistogramSeries
from drumline.core.metrics import Metrics


class Exposition(Collector):
    """Writes down what a process counts, with what the operating system and the interpreter know of it."""

    def __init__(self, metrics: Metrics, *, role: str) -> None:
        self._metrics = metrics
        metrics.build.set(1, (__version__, platform.python_version(), role))
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)

    def write(self, accept: str = "") -> tuple[bytes, str]:
        """Return the metrics, and the media type that was chosen by the header `Accept`."""
        encode, media = choose_encoder(accept)
        return encode(self._registry), media

    def collect(self) -> Iterator[Metric]:
        """Yield every family that has a value."""
        for family in self._metrics.families():
            if (metric := _metric(family)) is not None:
                yield metric


def _metric(family: Family) -> Metric | None:
    # In copies: a thread of SQLite may count meanwhile.
    match family:
        case Counter():
            counter = CounterMetricFamily(family.name, family.help, labels=family.labels)
            for labels, value in list(family.values.items()):
                counter.add_metric(labels, value)
            return counter
        case Gauge():
            gauge = GaugeMetricFamily(family.name, family.help, labels=family.labels)
            for labels, value in list(family.values.items()):
                gauge.add_metric(labels, value)
            return gauge
        case Histogram():
            histogram = HistogramMetricFamily(family.name, family.help, labels=family.labels)
            for labels, series in list(family.series.items()):
                histogram.add_metric(labels, _buckets(family, series), series.sum)
            return histogram
        case _:
            return None


def _buckets(family: Histogram, series: HistogramSeries) -> list[tuple[str, float]]:
    total = 0
    buckets: list[tuple[str, float]] = []
    for bound, count in zip((*family.bounds, inf), list(series.counts), strict=True):
        total += count
        buckets.append(("+Inf" if bound == inf else repr(float(bound)), total))
    return buckets
