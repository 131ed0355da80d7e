"""What a mutant is: a small fault put into the product."""

from typing import NamedTuple

from tests.simulation.durable import SHARE


class Mutant(NamedTuple):
    """A fault planted in a file of `src/drumline`."""

    name: str
    path: str
    before: str
    after: str
    turn: int | None = None
    """Of the seeds that have durable tasks, those by this number; None if every seed may find it."""

    def seeds(self, most: int) -> str:
        """Return the seeds that it is given, so many at most."""
        return f"0-{most - 1}" if self.turn is None else f"{self.turn}-{self.turn + (most - 1) * SHARE}:{SHARE}"
