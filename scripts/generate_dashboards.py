"""Make the Grafana dashboards, and the chart's copies of them and of the alert rules.

With `--check` nothing is written; the status is 1 if a file would change.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from scripts.dashboards import ALL, Dashboard, Panel

ROOT = Path(__file__).parents[1]
DASHBOARDS = ROOT / "deploy" / "grafana" / "dashboards"
RULES = ROOT / "deploy" / "prometheus" / "rules" / "drumline.yml"
CHART_FILES = ROOT / "deploy" / "helm" / "drumline" / "files"
SOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH, HEIGHT = 24, 8


def files() -> dict[Path, str]:
    """Return the text of every file that is made here."""
    made: dict[Path, str] = {}
    for dashboard in ALL:
        text = json.dumps(draw(dashboard), indent=1, ensure_ascii=False) + "\n"
        for folder in (DASHBOARDS, CHART_FILES / "dashboards"):
            made[folder / f"{dashboard.uid}.json"] = text
    return made | {CHART_FILES / "rules.yml": RULES.read_text(encoding="utf-8")}


def draw(dashboard: Dashboard) -> dict[str, Any]:
    """Return a dashboard as Grafana reads it."""
    variables: list[dict[str, Any]] = [
        {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus", "current": {}}
    ]
    if dashboard.has_queue:
        query = {"query": "label_values(drumline_queue_tasks, queue)", "refId": "queues"}
        variables.append(
            {
                "name": "queue",
                "label": "Queue",
                "type": "query",
                "datasource": SOURCE,
                "query": query,
                "refresh": 2,
                "multi": True,
                "includeAll": True,
                "allValue": ".*",
                "current": {"text": "All", "value": "$__all"},
            }
        )
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
        {"refId": chr(65 + place), "datasource": SOURCE, "expr": expression, "legendFormat": legend or "__auto"}
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
