"""Tests of the interface run in one process, and files that take long begin first."""

from tests.harness.order import lane_of, turn_of


def test_files_of_a_lane_are_one_unit_and_other_files_are_one_each() -> None:
    assert lane_of("tests/ui/test_forms.py") == lane_of("tests/ui/test_graph.py")
    assert lane_of("tests/core/test_cron.py") == "tests/core/test_cron.py"


def test_lanes_begin_first_then_what_kills_then_what_may_take_longest() -> None:
    turns = {
        "usual": turn_of("tests/core/test_cron.py", kills=False, seconds=120),
        "long": turn_of("tests/postgres/test_races.py", kills=False, seconds=600),
        "kills": turn_of("tests/faults/test_kills.py", kills=True, seconds=300),
        "kills for long": turn_of("tests/faults/test_jobs.py", kills=True, seconds=900),
        "page": turn_of("tests/ui/test_forms.py", kills=False, seconds=300),
    }

    assert sorted(turns, key=lambda name: turns[name]) == ["page", "kills for long", "kills", "long", "usual"]
