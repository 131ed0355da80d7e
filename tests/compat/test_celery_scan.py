"""`drumline migrate-from celery`: what of a code base works."""

from importlib import import_module
from pathlib import Path

from drumline.compat.celery.scan import Verdict, scan, scan_text

CODE = """\
from celery import Celery, shared_task
from celery.canvas import StampingVisitor
from celery.signals import task_prerun, beat_init
from celery.worker.control import inspect_command
from celery.utils.log import get_task_logger
import celery.bootsteps

app = Celery("shop", broker="redis://")

@shared_task(bind=True, soft_time_limit=10, acks_late=True)
def charge(self, order):
    self.update_state(state="PROGRESS")
    charge.apply_async((1,), serializer="pickle")
"""


def test_each_use_is_found_with_its_line_and_verdict() -> None:
    found = {(finding.line, finding.name): finding.verdict for finding in scan_text(CODE, "shop.py")}

    assert found == {
        (1, "celery.Celery"): Verdict.WORKS,
        (1, "celery.shared_task"): Verdict.WORKS,
        (2, "celery.canvas.StampingVisitor"): Verdict.MISSING,
        (3, "celery.signals.task_prerun"): Verdict.WORKS,
        (3, "celery.signals.beat_init"): Verdict.MISSING,
        (4, "celery.worker.control.inspect_command"): Verdict.MISSING,
        (5, "celery.utils.log.get_task_logger"): Verdict.WORKS,
        (6, "import celery.bootsteps"): Verdict.MISSING,
        (10, "soft_time_limit="): Verdict.DIFFERS,
        (10, "acks_late="): Verdict.WORKS,
        (12, ".update_state"): Verdict.DIFFERS,
        (13, ".apply_async"): Verdict.WORKS,
        (13, "serializer="): Verdict.DIFFERS,
    }


def test_the_note_of_an_import_names_a_module_that_has_it() -> None:
    code = (
        "from celery import chain\nfrom celery.exceptions import Retry\nfrom celery.utils.log import get_task_logger\n"
    )

    for finding in scan_text(code, "shop.py"):
        module = finding.note.removeprefix("import it from ")
        assert hasattr(import_module(module), finding.name.rpartition(".")[2]), finding


def test_code_without_celery_is_left_alone_but_for_calls_of_tasks() -> None:
    assert scan_text("x.set(serializer=1)\nbox.inspect()\n", "x.py") == []
    assert [(each.name, each.verdict) for each in scan_text("app.control.inspect().active()\n", "x.py")] == [
        (".control.inspect", Verdict.MISSING)
    ]
    assert [finding.name for finding in scan_text("charge.delay(1)\n", "x.py")] == [".delay"]


def test_a_folder_is_read_without_what_is_not_its_own(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / ".venv").mkdir()
    (tmp_path / "shop" / "tasks.py").write_text(CODE)
    (tmp_path / ".venv" / "other.py").write_text(CODE)
    (tmp_path / "broken.py").write_text("def (:\n")

    report = scan(tmp_path)

    assert report.files == 1
    assert {finding.file for finding in report.findings} == {"shop/tasks.py"}
    assert [unread.file for unread in report.unread] == ["broken.py"]
