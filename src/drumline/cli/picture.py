"""A job's graph on a terminal: boxes where they fit, else a list by layers; below it what one would ask next."""

import time
from collections.abc import Iterator, Mapping
from typing import Any, Final

import click

from drumline.cli.drawing import DrawnBox, draw
from drumline.cli.tables import Column, between, cut, print_table, since_epoch, span, terminal_width, tidy
from drumline.cli.terminal import STATUS_COLOURS, is_terminal, painted
from drumline.core.graph_folding import Fold, Vertex, fold, unfolded

PIPE_WIDTH: Final = 120
"""How wide a picture may be when it is not printed to a terminal."""
LONGEST_LABEL: Final = 32
MOST_BOXES: Final = 40
MOST_ROWS: Final = 100
MOST_TOLD: Final = 5
MARKS: Final = {
    "PENDING": "○",
    "QUEUED": "◌",
    "PROCESSING": "●",
    "COMPLETED": "✓",
    "FAILED": "✗",
    "CANCELLED": "■",
    "SKIPPED": "–",  # noqa: RUF001 - a line of its own width
}
"""A shape for each status: colour is never the only sign."""
WORST_FIRST: Final = ("FAILED", "PROCESSING", "QUEUED", "PENDING", "CANCELLED", "SKIPPED", "COMPLETED")

Graph = dict[str, Any]

ROWS = (
    Column("LAYER", "layer", rank=3),
    Column("TASKS", "label", rank=9, least=16),
    Column("STATUS", "status", rank=8, least=12),
    Column("TOOK", "took", rank=5),
    Column("NEEDS", "needs", rank=6, least=16),
)


def print_graph(graph: Graph, *, is_full: bool = False) -> None:
    """Print a job's graph."""
    width = terminal_width() if is_terminal() else PIPE_WIDTH
    lines = picture_of(graph, width=width, is_full=is_full)
    if lines is None:
        _print_rows(graph, is_full=is_full)
    else:
        for line in lines:
            click.echo(line)
    for line in remarks_on(graph):
        click.echo(line)


def picture_of(graph: Graph, *, width: int, is_full: bool = False) -> list[str] | None:
    """Return the graph with boxes and lines, or None if it does not fit."""
    vertices = vertices_of(graph)
    folds = unfolded(vertices) if is_full else fold(vertices, most=MOST_BOXES)
    if len(folds) > MOST_BOXES and not is_full:
        return None
    nodes = {node["key"]: node for node in graph["nodes"]}
    boxes = [DrawnBox(_lines_of(one, nodes), one.layer, one.needs, STATUS_COLOURS.get(_worst(one))) for one in folds]
    picture = draw(boxes, width=width)
    if picture is None:
        return None
    return ["".join(painted(part.text, part.colour) for part in line).rstrip() for line in picture]


def remarks_on(graph: Graph) -> Iterator[str]:
    """Yield what one would ask next: what failed, what hangs on it, and what the length hung on."""
    failed = [node for node in graph["nodes"] if node["status"] == "FAILED"]
    for node in failed[:MOST_TOLD]:
        yield f"{painted('FAILED', STATUS_COLOURS['FAILED'])}  {tidy(node['key'])}: {tidy(node['reason'] or '')}"
    if len(failed) > MOST_TOLD:
        yield f"… and {len(failed) - MOST_TOLD:,} more failed"
    skipped = sum(node["status"] == "SKIPPED" and bool(node["cause"]) for node in graph["nodes"])
    if skipped:
        yield f"{skipped:,} skipped because of that; run them again with: drumline jobs resume {graph['id']}"
    path = graph["critical_path"]
    if path["seconds"] > 0 and len(path["keys"]) > 1:
        yield f"Critical path: {_path(path['keys'])} ({span(path['seconds'])})"


def vertices_of(graph: Graph) -> list[Vertex]:
    """Return the tasks as pictures need them."""
    return [
        Vertex(
            key=tidy(node["key"]),
            name=tidy(node["name"]),
            needs=tuple(tidy(need) for need in node["needs"]),
            status=node["status"],
            run_if="" if node["run_if"] == "all_succeeded" else node["run_if"],
        )
        for node in graph["nodes"]
    ]


def counted(statuses: Mapping[str, int], size: int) -> str:
    """Return the status of one task, or how many of several have which."""
    known = [(status, statuses[status]) for status in WORST_FIRST if status in statuses]
    return ", ".join(status if size == 1 else f"{count:,} {status}" for status, count in known)


def _lines_of(one: Fold, nodes: dict[str, Graph]) -> tuple[str, ...]:
    took = _took(nodes[one.keys[0]]) if len(one.keys) == 1 and one.keys[0] in nodes else None
    lines = (
        f"{MARKS.get(_worst(one), '')} {cut(one.label, LONGEST_LABEL)}".lstrip(),
        " ".join(filter(None, (counted(one.statuses, len(one.keys)), took))),
        _items_in(one, nodes),
        f"if {one.run_if}" if one.run_if else "",
    )
    return tuple(line for line in lines if line)


def _took(node: Graph) -> str | None:
    if node["status"] == "PROCESSING" and node["started_at"]:
        return span(max(time.time() - since_epoch(node["started_at"]), 0.0))
    return between(node["started_at"], node["finished_at"])


def _items_in(one: Fold, nodes: dict[str, Graph]) -> str:
    """Return how far a map is that is drawn by itself."""
    items = nodes.get(one.keys[0], {}).get("items") if len(one.keys) == 1 else None
    if not items:
        return ""
    failed = f", {items['failed']:,} failed" if items["failed"] else ""
    return f"{items['ended']:,} of {items['total']:,} items{failed}"


def _worst(one: Fold) -> str:
    return next((status for status in WORST_FIRST if status in one.statuses), "")


def _print_rows(graph: Graph, *, is_full: bool) -> None:
    vertices = vertices_of(graph)
    folds = unfolded(vertices) if is_full else fold(vertices, most=MOST_ROWS)
    nodes = {node["key"]: node for node in graph["nodes"]}
    rows = [
        {
            "layer": one.layer + 1,
            "label": one.label,
            "status": " ".join(filter(None, (counted(one.statuses, len(one.keys)), _items_in(one, nodes)))),
            "took": _took(nodes[one.keys[0]]) if len(one.keys) == 1 and one.keys[0] in nodes else None,
            "needs": ", ".join(folds[need].label for need in one.needs),
        }
        for one in folds
    ]
    print_table(rows, ROWS, width=terminal_width() if is_terminal() else None, is_relative=False)


def _path(keys: list[str]) -> str:
    left_out = len(keys) - 2 * MOST_TOLD
    shown = keys if left_out <= 0 else [*keys[:MOST_TOLD], f"({left_out:,} more)", *keys[-MOST_TOLD:]]
    return " → ".join(tidy(key) for key in shown)
