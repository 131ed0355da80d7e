"""NaN and infinity: JSON has no such numbers, and msgspec writes null in their place.

A null in the place of a number misleads its reader, so they are refused where they are written, by their field. What
was written without a null has none of them: that is one search, and the value is looked through only if it is found.
"""

import math
from collections.abc import Callable
from typing import Any, Final

import msgspec

from drumline.core.errors import Invalid

NULL: Final = b"null"


def refuse_not_finite(written: bytes, value: Any, hook: Callable[[Any], Any], *, field: str) -> None:
    """Raise `Invalid` naming the place in a value, which was written as JSON with `hook`, that is NaN or infinite."""
    if value is None or written.find(NULL) < 0:
        return
    path = _place_of(msgspec.to_builtins(value, enc_hook=hook, str_keys=True))
    if path is not None:
        raise Invalid("is NaN or infinite, which JSON cannot carry: give a number, a text or None", field=field + path)


def _place_of(value: Any) -> str | None:
    """Return where in a value the first number is that is not finite."""
    left = [("", value)]
    while left:
        path, one = left.pop()
        if isinstance(one, float) and not math.isfinite(one):
            return path
        if isinstance(one, dict):
            left += [(f"{path}.{name}", inner) for name, inner in reversed(one.items())]
        elif isinstance(one, list | tuple):
            left += [(f"{path}[{place}]", inner) for place, inner in reversed(list(enumerate(one)))]
    return None
