import re
from pathlib import Path

from drumline.core.clock import ManualClock
from drumline.core.liveness import Liveness
from drumline.core.meters import ITEMS, BoundedLabels, Counter, Gauge, Histogram, joined, summed
from drumline.core.metrics import DURATIONS, MOST_QUEUES, MOST_TASKS, Metrics
from drumline.core.stats import Figure, Measure


def test_a_value_on_a_bound_lies_below_it() -> None:
    histogram = Histogram("h", "", bounds=(1, 2))

    for value in (0.5, 1, 1.5, 2, 3):
        histogram.observe(value)

    assert histogram.series[()].counts == [2, 2, 1]
    assert histogram.series[()].sum == 8


def test_what_is_not_named_any_more_is_gone_from_a_gauge() -> None:
    gauge = Gauge("g", "", ("queue",))
    gauge.replace({("a",): 1, ("b",): 2})

    gauge.replace({("b",): 3})

    assert gauge.values == {("b",): 3}


def test_labels_that_users_choose_do_not_grow_without_end() -> None:
    metrics = Metrics()

    for number in range(MOST_TASKS + 100):
        metrics.count(Figure(queue="q", name=f"task-{number}", measure=Measure.SUBMITTED, count=1))

    assert len(metrics.submitted.values) == MOST_TASKS + 1
    assert metrics.submitted.values["other", "other"] == 100


def test_a_name_that_has_a_place_keeps_it() -> None:
    bounded = BoundedLabels(1)

    assert bounded.of("first") == ("first",)
    assert bounded.of("second") == ("other",)
    assert bounded.of("first") == ("first",)


def test_what_has_not_happened_is_shown_as_zero() -> None:
    metrics = Metrics()
    metrics.count(Figure(queue="q", name="t", measure=Measure.SUBMITTED, count=2))

    assert metrics.submitted.values == {("q", "t"): 2}
    assert metrics.failed.values == {("q", "t"): 0}


def test_counting_elsewhere_comes_to_the_same_as_observing() -> None:
    metrics = Metrics()

    metrics.count(Figure(queue="q", name="t", measure=Measure.RUN, duration=6, count=2, total_ms=140))

    series = metrics.task_run.series["q", "t"]
    assert metrics.task_run.bounds[6] == 0.1
    assert (series.counts[6], series.sum) == (2, 0.14)


def test_names_say_what_they_are() -> None:
    families = list(Metrics().families())

    assert len({family.name for family in families}) == len(families)
    for family in families:
        assert family.name.startswith("drumline_")
        assert family.name.endswith("_total") == isinstance(family, Counter)
        assert family.help.endswith(".")
        assert not {"id", "tenant", "worker", "session"} & set(family.labels)


def test_an_activity_that_is_silent_for_too_long_is_stuck() -> None:
    clock = ManualClock()
    liveness = Liveness(clock)
    liveness.expect("reap", within=10)
    liveness.expect("fire", within=30)

    clock.advance(11)

    assert liveness.stuck() == {"reap": 11}
    liveness.beat("reap")
    assert liveness.stuck() == {}


def test_nothing_is_expected_of_what_has_ended() -> None:
    clock = ManualClock()
    liveness = Liveness(clock)
    liveness.expect("reap", within=10)

    liveness.end("reap")
    liveness.beat("reap")
    clock.advance(100)

    assert liveness.idle() == {}


def values_of(metrics: Metrics, name: str) -> dict[tuple[str, ...], float]:
    family = next(family for family in metrics.families() if family.name == name)
    assert isinstance(family, Counter | Gauge)
    return dict(family.values)


def test_one_database_is_the_shard_main() -> None:
    metrics = Metrics()
    metrics.sessions.set(3)
    metrics.fenced.add(2)

    assert values_of(metrics, "drumline_sessions") == {("main",): 3}
    assert values_of(metrics, "drumline_settlements_fenced_total") == {("main",): 2}
    assert metrics.of_shard("main") is metrics


