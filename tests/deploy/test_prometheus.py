"""Alert rules and dashboards: understood by Prometheus, made of figures that exist, each alert with its page."""

import json
import re
from pathlib import Path

import pytest
import yaml

from drumline.core.metrics import Metrics
from scripts.generate_dashboards import DASHBOARDS, RULES, files
from tests.deploy.files import DEPLOY, ROOT, run
from tests.harness.programs import path_of
from tests.harness.prometheus import load_rules, metric_names, missing

TESTS = DEPLOY / "prometheus" / "tests" / "drumline.yml"
PAGES = ROOT / "docs" / "how-to" / "runbooks"
ALERTS = load_rules(RULES)
SUFFIX = re.compile(r"_(bucket|count|sum)$")

has_prometheus = pytest.mark.skipif(missing() is not None, reason=missing() or "")


def known() -> set[str]:
    return {family.name for family in Metrics().families()}


def expressions(dashboard: Path) -> list[str]:
    panels = json.loads(dashboard.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


@has_prometheus
def test_prometheus_understands_the_rules() -> None:
    run(path_of("promtool"), "check", "rules", str(RULES))


@has_prometheus
def test_alerts_fire_when_they_should_and_not_otherwise() -> None:
    run(path_of("promtool"), "test", "rules", str(TESTS))


def test_every_alert_is_tried_out() -> None:
    tried = [
        (each["alertname"], bool(each["exp_alerts"]))
        for test in yaml.safe_load(TESTS.read_text())["tests"]
        for each in test["alert_rule_test"]
    ]

    assert sorted(tried) == sorted((alert, fires) for alert in ALERTS for fires in (True, False))


def test_every_alert_has_a_page_and_every_page_an_alert() -> None:
    linked = {Path(rule["annotations"]["runbook_url"].rstrip("/")).name: alert for alert, rule in ALERTS.items()}
    pages = {page.stem: page.read_text() for page in PAGES.glob("*.md") if page.stem != "index"}

    assert linked.keys() == pages.keys()
    index = (PAGES / "index.md").read_text()
    for name, alert in linked.items():
        assert f"`{alert}`" in pages[name]
        assert f"]({name}.md)" in index


@pytest.mark.parametrize("dashboard", sorted(DASHBOARDS.glob("*.json")), ids=lambda path: path.stem)
def test_dashboards_show_figures_that_exist(dashboard: Path) -> None:
    named = {SUFFIX.sub("", name) for expression in expressions(dashboard) for name in metric_names(expression)}

    assert {name for name in named if name.startswith("drumline")} <= known() | {
        SUFFIX.sub("", name) for name in known()
    }


def test_alerts_watch_figures_that_exist() -> None:
    named = {SUFFIX.sub("", name) for rule in ALERTS.values() for name in metric_names(rule["expr"])}

    assert named <= known()


def test_every_figure_is_on_a_dashboard() -> None:
    shown = {
        SUFFIX.sub("", name)
        for dashboard in DASHBOARDS.glob("*.json")
        for expression in expressions(dashboard)
        for name in metric_names(expression)
    }

    assert known() <= shown


def test_what_is_made_is_up_to_date() -> None:
    for path, text in files().items():
        assert path.read_text() == text, f"{path}: run python -m scripts.generate_dashboards"


def test_panels_do_not_overlap_and_have_numbers_of_their_own() -> None:
    for dashboard in DASHBOARDS.glob("*.json"):
        panels = json.loads(dashboard.read_text())["panels"]
        cells = [
            (x, y)
            for panel in panels
            for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
            for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
        ]
        assert len(cells) == len(set(cells)), dashboard
        assert max(x for x, _ in cells) < 24
        assert len({panel["id"] for panel in panels}) == len(panels)
