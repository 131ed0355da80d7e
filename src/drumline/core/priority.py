"""Priority: an integer from -100 to 100, or one of four names. A point is worth a minute of waiting."""

import re
from typing import Final

from drumline.core.errors import Invalid

LOWEST: Final = -100
HIGHEST: Final = 100
NAMES: Final = {"critical": 100, "high": 50, "normal": 0, "low": -50}
POINT_MS: Final = 60_000
"""What one point of priority is worth, in milliseconds of waiting."""

_NUMERIC = re.compile(r"[+-]?\d{1,3}")


def parse_priority(value: int | str, *, field: str = "priority") -> int:
    """Return a priority as its number; names and numeric strings are understood."""
    if isinstance(value, str):
        text = value.strip().lower()
        if text in NAMES:
            return NAMES[text]
        if _NUMERIC.fullmatch(text) is None:
            raise Invalid("must be a number from -100 to 100, or critical, high, normal or low", field=field)
        value = int(text)
    if not LOWEST <= value <= HIGHEST:
        raise Invalid("must be from -100 to 100", field=field)
    return value


def score(due_at: int, priority: int) -> int:
    """Return the rank of a due task: lower runs first, and nothing starves."""
    return due_at - priority * POINT_MS
