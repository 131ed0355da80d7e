"""Imports structlog for a process of our own without rich, which it loads where it is installed.

It would only format tracebacks in colour, which our renderers do not ask for, and take 5 MB of every process.
"""

import sys
from importlib import import_module


def import_structlog() -> None:
    """Import structlog as where rich is not installed, unless the program has imported either."""
    if "rich" in sys.modules or "structlog" in sys.modules:
        return
    sys.modules["rich"] = None  # type: ignore[assignment] # an import of it fails then
    try:
        import_module("structlog")
    finally:
        del sys.modules["rich"]
