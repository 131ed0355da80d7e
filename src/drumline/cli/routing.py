"""The lines between two layers of a drawn graph: each on a row of its own where it would touch another."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final, NamedTuple

UP, DOWN, LEFT, RIGHT = 1, 2, 4, 8

_SIGNS: Final = {
    UP: "│", DOWN: "│", UP | DOWN: "│",
    LEFT: "─", RIGHT: "─", LEFT | RIGHT: "─",
    UP | RIGHT: "╰", UP | LEFT: "╯", DOWN | RIGHT: "╭", DOWN | LEFT: "╮",
    UP | LEFT | RIGHT: "┴", DOWN | LEFT | RIGHT: "┬", UP | DOWN | RIGHT: "├", UP | DOWN | LEFT: "┤",
    UP | DOWN | LEFT | RIGHT: "┼",
}  # fmt: skip


class Line(NamedTuple):
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


def route(lines: Sequence[Line]) -> list[str] | None:
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


def _rows(lines: Sequence[Line]) -> list[int] | None:
    """Return the row on which each line runs level; one that comes from where another goes to runs above it."""
    waits = {
        number: {other for other, one in enumerate(lines) if other != number and one.above & line.below - one.below}
        for number, line in enumerate(lines)
    }
    places: dict[int, int] = {}
    taken: defaultdict[int, list[Line]] = defaultdict(list)
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


def _strokes(line: Line, place: int, height: int) -> list[tuple[int, int, int]]:
    """Return what a line draws: row, column and the directions in which it leaves the cell."""
    strokes = [(row, column, UP | DOWN) for column in line.above for row in range(place)]
    strokes += [(row, column, UP | DOWN) for column in line.below for row in range(place + 1, height)]
    strokes += [(place, column, UP) for column in line.above] + [(place, column, DOWN) for column in line.below]
    strokes += [(place, column, RIGHT) for column in range(line.left, line.right)]
    strokes += [(place, column, LEFT) for column in range(line.left + 1, line.right + 1)]
    return strokes


def _sign(cell: dict[int, int] | None, column: int, lines: Sequence[Line]) -> str:
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
