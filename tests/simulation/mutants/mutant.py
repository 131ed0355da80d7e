"""What a mutant is: a small fault put into the product."""

from typing import NamedTuple


class Mutant(NamedTuple):
    """A fault planted in a file of `src/drumline`."""

    name: str
    path: str
    before: str
    after: str