def test_each_shard_counts_apart_and_is_read_under_its_name() -> None:
    metrics = Metrics()
    other = metrics.of_shard("pg2")
    metrics.queue_tasks.replace({("mail", "queued"): 5})
    other.queue_tasks.replace({("mail", "queued"): 7})
    other.store.of("claim")(0.5)

    assert metrics.of_shard("pg2") is other
    assert values_of(metrics, "drumline_queue_tasks") == {("mail", "queued", "main"): 5, ("mail", "queued", "pg2"): 7}
    store = next(family for family in metrics.families() if family.name == "drumline_store_seconds")
    assert isinstance(store, Histogram)
    assert store.labels == ("line", "shard")
    assert {labels: sum(series.counts) for labels, series in store.series.items()} == {("claim", "pg2"): 1}


def test_what_belongs_to_the_process_is_the_same_in_every_shard() -> None:
    metrics = Metrics()
    other = metrics.of_shard("pg2")

    other.http_connections.set(4)
    other.before_reading.append(lambda: metrics.slots.set(1, ("busy",)))

    assert values_of(metrics, "drumline_http_connections") == {(): 4}
    assert values_of(other, "drumline_worker_slots") == {("busy",): 1}


def test_names_that_users_choose_are_bounded_over_all_shards() -> None:
    metrics = Metrics()
    for number in range(MOST_TASKS):
        metrics.count(Figure(queue="q", name=f"task-{number}", measure=Measure.SUBMITTED, count=1))

    other = metrics.of_shard("pg2")
    other.count(Figure(queue="q", name="task-1", measure=Measure.SUBMITTED, count=2))
    other.count(Figure(queue="q", name="late", measure=Measure.SUBMITTED, count=4))

    assert other.submitted.values == {("q", "task-1"): 2, ("other", "other"): 4}


def test_a_shard_that_has_left_is_reported_no_more() -> None:
    metrics = Metrics()
    metrics.of_shard("pg2").sessions.set(1)
    metrics.of_shard("pg2").liveness.expect("reap", within=0)

    metrics.forget_shard("pg2")

    assert values_of(metrics, "drumline_sessions") == {}
    assert metrics.liveness.stuck() == {}


def test_an_activity_that_is_stuck_for_one_shard_is_found_though_it_goes_on_for_another() -> None:
    clock = ManualClock()
    metrics = Metrics(clock)
    other = metrics.of_shard("pg2")
    metrics.liveness.expect("reap", within=10)
    other.liveness.expect("reap", within=10)

    clock.advance(11)
    metrics.liveness.beat("reap")

    assert metrics.liveness.stuck() == {"reap of pg2": 11}
    assert values_of(metrics, "drumline_activity_idle_seconds") == {("reap", "main"): 0, ("reap", "pg2"): 11}


METRICS_PAGE = Path(__file__).parents[2] / "docs" / "reference" / "metrics.md"
ROW = re.compile(r"^\| `(drumline_\w+)` \| (\w+) \| (.*?) \| (.*) \|$", re.MULTILINE)


def test_every_metric_is_reported_as_the_reference_describes_it() -> None:
    described = {
        (name, kind, tuple(re.findall(r"`(\w+)`", labels)), text)
        for name, kind, labels, text in ROW.findall(METRICS_PAGE.read_text(encoding="utf-8"))
    }
    assert {(each.name, each.kind, each.labels, each.help) for each in Metrics().families()} == described


def test_the_metrics_of_the_installation_are_those_that_schedulers_count_and_take_stock_of() -> None:
    names = {each.name for each in Metrics().installation_families()}
    assert len(names) == 18
    assert names < {each.name for each in Metrics().families()}
    assert {"drumline_tasks_failed_total", "drumline_queue_tasks", "drumline_outbox_rows"} < names


def test_the_clock_of_a_process_is_that_of_its_activities() -> None:
    clock = ManualClock()
    metrics = Metrics(clock)
    metrics.liveness.expect("reap", within=10)
    clock.advance(5)
    assert values_of(metrics, "drumline_activity_idle_seconds") == {("reap", "main"): 5}


def test_values_that_change_all_the_time_are_set_before_they_are_read() -> None:
    metrics = Metrics()
    metrics.before_reading.append(lambda: metrics.config_version.set(7))
    assert values_of(metrics, "drumline_config_version") == {(): 7}


