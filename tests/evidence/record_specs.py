"""Checks the TLA+ specifications and leaves the figures in evidence/specs.json.

    python -m tests.evidence.record_specs [--large]

Without the option it takes the small bounds, in seconds; the large ones take minutes.
"""

import argparse
import sys
import time

from scripts.programs import missing
from tests.evidence import tlc
from tests.evidence.results import Spec, Specs, run_by, save


def main() -> int:
    """Check all of them; the exit status is 0 if every one holds."""
    parser = argparse.ArgumentParser(description="Check the specifications, and record the result.")
    parser.add_argument("--large", action="store_true", help="within the large bounds")
    bounds = tlc.LARGE if parser.parse_args().large else tlc.SMALL
    if absent := missing("tlc"):
        parser.error(absent)
    began = time.monotonic()
    specs = tuple(spec_of(name, bounds) for name in tlc.NAMES)
    command = "python -m tests.evidence.record_specs" + (" --large" if bounds == tlc.LARGE else "")
    save("specs.json", Specs(**run_by(command, time.monotonic() - began), specs=specs))
    return int(any(spec.is_violated for spec in specs))


def spec_of(name: str, bounds: str) -> Spec:
    """Check one specification, and then without each of its protections."""
    verdict, listed = tlc.check(name, bounds), tlc.mutants(name)
    return Spec(
        name=name,
        file=f"specs/{name}.tla",
        bounds=bounds,
        states=verdict.states,
        distinct=verdict.distinct,
        seconds=round(verdict.seconds, 1),
        protections=len(listed),
        protections_found=len(tlc.check(name, tlc.MUTANTS).found & listed),
        is_violated=not verdict.passed,
    )


if __name__ == "__main__":
    sys.exit(main())
