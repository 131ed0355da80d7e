"""The queues that a worker serves, and how much of its room each gets: `mail`, or `mail=3` for three times as much."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from drumline.core.codec import cut
from drumline.core.errors import Invalid
from drumline.core.names import LONGEST_QUEUE, check_queue

MOST_WEIGHT: Final = 1000

_WEIGHT: Final = re.compile(r"[0-9]{1,4}")


def parse_queues(queues: Sequence[str], *, field: str = "worker.queues") -> Mapping[str, int]:
    """Return the weight of each queue, in the order given, or raise `Invalid`."""
    weights: dict[str, int] = {}
    for entry in queues:
        name, sign, weight = entry.partition("=")
        check_queue(name.strip(), field=field)
        if sign and (not _WEIGHT.fullmatch(weight.strip()) or not 1 <= int(weight) <= MOST_WEIGHT):
            raise Invalid(
                f"{cut(entry, LONGEST_QUEUE)}: a weight must be a whole number from 1 to {MOST_WEIGHT}", field=field
            )
        weights[name.strip()] = int(weight) if sign else 1
    return weights
