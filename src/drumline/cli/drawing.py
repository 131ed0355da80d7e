"""A graph drawn with boxes and lines, layer by layer, for terminals.

Boxes that are ordered by the middle of their neighbours cross little; lines from boxes that lead to the same boxes are
one line. Where two lines cross without meeting, the upright one is whole and the other passes under it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

from drumline.cli.tables import width_of

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8

_SIGNS: Final = {
    UP: "│", DOWN: "│", UP | DOWN: "│",
    LEFT: "─", RIGHT: "─", LEFT | RIGHT: "─",
    UP | RIGHT: "╰", UP | LEFT: "╯", DOWN | RIGHT: "╭", DOWN | LEFT: "╮",
    UP | LEFT | RIGHT: "┴", DOWN | LEFT | RIGHT: "┬", UP | DOWN | RIGHT: "├", UP | DOWN | LEFT: "┤",
    UP | DOWN | LEFT | RIGHT: "┼",
}  # fmt: skip

GAP: Final = 3
"""Columns between two boxes."""
SWEEPS: Final = 12
WIDEST_LAYER: Final = 40
"""Boxes in one layer that anybody can still tell apart."""


class DrawnBox(NamedTuple):
    """A box with its lines of text. `needs` are places of boxes in layers above."""

    lines: tuple[str, ...]
    layer: int
    needs: tuple[int, ...] = ()
    colour: str | None = None


class TextSpan(NamedTuple):
    """A stretch of a drawn line in one colour."""

    text: str
    colour: str | None = None


@dataclass(slots=True, eq=False)
class _Spot:
    """A place in a layer: a box, or a line that passes through on its way further down."""

    box: DrawnBox | None
    width: int
    below: "list[_Spot]" = field(default_factory=list)
    above: "list[_Spot]" = field(default_factory=list)
    middle: float = 0.0

    @property
    def column(self) -> int:
        return round(self.middle)

    @property
    def left(self) -> int:
        return self.column - self.width // 2


def draw(boxes: Sequence[DrawnBox], *, width: int) -> list[list[TextSpan]] | None:
    """Return the picture line by line, or None if it does not fit or lines would overlap."""
    layers = _layers(boxes)
    if any(len(layer) > WIDEST_LAYER for layer in layers):
        return None
    _order(layers)
    _place(layers)
    if max(spot.left + spot.width for layer in layers for spot in layer) > width:
        return None
    picture: list[list[TextSpan]] = []
    for number, layer in enumerate(layers):
        picture += _boxes(layer)
        if number + 1 < len(layers):
            between = _between(layer)
            if between is None:
                return None
            picture += between
    return picture


def _layers(boxes: Sequence[DrawnBox]) -> list[list[_Spot]]:
    """Put boxes into their layers, and something into each layer that a line has to pass."""
    layers: list[list[_Spot]] = [[] for _ in range(max(box.layer for box in boxes) + 1)]
    spots = []
    for box in boxes:
        spot = _Spot(box, max(width_of(line) for line in box.lines) + 4)
        spots.append(spot)
        layers[box.layer].append(spot)
    passing: dict[tuple[int, int], _Spot] = {}
    for number, box in enumerate(boxes):
        for need in box.needs:
            last = spots[need]
            for layer in range(boxes[need].layer + 1, box.layer):
                if (need, layer) not in passing:
                    passing[need, layer] = _Spot(None, 1)
                    layers[layer].append(passing[need, layer])
                    _join(last, passing[need, layer])
                last = passing[need, layer]
            _join(last, spots[number])
    return layers


def _join(upper: _Spot, lower: _Spot) -> None:
    upper.below.append(lower)
    lower.above.append(upper)


def _order(layers: list[list[_Spot]]) -> None:
    """Order each layer by the middle of its neighbours, down and up again."""
    for layer in layers:
        for number, spot in enumerate(layer):
            spot.middle = float(number)
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            for spot in layer:
                around = spot.above if sweep % 2 == 0 else spot.below
                spot.middle = _mean(around, spot.middle)
            layer.sort(key=lambda spot: spot.middle)
            for number, spot in enumerate(layer):
                spot.middle = float(number)


def _place(layers: list[list[_Spot]]) -> None:
    """Give each spot its column: as near to the middle of its neighbours as the others in its layer allow."""
    for layer in layers:
        _settle(layer, [0.0] * len(layer))
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            _settle(layer, [_mean(spot.above if sweep % 2 == 0 else spot.below, spot.middle) for spot in layer])
    for layer in layers:
        _settle(layer, [_mean(spot.above + spot.below, spot.middle) for spot in layer])
    _whole_columns(layers)


def _settle(layer: list[_Spot], wanted: list[float]) -> None:
    """Move spots to where they want to be, keeping order and distance; those who collide meet in the middle."""
    offsets = [0.0]
    for left, right in pairwise(layer):
        offsets.append(offsets[-1] + _distance(left, right))
    blocks: list[tuple[float, int]] = []  # the sum of the wishes of spots that touch, and how many they are
    for wish, offset in zip(wanted, offsets, strict=True):
        total, count = wish - offset, 1
        while blocks and blocks[-1][0] / blocks[-1][1] >= total / count:
            before, many = blocks.pop()
            total, count = total + before, count + many
        blocks.append((total, count))
    starts = [total / count for total, count in blocks for _ in range(count)]
    for spot, start, offset in zip(layer, starts, offsets, strict=True):
        spot.middle = start + offset


def _whole_columns(layers: list[list[_Spot]]) -> None:
    """Round columns so that what is nearly straight becomes straight, and shift all to the left edge."""
    for layer in layers:
        for spot in layer:
            near = [one for one in spot.above if abs(one.middle - spot.middle) < 1]
            spot.middle = float(near[0].column if near else spot.column)
        for left, right in pairwise(layer):
            right.middle = max(right.middle, float(left.column + _distance(left, right)))
    edge = min(spot.left for layer in layers for spot in layer)
    for layer in layers:
        for spot in layer:
            spot.middle -= edge


def _distance(left: _Spot, right: _Spot) -> int:
    return left.width - left.width // 2 + GAP + right.width // 2


def _mean(spots: Sequence[_Spot], otherwise: float) -> float:
    return sum(spot.middle for spot in spots) / len(spots) if spots else otherwise


def _boxes(layer: list[_Spot]) -> list[list[TextSpan]]:
    """Return the lines of text that show one layer."""
    height = max((len(spot.box.lines) for spot in layer if spot.box is not None), default=0)
    rows: list[list[TextSpan]] = []
    for number in range(height + 2):
        row: list[TextSpan] = []
        column = 0
        for spot in layer:
            row.append(TextSpan(" " * (spot.left - column)))
            row += _row_of(spot, number, height)
            column = spot.left + spot.width
        rows.append(row)
    return rows


def _row_of(spot: _Spot, number: int, height: int) -> list[TextSpan]:
    if spot.box is None:
        return [TextSpan("│")]
    lines = [*spot.box.lines, *[""] * (height - len(spot.box.lines))]
    middle = spot.column - spot.left
    if number == 0:
        return [TextSpan(_edge("┌┴┐" if spot.above else "┌─┐", spot.width, middle))]
    if number == height + 1:
        return [TextSpan(_edge("└┬┘" if spot.below else "└─┘", spot.width, middle))]
    text = lines[number - 1]
    room = " " * (spot.width - 4 - width_of(text))
    return [TextSpan("│ "), TextSpan(text, spot.box.colour), TextSpan(f"{room} │")]


def _edge(signs: str, width: int, middle: int) -> str:
    return signs[0] + "─" * (middle - 1) + signs[1] + "─" * (width - middle - 2) + signs[2]


def _between(layer: list[_Spot]) -> list[list[TextSpan]] | None:
    """Return the lines of text that show how a layer leads to the next."""
    groups: defaultdict[frozenset[int], list[_Spot]] = defaultdict(list)
    for spot in layer:
        if spot.below:
            groups[frozenset(map(id, spot.below))].append(spot)
    lines = [
        DrawnLine(frozenset(spot.column for spot in spots), frozenset(spot.column for spot in spots[0].below))
        for spots in groups.values()
    ]
    rows = route(lines)
    return None if rows is None else [[TextSpan(row)] for row in rows]


# -- the lines between two layers: each on a row of its own where it would touch another


class DrawnLine(NamedTuple):
    """A line from columns above to columns below: all of one lead to all of the other."""

    above: frozenset[int]
    below: frozenset[int]

    @property
    def left(self) -> int:
        """Its leftmost column."""
        return min(self.above | self.below)

    @property
    def right(self) -> int:
        """Its rightmost column."""
        return max(self.above | self.below)


def route(lines: Sequence[DrawnLine]) -> list[str] | None:
    """Return the rows of text between two layers, or None if two lines would have to share a stretch."""
    places = _rows(lines)
    if places is None:
        return None
    height = max([place + 1 for place in places], default=1)
    cells: defaultdict[tuple[int, int], dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for number, (line, place) in enumerate(zip(lines, places, strict=True)):
        for row, column, signs in _strokes(line, place, height):
            cells[row, column][number] |= signs
    width = max(line.right for line in lines) + 1 if lines else 0
    return [
        "".join(_sign(cells.get((row, column)), column, lines) for column in range(width)).rstrip()
        for row in range(height)
    ]


def _rows(lines: Sequence[DrawnLine]) -> list[int] | None:
    """Return the row on which each line runs level; one that comes from where another goes to runs above it."""
    waits = {
        number: {other for other, one in enumerate(lines) if other != number and one.above & line.below - one.below}
        for number, line in enumerate(lines)
    }
    places: dict[int, int] = {}
    taken: defaultdict[int, list[DrawnLine]] = defaultdict(list)
    while len(places) < len(lines):
        free = [number for number in waits if number not in places and waits[number] <= places.keys()]
        if not free:
            return None
        number = min(free, key=lambda number: (lines[number].left, lines[number].right))
        row = max((places[other] + 1 for other in waits[number]), default=0)
        while any(one.left <= lines[number].right and lines[number].left <= one.right for one in taken[row]):
            row += 1
        places[number] = row
        taken[row].append(lines[number])
    return [places[number] for number in range(len(lines))]


def _strokes(line: DrawnLine, place: int, height: int) -> list[tuple[int, int, int]]:
    """Return what a line draws: row, column and the directions in which it leaves the cell."""
    strokes = [(row, column, UP | DOWN) for column in line.above for row in range(place)]
    strokes += [(row, column, UP | DOWN) for column in line.below for row in range(place + 1, height)]
    strokes += [(place, column, UP) for column in line.above] + [(place, column, DOWN) for column in line.below]
    strokes += [(place, column, RIGHT) for column in range(line.left, line.right)]
    strokes += [(place, column, LEFT) for column in range(line.left + 1, line.right + 1)]
    return strokes


def _sign(cell: dict[int, int] | None, column: int, lines: Sequence[DrawnLine]) -> str:
    if not cell:
        return " "
    signs = 0
    for drawn in cell.values():
        signs |= drawn
    meets = [number for number in cell if column in lines[number].below]
    if len(cell) > 1 and len(meets) < len(cell):
        # They only cross here: the one that runs level passes under the other.
        return "│" if any(drawn & (UP | DOWN) for drawn in cell.values()) else "─"
    return _SIGNS[signs]
