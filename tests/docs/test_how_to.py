"""The pages on how to do things do what they say: their programs are run, their jobs are accepted."""

import re
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from drumline.core.accept_job import accept_job
from drumline.core.codec import decode
from drumline.core.ids import JobId, TaskId
from drumline.core.job import JobRequest

PAGES = sorted((Path(__file__).parents[2] / "docs" / "how-to").glob("*.md"))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


WITH_PROGRAMS = [page for page in PAGES if blocks(page, "python")]
JOBS = [block for page in PAGES for block in blocks(page, "json") if '"tasks"' in block]


@pytest.mark.faults
@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=lambda page: page.stem)
def test_the_programs_of_a_page_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DRUMLINE_DATA", str(tmp_path / "data"))
    for name in ("DRUMLINE_URL", "DRUMLINE_STORE_URL"):
        monkeypatch.delenv(name, raising=False)
    space: dict[str, Any] = {"__name__": page.stem}

    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec"), space)


@pytest.mark.parametrize("block", JOBS)
def test_the_jobs_of_a_page_are_accepted(block: str) -> None:
    numbers = count()

    job = accept_job(decode(block, JobRequest), id=JobId("job"), new_id=lambda: TaskId(str(next(numbers))))

    assert job.tasks
