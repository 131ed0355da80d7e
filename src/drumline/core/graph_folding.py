"""Pictures of large graphs: tasks that are alike are folded into one, so that 5,000 of them are still a picture.

Alike are tasks of one name whose ancestors and descendants are alike: the many of a fan-out, or of several fan-outs
one behind the other. A long row of tasks of one name, each waiting for the one before, is folded too. If that is still
too much to look at, all tasks of one name in one layer become one.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from drumline.core.graph import children_among, layers

FEWEST: Final = 5
"""Tasks side by side that are worth folding."""
SHORTEST: Final = 8
"""Tasks in a row that are worth folding."""


class Vertex(Struct, frozen=True, kw_only=True):
    """A task of a graph, as far as a picture shows it. `needs` are keys of vertices."""

    key: str
    name: str = ""
    needs: tuple[str, ...] = ()
    status: str = ""
    run_if: str = ""


class Fold(Struct, frozen=True, kw_only=True):
    """Tasks that are drawn as one: side by side, or in a row. `needs` are places of folds that come before it."""

    keys: tuple[str, ...]
    name: str
    needs: tuple[int, ...]
    layer: int
    statuses: Mapping[str, int]
    run_if: str = ""
    is_row: bool = False

    @property
    def label(self) -> str:
        """The key, or the first and the last with their number."""
        if len(self.keys) == 1:
            return self.keys[0]
        sign = "\N{RIGHTWARDS ARROW}" if self.is_row else "\N{MULTIPLICATION SIGN}"
        return f"{self.keys[0]} … {self.keys[-1]} {sign}{len(self.keys):,}"


def layers_of(vertices: Sequence[Vertex]) -> dict[str, int]:
    """Return the layer of each vertex: those that need nothing are in layer 0, others one below what they need."""
    needs = {vertex.key: vertex.needs for vertex in vertices}
    return {key: number for number, layer in enumerate(layers(needs)) for key in layer}


def fold(vertices: Sequence[Vertex], *, most: int | None = None) -> list[Fold]:
    """Return the graph with similar tasks grouped, layer by layer; with `most`, coarser if there are more groups."""
    heights = layers_of(vertices)
    groups = _rows(_alike(vertices, heights), vertices)
    if most is not None and len(groups) > most:
        groups = _grouped(vertices, {v.key: (heights[v.key], v.name, v.run_if) for v in vertices})
    return _folds(groups, vertices, heights)


def unfolded(vertices: Sequence[Vertex]) -> list[Fold]:
    """Return the graph with every task by itself, layer by layer."""
    return _folds([[vertex.key] for vertex in vertices], vertices, layers_of(vertices))


def _alike(vertices: Sequence[Vertex], heights: Mapping[str, int]) -> list[list[str]]:
    """Group tasks that have the same name, and alike ancestors and descendants."""
    needs = {vertex.key: vertex.needs for vertex in vertices}
    down = sorted(vertices, key=lambda vertex: heights[vertex.key])
    above = _colours(down, needs)
    below = _colours(reversed(down), children_among(needs))
    groups = _grouped(vertices, {vertex.key: (above[vertex.key], below[vertex.key]) for vertex in vertices})
    return [part for group in groups for part in ([group] if len(group) >= FEWEST else [[key] for key in group])]


def _colours(ordered: Iterable[Vertex], neighbours: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Number tasks by name and neighbours on one side: equal numbers mean equal names and neighbours all the way."""
    seen: dict[Hashable, int] = {}
    colours: dict[str, int] = {}
    for vertex in ordered:
        around = tuple(sorted(Counter(colours[key] for key in neighbours.get(vertex.key, ())).items()))
        colours[vertex.key] = seen.setdefault((vertex.name, vertex.run_if, around), len(seen))
    return colours


def _grouped(vertices: Sequence[Vertex], colours: Mapping[str, Hashable]) -> list[list[str]]:
    groups: defaultdict[Hashable, list[str]] = defaultdict(list)
    for vertex in vertices:
        groups[colours[vertex.key]].append(vertex.key)
    return list(groups.values())


def _rows(groups: list[list[str]], vertices: Sequence[Vertex]) -> list[list[str]]:
    """Join single tasks of one name, each of which is all that the next needs and is needed by nothing else."""
    named = {vertex.key: vertex for vertex in vertices}
    alone = {group[0] for group in groups if len(group) == 1}
    uses = Counter(parent for vertex in vertices for parent in vertex.needs)

    def before(key: str) -> str | None:
        """Return the task that this one continues, if they belong to one row."""
        vertex = named[key]
        if len(vertex.needs) != 1 or vertex.needs[0] not in alone:
            return None
        parent = named[vertex.needs[0]]
        is_same = (parent.name, parent.run_if) == (vertex.name, vertex.run_if)
        return parent.key if uses[parent.key] == 1 and is_same else None

    previous = {key: before(key) for key in alone}
    following = {parent: key for key, parent in previous.items() if parent is not None}
    rows: list[list[str]] = [group for group in groups if len(group) > 1]
    for key, parent in previous.items():
        if parent is None:
            row = [key]
            while (further := following.get(row[-1])) is not None:
                row.append(further)
            rows += [row] if len(row) >= SHORTEST else [[one] for one in row]
    return rows


def _folds(groups: list[list[str]], vertices: Sequence[Vertex], heights: Mapping[str, int]) -> list[Fold]:
    named = {vertex.key: vertex for vertex in vertices}
    places = {vertex.key: number for number, vertex in enumerate(vertices)}
    groups = sorted(groups, key=lambda group: (heights[group[0]], places[group[0]]))
    home = {key: number for number, group in enumerate(groups) for key in group}
    depths: list[int] = []
    folds: list[Fold] = []
    for number, group in enumerate(groups):
        needs = sorted({home[parent] for key in group for parent in named[key].needs} - {number})
        # Rows shorten what is below them, so layers are counted anew over the folds.
        depths.append(max((depths[need] + 1 for need in needs), default=0))
        folds.append(
            Fold(
                keys=tuple(group),
                name=named[group[0]].name,
                needs=tuple(needs),
                layer=depths[-1],
                statuses=Counter(named[key].status for key in group if named[key].status),
                run_if=named[group[0]].run_if,
                is_row=len(group) > 1 and named[group[1]].needs == (group[0],),
            )
        )
    return folds
