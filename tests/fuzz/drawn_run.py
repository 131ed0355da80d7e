"""Draws inputs of one test by chance: `python -m tests.fuzz.drawn_run tests/fuzz/test_ids.py::test_… SECONDS`.

It prints how many inputs there were. Hypothesis counts examples, not seconds: so it is asked for a few at a time.
"""

import importlib
import os
import sys
import time
from typing import Any

AT_ONCE = "25"


def main() -> None:
    """Try inputs of the test that the command line names until the time is over; what fails is raised."""
    os.environ["DRUMLINE_FUZZ_EXAMPLES"] = AT_ONCE
    path, _, name = sys.argv[1].partition("::")
    module: Any = importlib.import_module(path.removesuffix(".py").replace("/", "."))
    test = getattr(module, name)
    inner, count = test.hypothesis.inner_test, 0

    def counted(*arguments: Any, **named: Any) -> None:
        nonlocal count
        count += 1
        inner(*arguments, **named)

    test.hypothesis.inner_test = counted
    until = time.monotonic() + float(sys.argv[2])
    try:
        while time.monotonic() < until:
            test()
    finally:
        sys.stderr.write(f"Done {count} runs in {sys.argv[2]} seconds\n")


if __name__ == "__main__":
    main()
