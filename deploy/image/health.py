#!/opt/drumline/bin/python
"""Tell whether the Drumline process of this container lives: status 0 if it does, 1 with a reason if not.

An API server has to answer at /livez, and so has every role at its monitor port, if it has one. Of those without any
port the main thread, which runs the event loop, has to get to run: their duties and beats wake it several times a
second, so one that does not run for seconds is stuck or stopped. What needs a backend is not asked: a process cannot be
cured of an outage by being started again.

The process is found by its command line, since an init may stand before it; its id may also be given.
"""

import os
import sys
import time
import urllib.error
import urllib.request
from itertools import pairwise
from pathlib import Path

SERVERS = ("api", "dev")
ROLES = (*SERVERS, "scheduler", "worker", "notifier")
PATIENCE = 6.0
"""Seconds; more than a beat of a worker takes, and less than the health check may."""
LOOK_EVERY = 0.05
PROC = Path("/proc")


def main(arguments: list[str]) -> int:
    """Look once, and say what is wrong."""
    found = _find(int(arguments[0]) if arguments else None)
    if found is None:
        return _say("no Drumline process runs here")
    pid, role = found
    port = os.environ.get("DRUMLINE_MONITOR_PORT") or (
        os.environ.get("DRUMLINE_PORT") or "8080" if role in SERVERS else None
    )
    if port is not None:
        reason = _why_silent(port)
        return _say(f"the {role} does not answer: {reason}") if reason else 0
    return 0 if _runs(pid) else _say(f"the {role} (process {pid}) has not run for {PATIENCE:g} s")


def _find(pid: int | None) -> tuple[int, str] | None:
    """Return the oldest process that is a role, and which."""
    pids = [pid] if pid else sorted(int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit())
    return next(((pid, role) for pid in pids if (role := _role_of(pid))), None)


def _role_of(pid: int) -> str | None:
    try:
        words = (PROC / str(pid) / "cmdline").read_text(errors="replace").split("\0")
    except OSError:  # gone meanwhile
        return None
    # `python /opt/drumline/bin/drumline worker …`: with or without the interpreter, which depends on the kernel.
    for program, role in pairwise(words[:3]):
        if Path(program).name == "drumline" and role in ROLES:
            return role
    return None


def _why_silent(port: str) -> str | None:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=PATIENCE):
            return None
    except (urllib.error.URLError, OSError) as error:
        return str(error)


def _runs(pid: int) -> bool:
    """Tell whether the main thread is given the processor within a few seconds."""
    deadline = time.monotonic() + PATIENCE
    before = _switches(pid)
    while before is not None and time.monotonic() < deadline:
        time.sleep(LOOK_EVERY)
        if (now := _switches(pid)) != before:
            return now is not None
    return False


def _switches(pid: int) -> list[str] | None:
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return None
    return [line for line in lines if "ctxt_switches" in line]


def _say(reason: str) -> int:
    print(reason, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
