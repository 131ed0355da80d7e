"""The watchdog's program: reads `+group` and `-group` lines, and kills what is left when its input ends.

Run as a file by a bare interpreter, so it imports nothing but what it needs.
"""

import contextlib
import os
import signal
import sys


def main() -> None:
    """Watch until the worker is gone."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        group = int(line[1:])
        if line[0] == "+":
            groups.add(group)
        else:
            groups.discard(group)
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main()
