"""The reference of events lists what there is."""

import re
from pathlib import Path

from drumline.core.event import type_of
from drumline.core.event_types import DEAD_LETTERS, FACTS, TASK_CHANGES
from drumline.core.state import TRANSITIONS, State

ROOT = Path(__file__).parents[2]
SOURCES = "".join(
    path.read_text() for path in (ROOT / "src" / "drumline").rglob("*.py") if path.name != "event_types.py"
)
PAGE = (ROOT / "docs" / "reference" / "events.md").read_text()


def test_every_change_of_a_task_is_listed() -> None:
    told = {type_of(None, State.QUEUED)} | {type_of(act, after) for (_, act), after in TRANSITIONS.items()}

    assert told == set(TASK_CHANGES)


def test_every_fact_that_is_written_out_in_the_code_is_listed() -> None:
    written = set(re.findall(r'Fact\(\s*"(drumline\.[a-z_]+\.[a-z_]+)"', SOURCES))

    assert written
    assert written <= set(FACTS)


def test_every_noun_that_facts_are_about_is_listed() -> None:
    nouns = set(re.findall(r'Fact\(\s*f"drumline\.([a-z_]+)\.\{', SOURCES))

    assert nouns
    assert nouns <= {type_.split(".")[1] for type_ in FACTS}


def test_the_page_has_every_type() -> None:
    assert [type_ for type_ in (*TASK_CHANGES, *FACTS, *DEAD_LETTERS) if f"| `{type_}` |" not in PAGE] == []
