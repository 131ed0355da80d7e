"""The examples on the pages do what they say: programs are run, tasks and jobs are accepted, settings are valid."""

import json
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import yaml

from drumline.core.accept_job import accept_job
from drumline.core.codec import decode
from drumline.core.errors import DrumlineError
from drumline.core.ids import JobId, TaskId
from drumline.core.job import JobRequest
from drumline.core.task import TaskRequest, accept
from drumline.settings import Sources
from drumline.settings.fields import Settings
from tests.docs.pages import Block, blocks_of, pages, stray_notes

PAGES = pages("README.md", "docs/how-to/*.md", "docs/explanation/*.md", "docs/reference/*.md")
ID = TaskId("00000000-0000-7000-8000-000000000000")


def blocks(page: Path, language: str) -> list[Block]:
    return [block for block in blocks_of(page) if block.language == language and "not run" not in block.notes]


WITH_PROGRAMS = [page for page in PAGES if any("file" not in block.notes for block in blocks(page, "python"))]
DOCUMENTS = [block for page in PAGES for block in blocks(page, "json")]
SETTINGS = [block for page in PAGES for block in blocks(page, "yaml")]


def is_task(block: Block) -> bool:
    return set(_read(block)) <= set(TaskRequest.__struct_fields__) and "name" in _read(block)


def is_job(block: Block) -> bool:
    return isinstance(_read(block).get("tasks"), dict)


def _read(block: Block) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(block.code.replace("…", ""))
    return read


@pytest.mark.faults
@pytest.mark.parametrize("page", WITH_PROGRAMS, ids=lambda page: page.stem)
def test_the_programs_of_a_page_run_one_after_the_other(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DRUMLINE_DATA", str(tmp_path / "data"))
    for name in ("DRUMLINE_URL", "DRUMLINE_STORE_URL"):
        monkeypatch.delenv(name, raising=False)
    space: dict[str, Any] = {"__name__": page.stem}

    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for block in blocks(page, "python"):
        if "file" in block.notes:
            (tmp_path / block.notes["file"]).write_text(block.code, encoding="utf-8")
            monkeypatch.delitem(sys.modules, Path(block.notes["file"]).stem, raising=False)
        else:
            exec(compile(block.code, str(page), "exec"), space)
            assert block.notes.get("prints", "") in capsys.readouterr().out


def faults(blocks: list[Block], check: Callable[[Block], object]) -> list[str]:
    """Return the places of the blocks that a check does not accept, with what it raised."""
    found = []
    for block in blocks:
        try:
            accepted = check(block)
        except (DrumlineError, ValueError) as error:
            found.append(f"{block.place}: {error}")
        else:
            found += [] if accepted else [f"{block.place}: is empty"]
    return found


def test_every_note_is_right_above_a_block() -> None:
    every = pages("*.md", "docs/*.md", "docs/*/*.md", "docs/how-to/runbooks/*.md")

    assert [stray for page in every for stray in stray_notes(page)] == []


def test_every_document_is_json() -> None:
    assert faults(DOCUMENTS, _read) == []


def test_the_tasks_of_the_pages_are_accepted() -> None:
    tasks = [block for block in DOCUMENTS if is_task(block)]

    assert faults(tasks, lambda block: accept(decode(block.code, TaskRequest), id=ID)) == []


def test_the_jobs_of_the_pages_are_accepted() -> None:
    numbers = count()
    jobs = [block for block in DOCUMENTS if is_job(block)]

    def tasks_of(block: Block) -> object:
        request = decode(block.code, JobRequest)
        return accept_job(request, id=JobId("job"), new_id=lambda: TaskId(str(next(numbers)))).tasks

    assert faults(jobs, tasks_of) == []


def test_the_settings_of_the_pages_are_valid(tmp_path: Path) -> None:
    (tmp_path / "oidc-client").write_text("secret", encoding="utf-8")
    file = tmp_path / "drumline.yaml"

    def changes_something(block: Block) -> bool:
        read = yaml.safe_load(block.code)
        text = yaml.safe_dump({"sign_in": {"providers": read}} if isinstance(read, list) else read)
        file.write_text(text.replace("/run/secrets", str(tmp_path)), encoding="utf-8")
        return Sources({}, config=file).load().settings != Settings()

    assert faults(SETTINGS, changes_something) == []


def test_there_are_examples_of_every_kind() -> None:
    assert len(WITH_PROGRAMS) > 8
    assert sum(map(is_task, DOCUMENTS)) > 3
    assert sum(map(is_job, DOCUMENTS)) > 1
    assert len(SETTINGS) > 8
