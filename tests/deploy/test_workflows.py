"""Continuous integration and releases."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from scripts.release_notes import notes_of
from tests.deploy.files import ROOT, check_schema, vendored

FILES = sorted((ROOT / ".github" / "workflows").glob("*.yaml"))
CHANGELOG = "# Changelog\n\n## Unreleased\n\n## 1.2.0 — 2026-01-02\n\n### Added\n- A thing.\n\n## 1.1.0\n\n- Old.\n"


def named(path: object) -> str:
    return Path(str(path)).name


def load(file: Path) -> dict[Any, Any]:
    loaded: dict[Any, Any] = yaml.safe_load(file.read_text())
    return loaded


def steps(file: Path) -> list[dict[str, Any]]:
    return [step for job in load(file)["jobs"].values() for step in job.get("steps", ())]


@pytest.mark.parametrize("file", FILES, ids=named)
def test_github_understands_the_file(file: Path) -> None:
    workflow = load(file)
    workflow["on"] = workflow.pop(True)  # YAML 1.1 takes `on` for a truth

    check_schema(workflow, vendored("github-workflows"))


@pytest.mark.parametrize("file", FILES, ids=named)
def test_actions_are_githubs_own_and_pinned_by_commit(file: Path) -> None:
    for step in steps(file):
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", step["uses"]), step["uses"]


@pytest.mark.parametrize("file", FILES, ids=named)
def test_nobody_may_do_more_than_is_needed(file: Path) -> None:
    workflow = load(file)

    assert workflow["permissions"] == {}
    for name, job in workflow["jobs"].items():
        assert "permissions" in job, name
        assert "timeout-minutes" in job or "uses" in job, name
    for step in steps(file):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@pytest.mark.parametrize("file", FILES, ids=named)
def test_what_is_run_exists(file: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))

    for step in steps(file):
        command = step.get("run", "")
        assert set(re.findall(r"\bmake ([a-z-]+)", command)) <= targets
        for path in re.findall(r"\b(?:scripts|requirements|deploy|src)/[\w./-]+", command):
            assert (ROOT / path).exists(), path


@pytest.mark.parametrize("file", FILES, ids=named)
def test_no_text_from_outside_gets_into_a_command(file: Path) -> None:
    for step in steps(file):
        assert "${{" not in step.get("run", ""), step.get("name")


def test_everything_is_tried_before_anything_is_pushed() -> None:
    jobs = load(ROOT / ".github" / "workflows" / "ci.yaml")["jobs"]

    def before(name: str) -> set[str]:
        needs = jobs[name].get("needs", [])
        names = {needs} if isinstance(needs, str) else set(needs)
        return names.union(*(before(other) for other in names))

    assert before("push") == {"check", "test", "bare", "build", "try", "image", "scan"}
    assert jobs["test"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13", "3.14"]
    assert {name for name, job in jobs.items() if "write" in job["permissions"].values()} == {"push"}


def test_what_takes_too_long_for_every_push_is_run_each_night() -> None:
    file = ROOT / ".github" / "workflows" / "nightly.yaml"
    commands = "\n".join(step.get("run", "") for step in steps(file))

    assert load(file)[True]["schedule"]
    for command in (
        "make specs", "python -m tests.model.shards\n", "simulate SEEDS=0-9999", "make mutants",
        "DRUMLINE_TEST_ALL_SHARDED=1 make test ARGS=tests/conformance",
    ):  # fmt: skip
        assert command in commands


def test_a_release_has_the_words_of_the_changelog() -> None:
    assert notes_of("v1.2.0", version="1.2.0", changelog=CHANGELOG) == "### Added\n- A thing."


@pytest.mark.parametrize(
    ("tag", "version", "why"),
    [
        ("v1.3.0", "1.2.0", "the tag is"),
        ("v1.3.0", "1.3.0", "no section"),
        ("v1.1.0", "1.1.0", "no date"),
        ("v1.2", "1.2", "no section"),
    ],
)
def test_a_release_that_the_changelog_does_not_know_is_refused(tag: str, version: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        notes_of(tag, version=version, changelog=CHANGELOG)