def test_a_figure_without_labels_is_there_from_the_start_and_one_with_labels_when_it_begins() -> None:
    counter = Counter("c", "", ("kind",))
    counter.begin(("a",), ("b",))
    counter.add(2, ("a",))
    counter.begin(("a",))
    counter.add(labels=("c",))

    assert Counter("c", "").values == {(): 0}
    assert Counter("c", "", ("kind",)).values == {}
    assert counter.values == {("a",): 2, ("b",): 0, ("c",): 1}
    assert [series.counts for series in Histogram("h", "", bounds=(1,)).series.values()] == [[0, 0]]
    assert Histogram("h", "", ("kind",)).series == {}


def test_values_are_added_up_by_their_labels_in_every_way_of_counting() -> None:
    histogram = Histogram("h", "", ("kind",), bounds=(1, 2))
    observe = histogram.of("a")

    observe(0.5)
    observe(0.5)
    histogram.observe(1.5, ("a",))
    histogram.add(("a",), 2, 3, 30)
    histogram.add(("a",), 2, 1, 10)
    histogram.of("a")(5)
    histogram.observe(1, ("b",))
    histogram.observe(1, ("b",))
    histogram.add(("c",), 1, 4, 8)

    assert {labels: (series.counts, series.sum) for labels, series in histogram.series.items()} == {
        ("a",): ([2, 1, 5], 47.5),
        ("b",): ([2, 0, 0], 2),
        ("c",): ([0, 4, 0], 8),
    }


def test_sums_are_those_of_equal_labels() -> None:
    assert summed([(("a",), 1), (("b",), 2), (("a",), 4)]) == {("a",): 5, ("b",): 2}
    assert summed([]) == {}


def test_joined_families_keep_what_each_has_counted() -> None:
    first, second = (Histogram("h", "Help.", ("kind",), bounds=(1, 2)) for _ in "ab")
    first.observe(1, ("x",))
    second.observe(2, ("x",))

    together = joined("shard", {"a": first, "b": second})

    assert isinstance(together, Histogram)
    assert (together.name, together.help, together.labels) == ("h", "Help.", ("kind", "shard"))
    assert list(together.bounds) == [1, 2]
    assert {labels: series.counts for labels, series in together.series.items()} == {
        ("x", "a"): [1, 0, 0],
        ("x", "b"): [0, 1, 0],
    }
    first.observe(1, ("x",))
    assert together.series["x", "a"].counts == [2, 0, 0], "it goes on counting"


def test_waiting_is_counted_by_queues_of_which_only_so_many_have_their_names() -> None:
    metrics = Metrics()
    for number in range(MOST_QUEUES + 2):
        figure = Figure(queue=f"q{number}", name="t", measure=Measure.WAIT, duration=6, count=2, total_ms=140)
        metrics.count(figure)

    assert len(metrics.task_wait.series) == MOST_QUEUES + 1
    named, others = metrics.task_wait.series["q0",], metrics.task_wait.series["other",]
    assert (named.counts[6], named.sum) == (2, 0.14)
    assert (others.counts[6], others.sum) == (4, 0.28)


def test_durations_of_tasks_have_the_classes_of_the_statistics_and_sizes_have_others() -> None:
    metrics = Metrics()

    assert metrics.task_wait.bounds == metrics.task_run.bounds == DURATIONS
    assert metrics.batch.bounds == ITEMS


def test_series_whose_labels_are_known_begin_at_zero() -> None:
    metrics = Metrics()

    assert metrics.records.values == {("done",): 0, ("failed",): 0, ("tried",): 0}
    assert metrics.waits.values == {("answered",): 0, ("parked",): 0}
    assert metrics.signals.values == {("new",): 0, ("repeated",): 0}
    assert metrics.deliveries.values == {
        (kind, outcome): 0 for kind in ("webhook", "mail") for outcome in ("delivered", "put_off", "failed")
    }


def test_a_shard_goes_by_the_clock_of_its_process() -> None:
    clock = ManualClock()
    other = Metrics(clock).of_shard("pg2")
    other.liveness.expect("reap", within=10)

    clock.advance(5)

    assert other.liveness.idle() == {"reap": 5}
