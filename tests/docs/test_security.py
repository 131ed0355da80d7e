"""SECURITY.md: every line of what is protected names the tests that hold it, and they are there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS = [
    line
    for line in (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| attacker")
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: " ".join(row.split("|")[1:3]).strip()[:80])
def test_every_line_names_tests_that_are_there(row: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)`", row)

    assert named, "name the test that holds it"
    for name in named:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert re.search(r"^(async )?def test_", text, re.MULTILINE), name


def test_the_table_is_read() -> None:
    assert len(ROWS) > 20
