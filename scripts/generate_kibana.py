"""Write deploy/elk/kibana.ndjson: the data view, the searches and the dashboard for Drumline's logs.

Saved objects have JSON inside of JSON, which nobody reads or edits with pleasure: here is what they are made of.
"""

import json
import sys
from pathlib import Path
from typing import Any, Final

FILE: Final = Path(__file__).parents[1] / "deploy" / "elk" / "kibana.ndjson"
VIEW: Final = "drumline-logs"
ACTIONS: Final = ("task.submitted", "task.processing", "task.completed", "task.failed")
COLUMNS: Final = ("event.action", "drumline.task", "drumline.task_id", "drumline.queue", "drumline.worker")
WIDTH: Final = 48

Object = dict[str, Any]


def data_view() -> Object:
    """Return where the logs are, and which field is the time."""
    attributes = {
        "name": "Drumline logs",
        "title": "logs-drumline-*",
        "timeFieldName": "@timestamp",
        "fieldFormatMap": json.dumps(
            {
                "event.duration": {
                    "id": "duration",
                    "params": {"inputFormat": "nanoseconds", "outputFormat": "asSeconds"},
                }
            }
        ),
    }
    return saved("index-pattern", VIEW, attributes, references=[])


def search(name: str, title: str, query: str, columns: tuple[str, ...]) -> Object:
    """Return a list of lines that fit a query, newest first."""
    return saved(
        "search",
        name,
        {
            "title": title,
            "columns": list(columns),
            "sort": [["@timestamp", "desc"]],
            "kibanaSavedObjectMeta": {"searchSourceJSON": source(query)},
        },
    )


def chart(name: str, title: str, kind: str, query: str, aggs: list[Object]) -> Object:
    """Return a chart of what fits a query."""
    params: Object = {"addLegend": True, "addTooltip": True, "legendPosition": "right", "type": kind}
    if kind == "histogram":
        axis = {
            "id": "ValueAxis-1",
            "name": "LeftAxis-1",
            "position": "left",
            "scale": {"type": "linear"},
            "type": "value",
        }
        series = {
            "data": {"id": "1", "label": "Count"},
            "mode": "stacked",
            "type": "histogram",
            "valueAxis": "ValueAxis-1",
        }
        category = {"id": "CategoryAxis-1", "position": "bottom", "scale": {"type": "linear"}, "type": "category"}
        params |= {"categoryAxes": [category], "valueAxes": [axis], "seriesParams": [series | {"show": True}]}
    if kind == "table":
        params = {"perPage": 10, "showTotal": False, "showPartialRows": False, "totalFunc": "sum"}
    state = {"title": title, "type": kind, "params": params, "aggs": aggs}
    return saved(
        "visualization",
        name,
        {
            "title": title,
            "visState": json.dumps(state),
            "uiStateJSON": "{}",
            "kibanaSavedObjectMeta": {"searchSourceJSON": source(query)},
        },
    )


def metric(kind: str, field: str | None = None, **params: object) -> Object:
    """Return what is measured."""
    given = {} if field is None else {"field": field}
    return {"id": "1", "enabled": True, "type": kind, "schema": "metric", "params": given | params}


def bucket(id_: str, kind: str, schema: str, field: str, **params: object) -> Object:
    """Return what it is measured by."""
    return {"id": id_, "enabled": True, "type": kind, "schema": schema, "params": {"field": field, **params}}


def dashboard(panels: list[Object]) -> Object:
    """Return the dashboard with its panels, two in a row."""
    shown, references = [], []
    for number, panel in enumerate(panels):
        place = {"x": number % 2 * (WIDTH // 2), "y": number // 2 * 15, "w": WIDTH // 2, "h": 15, "i": str(number)}
        shown.append(
            {
                "type": panel["type"],
                "gridData": place,
                "panelIndex": str(number),
                "embeddableConfig": {},
                "panelRefName": f"panel_{number}",
            }
        )
        references.append({"name": f"panel_{number}", "type": panel["type"], "id": panel["id"]})
    empty = json.dumps({"query": {"language": "kuery", "query": ""}, "filter": []})
    attributes = {
        "title": "Drumline: tasks in the logs",
        "description": "What the logs of API servers, workers and schedulers say of tasks.",
        "panelsJSON": json.dumps(shown),
        "optionsJSON": json.dumps({"useMargins": True}),
        "timeRestore": True,
        "timeFrom": "now-1h",
        "timeTo": "now",
        "kibanaSavedObjectMeta": {"searchSourceJSON": empty},
    }
    return saved("dashboard", "drumline-tasks", attributes, references=references)


def source(query: str) -> str:
    """Return what a saved object searches."""
    index = "kibanaSavedObjectMeta.searchSourceJSON.index"
    return json.dumps({"query": {"language": "kuery", "query": query}, "filter": [], "indexRefName": index})


def saved(kind: str, name: str, attributes: Object, *, references: list[Object] | None = None) -> Object:
    """Return a saved object as an export has it."""
    view = {"name": "kibanaSavedObjectMeta.searchSourceJSON.index", "type": "index-pattern", "id": VIEW}
    return {
        "id": name,
        "type": kind,
        "attributes": attributes,
        "references": [view] if references is None else references,
        "coreMigrationVersion": "8.8.0",
    }


def objects() -> list[Object]:
    """Return everything, in the order in which it is imported."""
    any_action = " or ".join(f'event.action: "{action}"' for action in ACTIONS)
    over_time = bucket("2", "date_histogram", "segment", "@timestamp", interval="auto", min_doc_count=1)
    panels = [
        chart("drumline-tasks-by-kind", "Lines about tasks", "histogram", any_action,
              [metric("count"), over_time, bucket("3", "terms", "group", "event.action", size=4)]),
        chart("drumline-failures-by-task", "Failed attempts by task", "table", 'event.action: "task.failed"',
              [metric("count"), bucket("2", "terms", "bucket", "drumline.task", size=20)]),
        chart("drumline-durations", "Duration of completed tasks, 95th percentile", "histogram",
              'event.action: "task.completed"',
              [metric("percentiles", "event.duration", percents=[95]), over_time]),
        chart("drumline-levels", "Warnings and errors by service", "histogram",
              'log.level: "warning" or log.level: "error"',
              [metric("count"), over_time, bucket("3", "terms", "group", "service.name", size=6)]),
        search("drumline-failed-attempts", "Failed attempts", 'event.action: "task.failed"',
               (*COLUMNS, "drumline.attempt", "error.message")),
        search("drumline-task-lines", "Everything about tasks", any_action, (*COLUMNS, "event.duration", "trace.id")),
    ]  # fmt: skip
    return [data_view(), *panels, dashboard(panels)]


def main() -> int:
    """Write the file, or with --check report whether it is up to date."""
    text = "".join(json.dumps(each, sort_keys=True) + "\n" for each in objects())
    if "--check" in sys.argv:
        return int(not FILE.exists() or FILE.read_text(encoding="utf-8") != text)
    FILE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
