"""SECURITY.md: every line of what is protected names the tests that hold it, and they are there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROWS = [
    line
    for line in (ROOT / "SECURITY.md").read_text(encoding="utf-8").splitlines()
    if line.startswith("| ") and not line.startswith("| attacker")
]


def test_every_line_names_tests_that_exist() -> None:
    named = {row: re.findall(r"`(tests/[\w/]+\.py)`", row) for row in ROWS}

    assert len(ROWS) > 20
    assert [row for row, names in named.items() if not names] == []
    assert [name for names in named.values() for name in names if not has_tests(ROOT / name)] == []


def has_tests(file: Path) -> bool:
    return (
        file.exists() and re.search(r"^(async )?def test_", file.read_text(encoding="utf-8"), re.MULTILINE) is not None
    )
