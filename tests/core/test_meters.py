from drumline.core.clock import ManualClock
from drumline.core.liveness import Liveness
from drumline.core.meters import BoundedLabels, Counter, Gauge, Histogram
from drumline.core.metrics import MOST_TASKS, Metrics
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
