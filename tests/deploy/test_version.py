"""The version moves: in one step everywhere, and always forwards."""

import re
import shutil
from pathlib import Path

import pytest

from drumline import __version__
from scripts.release_notes import notes_of
from scripts.set_version import CHANGELOG, CHART, OVERLAY, VERSION, rank, read_version, set_version
from tests.deploy.files import ROOT

BEFORE = """# Changelog

## Unreleased

### Added
- A thing.

### Changed

### Fixed

## 1.1.0 (2026-01-01)

### Fixed
- Another.
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for path in (VERSION, CHART, OVERLAY):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, tmp_path / path)
    (tmp_path / VERSION).write_text('__version__ = "1.2.0.dev0"\n')
    (tmp_path / CHANGELOG).write_text(BEFORE)
    return tmp_path


def test_this_tree_is_a_release_or_on_the_way_to_the_next_one() -> None:
    text = (ROOT / CHANGELOG).read_text()
    newest = re.findall(r"^## (\d\S*) \(\d{4}-\d{2}-\d{2}\)$", text, flags=re.MULTILINE)[0]

    assert rank(__version__) >= rank(newest)
    assert ("## Unreleased" in text) is (".dev" in __version__) is (__version__ != newest)
    assert f'appVersion: "{newest}"' in (ROOT / CHART).read_text()
    assert f"newTag: {newest}" in (ROOT / OVERLAY).read_text()


def test_a_release_is_named_everywhere_and_has_its_notes(tree: Path) -> None:
    set_version(tree, "1.2.0", "2026-02-03")

    text = (tree / CHANGELOG).read_text()
    assert notes_of("v1.2.0", version=read_version(tree), changelog=text) == "### Added\n- A thing."
    assert "## 1.2.0 (2026-02-03)\n\n### Added\n- A thing.\n\n## 1.1.0 (2026-01-01)" in text
    assert 'version: 1.2.0\nappVersion: "1.2.0"' in (tree / CHART).read_text()
    assert "newTag: 1.2.0 #" in (tree / OVERLAY).read_text()


def test_after_a_release_the_next_one_is_begun(tree: Path) -> None:
    set_version(tree, "1.2.0", "2026-02-03")
    set_version(tree, "1.3.0.dev0", "2026-02-04")

    text = (tree / CHANGELOG).read_text()
    assert read_version(tree) == "1.3.0.dev0"
    assert "## Unreleased\n\n### Added\n\n### Changed\n\n### Fixed\n\n## 1.2.0 (2026-02-03)" in text
    assert 'appVersion: "1.2.0"' in (tree / CHART).read_text(), "the chart names an image that exists"


@pytest.mark.parametrize(
    ("version", "why"),
    [
        ("1.1.9", "does not come after"),
        ("1.2.0.dev0", "does not come after"),
        ("1.2", "no version"),
        ("v1.2.0", "no version"),
        ("1.2.0rc1", "no version"),
    ],
)
def test_a_version_that_is_none_or_goes_back_is_refused(version: str, why: str, tree: Path) -> None:
    with pytest.raises(ValueError, match=why):
        set_version(tree, version, "2026-02-03")

    assert read_version(tree) == "1.2.0.dev0"
    assert (tree / CHANGELOG).read_text() == BEFORE


def test_a_release_of_nothing_is_refused(tree: Path) -> None:
    set_version(tree, "1.2.0", "2026-02-03")
    set_version(tree, "1.3.0.dev0", "2026-02-04")

    with pytest.raises(ValueError, match="unreleased"):
        set_version(tree, "1.3.0", "2026-02-05")


def test_versions_are_ordered_as_people_expect() -> None:
    given = ["0.9.0", "0.10.0.dev0", "0.10.0.dev1", "0.10.0", "0.10.1.dev0", "1.0.0"]

    assert sorted(given, key=rank) == given
