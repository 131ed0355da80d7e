"""The map is true: its drawing is the state table, its links lead somewhere, its invariants have their tests."""

import re
from collections import defaultdict
from pathlib import Path

from drumline.core.state import TRANSITIONS

ROOT = Path(__file__).parents[2]
MAP = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]


def test_the_drawing_of_states_is_the_state_table() -> None:
    arrows: dict[tuple[str, str], list[str]] = defaultdict(list)
    for (before, act), after in TRANSITIONS.items():
        arrows[before.name.lower(), after.name.lower()].append(act.value)
    drawn = [f"    {before} --> {after}: {', '.join(acts)}" for (before, after), acts in arrows.items()]

    in_map = re.findall(r"^    \w+ --> \w+: .+$", MAP, re.MULTILINE)

    assert sorted(in_map) == sorted(drawn)


def test_links_within_the_repository_lead_somewhere() -> None:
    links = [
        (page, link)
        for page in PAGES
        for link in re.findall(r"\]\((?!https?:|#|mailto:)([^)#\s]+)", page.read_text(encoding="utf-8"))
    ]

    assert len(links) > 300
    assert [f"{page.relative_to(ROOT)}: {link}" for page, link in links if not (page.parent / link).exists()] == []


def test_every_file_of_the_flow_and_of_the_recipes_exists() -> None:
    flow = re.findall(r"\b((?:[a-z]+/)+[a-z_]+\.py)", MAP.partition("## The flow")[2].partition("## Invariants")[0])
    recipes = re.findall(
        r"`((?:[a-z]+/)+\w+\.(?:py|md|tsx|toml))`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    )
    folders = (ROOT, ROOT / "src" / "drumline")

    assert len(flow) > 20
    assert len(recipes) > 20
    assert [name for name in (*flow, *recipes) if not any((folder / name).exists() for folder in folders)] == []


def test_every_test_that_holds_an_invariant_exists() -> None:
    named = re.findall(r"`(?:tests/)?((?:\w+/)+test_\w+\.py)(?:::(\w+))?`", MAP)

    missing = [
        f"{file}::{name}"
        for file, name in named
        if not (ROOT / "tests" / file).exists() or f"def {name}" not in (ROOT / "tests" / file).read_text()
    ]

    assert len(named) > 8
    assert missing == []
