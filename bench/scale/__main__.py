"""Run one of the scale tests: python -m bench.scale NAME [--quick]."""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any, Final

from bench.scale import families, fleet, kept, move, pinned, protocol, prune, scheduled, shards, sleepers, soak
from bench.scale.rack import Scale
from bench.scale.report import show

TESTS: Final[dict[str, Callable[[Scale], dict[str, Any]]]] = {
    "scheduled": scheduled.run,
    "sleepers": sleepers.run,
    "sleepers-virtual": sleepers.run_virtual,
    "families": families.run,
    "kept": kept.run,
    "fleet": fleet.run,
    "protocol": protocol.run,
    "soak": soak.run,
    "prune": prune.run,
    "pinned": pinned.run,
    "shards": shards.run,
    "move": move.run,
}


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(prog="python -m bench.scale", description=__doc__)
    parser.add_argument("name", choices=TESTS)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--minutes", type=float, default=30.0, help="how long a soak lasts (default 30)")
    parser.add_argument(
        "--rate", type=float, help="tasks a second: in a soak 70%% of what was measured, in a `fleet` 200"
    )
    parser.add_argument("--retention", type=float, default=0.0, help="seconds that a soak keeps ended tasks; 0 is ever")
    parser.add_argument(
        "--tasks", type=int, help="how many tasks wait in `scheduled` (default 500,000), sleep in `sleepers` (100,000)"
    )
    parser.add_argument("--workers", type=int, help="how many workers a `fleet` has (default 2,000)")
    parser.add_argument("--servers", type=int, help="how many API servers a `fleet` has (default 2)")
    parser.add_argument("--seconds", type=float, help="how long a `fleet` is busy (default 60)")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that servers and workers are stopped
    scale = Scale(
        quick=options.quick,
        minutes=options.minutes,
        rate=options.rate,
        retention=options.retention,
        tasks=options.tasks,
        workers=options.workers,
        servers=options.servers,
        seconds=options.seconds,
    )
    load = os.getloadavg()
    result = {"test": options.name, "quick": options.quick, "load_before": load, **TESTS[options.name](scale)}
    show(result)
    print(json.dumps(result))


main()
