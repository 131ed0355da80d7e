"""Make the Grafana dashboards, and the copies of them and of the alert rules in the chart and the kustomize component.

With `--check` nothing is written; the status is 1 if a file would change.
"""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from drumline.core.metrics import SHARD_LABEL, Metrics
from scripts.dashboards import ALL, Dashboard, Panel

ROOT = Path(__file__).parents[1]
DASHBOARDS = ROOT / "deploy" / "grafana" / "dashboards"
RULES = ROOT / "deploy" / "prometheus" / "rules" / "drumline.yml"
CHART_FILES = ROOT / "deploy" / "helm" / "drumline" / "files"
MONITORING = ROOT / "deploy" / "kustomize" / "components" / "monitoring"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH, HEIGHT = 24, 8
SHARDED = frozenset(family.name for family in Metrics().families() if SHARD_LABEL in family.labels)
"""Metrics that have a label for the shard."""
_SELECTOR = re.compile(r"\b(drumline_\w+?)((?:_bucket|_sum|_count)?)\b(\{[^}]*\})?")


def files() -> dict[Path, str]:
    """Return the text of every file that is made here."""
    made: dict[Path, str] = {}
    for dashboard in ALL:
        text = json.dumps(draw(dashboard), indent=1, ensure_ascii=False) + "\n"
        for folder in (DASHBOARDS, CHART_FILES / "dashboards", MONITORING / "dashboards"):
            made[folder / f"{dashboard.uid}.json"] = text
    return made | dict.fromkeys(
        (CHART_FILES / "rules.yml", MONITORING / "rules.yml"), RULES.read_text(encoding="utf-8")
    )


def draw(dashboard: Dashboard) -> dict[str, Any]:
    """Return a dashboard as Grafana reads it."""
    variables: list[dict[str, Any]] = [
        {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "current": {}}
    ]
    variables.append(_variable("shard", "Shard"))
    if dashboard.has_queue:
        variables.append(_variable("queue", "Queue"))
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "tags": ["drumline"],
        "schemaVersion": 39,
        "editable": False,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "links": [
            {"type": "dashboards", "tags": ["drumline"], "title": "Drumline", "asDropdown": True, "includeVars": False}
        ],
        "templating": {"list": variables},
        "panels": list(_placed(dashboard)),
    }


def of_chosen_shards(expression: str) -> str:
    """Return an expression in which metrics with a label for the shard are those of the shards that are chosen."""

    def chosen(match: re.Match[str]) -> str:
        name, suffix, conditions = match.groups()
        if name not in SHARDED:
            return match[0]
        inner = ", ".join(filter(None, ((conditions or "").strip("{}"), f'{SHARD_LABEL}=~"${SHARD_LABEL}"')))
        return f"{name}{suffix}{{{inner}}}"

    return _SELECTOR.sub(chosen, expression)


def _variable(name: str, label: str) -> dict[str, Any]:
    """Return a choice among the values of a label."""
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": SOURCE,
        "query": {"query": f"label_values(drumline_queue_tasks, {name})", "refId": f"{name}s"},
        "refresh": 2,
        "multi": True,
        "includeAll": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }


def _placed(dashboard: Dashboard) -> Iterator[dict[str, Any]]:
    """Yield panels from left to right and from top to bottom, under the heads of their rows."""
    number, y = 1, 0
    for title, panels in dashboard.rows.items():
        yield {
            "id": number,
            "type": "row",
            "title": title,
            "collapsed": False,
            "panels": [],
            "gridPos": _grid(0, y, WIDTH, 1),
        }
        number, y, x = number + 1, y + 1, 0
        height = 4 if all(panel.kind == "stat" for panel in panels) else HEIGHT
        for panel in panels:
            if x + panel.width > WIDTH:
                x, y = 0, y + height
            yield _panel(panel, number, _grid(x, y, panel.width, height))
            number, x = number + 1, x + panel.width
        y += height


def _grid(x: int, y: int, width: int, height: int) -> dict[str, int]:
    return {"x": x, "y": y, "w": width, "h": height}


def _panel(panel: Panel, number: int, place: dict[str, int]) -> dict[str, Any]:
    targets = [
        {
            "refId": chr(65 + place),
            "datasource": SOURCE,
            "expr": of_chosen_shards(expression),
            "legendFormat": legend or "__auto",
        }
        for place, (legend, expression) in enumerate(panel.targets.items())
    ]
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.about,
        "datasource": SOURCE,
        "gridPos": place,
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0}, "overrides": []},
        "targets": targets,
    }


def main() -> None:
    """Write the files, or compare them."""
    made = files()
    if "--check" not in sys.argv:
        for path, text in made.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return
    stale = [path for path, text in made.items() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if stale:
        names = ", ".join(str(path.relative_to(ROOT)) for path in stale)
        sys.exit(f"out of date: {names}; run `python -m scripts.generate_dashboards`")


if __name__ == "__main__":
    main()
