"""Reads which of Django's own tests are skipped."""

import tomllib
from pathlib import Path

SKIPS = Path(__file__).parent / "django_skips.toml"


def skips() -> dict[str, str]:
    """Return the tests that are skipped, with the reason of each."""
    table = tomllib.loads(SKIPS.read_text(encoding="utf-8"))
    return {test: entry["reason"] for entry in table["skip"] for test in entry["tests"]}
