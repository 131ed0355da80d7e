"""Where in a JSON value something is, such as `payload.items[3].id`, written out only when it is asked for.

A walk over a value that wrote the path of each part would copy a long name at the top once for every part below it.
"""

from typing import Final

LONGEST_STEP: Final = 100
"""Characters that are shown of one name."""
MOST_STEPS: Final = 20
"""Steps that are shown of a path: the first ones."""


class JsonPlace:
    """A place: the place that it is in, and the name or the number that leads from there to it."""

    __slots__ = ("parent", "step")

    def __init__(self, step: str | int, parent: "JsonPlace | None" = None) -> None:
        self.step = step
        self.parent = parent

    def __truediv__(self, step: str | int) -> "JsonPlace":
        """Return the place one step further in."""
        return JsonPlace(step, self)

    def __str__(self) -> str:
        steps: list[str | int] = []
        place: JsonPlace | None = self
        while place is not None:
            steps.append(place.step)
            place = place.parent
        shown = "".join(map(_shown, reversed(steps[-MOST_STEPS:]))).removeprefix(".")
        return shown if len(steps) <= MOST_STEPS else f"{shown}…"


def _shown(step: str | int) -> str:
    if isinstance(step, int):
        return f"[{step}]"
    return f".{step}" if len(step) <= LONGEST_STEP else f".{step[:LONGEST_STEP]}…"
