"""Every problem of the API has its page, every page its problem, and each example gets the answer that it is about."""

import re
from pathlib import Path

import pytest

from drumline.api.problem_help import HELP
from drumline.api.problems import PROBLEMS
from drumline.core import errors
from tests.docs.pages import ROOT, blocks_of
from tests.docs.shell import is_run
from tests.docs.test_commands import run_page

FOLDER = ROOT / "docs" / "errors"
PAGES = {page.stem: page for page in FOLDER.glob("*.md") if page.stem != "index"}
NO_EXAMPLE = {"too_slow", "fenced", "unreadable", "internal", "overloaded", "unavailable", "moved"}
"""What no single request brings about."""


def test_every_code_has_its_page_and_every_page_its_code() -> None:
    assert set(PAGES) == set(PROBLEMS) == set(HELP)


def test_every_error_that_is_raised_on_purpose_has_a_page() -> None:
    codes = {kind.code for kind in vars(errors).values() if isinstance(kind, type) and hasattr(kind, "code")}

    assert codes - {errors.DrumlineError.code} <= set(PAGES)


def test_every_page_has_cause_example_and_cure() -> None:
    texts = {code: page.read_text(encoding="utf-8") for code, page in PAGES.items()}
    headings = {code: re.findall(r"^## (.+)$", text, re.MULTILINE) for code, text in texts.items()}
    with_example = {code for code, page in PAGES.items() if any(is_run(block) for block in blocks_of(page))}

    wanted = ["Cause", "Example", "What to do", "Repeat it?"]
    assert {code: found for code, found in headings.items() if found != wanted} == {}
    assert with_example == set(PAGES) - NO_EXAMPLE


@pytest.mark.faults
@pytest.mark.timeout(200)
def test_every_example_gets_the_answer_that_it_is_about(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    first, *others = [block for page in PAGES.values() for block in blocks_of(page) if block.language == "sh"]
    known = "export URL=http://127.0.0.1:8080 KEY=$(cat .drumline/api-key)"
    first.notes["prepare"] = f"{known}\n{first.notes.get('prepare', ':')}"

    run_page([first, *others], tmp_path, request)
