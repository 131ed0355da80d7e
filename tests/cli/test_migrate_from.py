"""`drumline migrate-from celery` reports what of a code base works."""

from pathlib import Path

from tests.cli.conftest import Drumline

CODE = """\
from celery import shared_task
from celery.worker import state

@shared_task(soft_time_limit=5)
def charge(order):
    return order

charge.delay(7)
"""


def test_each_place_that_needs_attention_is_printed_with_its_line(drumline: Drumline, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(CODE)

    ran = drumline("migrate-from", "celery", ".")

    lines = ran.out.splitlines()
    assert [line.split(" ")[0:2] for line in lines] == [["shop.py:2:", "MISSING"], ["shop.py:4:", "DIFFERS"]]
    assert "Places that work: 2, that differ: 1, that have to be written another way: 1." in ran.err
    assert len(drumline("migrate-from", "celery", ".", "--all").out.splitlines()) == 4


def test_the_report_is_json_for_programs(drumline: Drumline, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(CODE)

    report = drumline("migrate-from", "celery", "shop.py", "--json").json

    assert report["files"] == 1
    assert report["findings"][1] == {
        "file": "shop.py",
        "line": 2,
        "name": "celery.worker.state",
        "verdict": "missing",
        "note": "the inside of Celery's worker has no counterpart",
    }


def test_a_path_that_is_not_there_is_named(drumline: Drumline) -> None:
    ran = drumline("migrate-from", "celery", "nowhere")

    assert ran.code != 0
    assert "nowhere" in ran.err
