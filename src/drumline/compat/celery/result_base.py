"""What results of one task and of many have in common."""

from collections.abc import Iterator
from typing import Any


class ResultBase:
    """What results of one and of many have in common."""

    parent: Any = None

    def _parents(self) -> Iterator[Any]:
        node = self.parent
        while node is not None:
            yield node
            node = node.parent
