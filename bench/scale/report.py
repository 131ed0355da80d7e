"""Words and numbers for people."""

import sys
import time
from typing import Any


def say(words: str) -> None:
    """Tell how far it is."""
    print(f"[{time.strftime('%H:%M:%S')}] {words}", file=sys.stderr, flush=True)


def show(result: dict[str, Any]) -> None:
    """Print a result as a table: nested words are joined by dots, long lists are left to the JSON."""
    lines = list(_lines(result, ""))
    width = max(len(name) for name, _ in lines)
    for name, value in lines:
        print(f"{name:<{width}}  {value}")


def _lines(value: Any, name: str) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [line for key, each in value.items() for line in _lines(each, f"{name}.{key}" if name else str(key))]
    if isinstance(value, list) and any(isinstance(each, dict) for each in value):
        return [(name, f"({len(value)} rows, see the JSON)")]
    return [(name, value)]
