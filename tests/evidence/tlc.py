"""Checks the TLA+ specifications in `specs/` with TLC, the model checker.

    python -m tests.evidence.tlc [--large] [NAME ...]
    python -m tests.evidence.tlc --without PROTECTION NAME

The first form checks the specifications, all of them without names, and prints how many states there were. The second
one switches a protection off (they are listed in `specs/NAME.mutants.cfg`) and prints how that breaks a promise.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from scripts.programs import ROOT, find_files, find_program, missing

SPECS = ROOT / "specs"
NAMES = ("Lease", "FanIn", "Fire", "Outbox", "SlotMove")
SMALL, LARGE, MUTANTS = "small", "large", "mutants"
QUICK = ("-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
"""Options of Java for runs of a second or two."""
STRONG = ("-Xmx2g", "-XX:+UseParallelGC")
"""Options of Java for runs of minutes."""
_STATES = re.compile(r"^(\d+) states generated, (\d+) distinct states found, 0 states left on queue", re.MULTILINE)
_OFF = re.compile(r"^ *Off = \{(.*)\}$", re.MULTILINE)
_PASSED = "Model checking completed. No error has been found."


class Verdict(Struct, frozen=True, kw_only=True):
    """What TLC says of a specification within some bounds."""

    passed: bool
    states: int
    """States that were generated."""
    distinct: int
    """Distinct states among them."""
    seconds: float
    output: str

    @property
    def found(self) -> frozenset[str]:
        """The mutants that were found to break a promise."""
        return frozenset(re.findall(r'^<<"found", "(.*)">>$', self.output, re.MULTILINE))


def check(name: str, bounds: str = SMALL) -> Verdict:
    """Check a specification of this project within `small`, `large` or `mutants` bounds."""
    java = STRONG if bounds == LARGE else QUICK
    return run_tlc(SPECS / f"{name}.tla", SPECS / f"{name}.{bounds}.cfg", java=java)


def check_without(name: str, protection: str) -> Verdict:
    """Check a specification with one protection switched off: the output has the steps that break a promise."""
    text = (SPECS / f"{name}.{MUTANTS}.cfg").read_text(encoding="utf-8")
    text = _OFF.sub(f'    Off = {{"{protection}"}}', text).replace("CONSTRAINT Seek", "INVARIANT Safe")
    with tempfile.TemporaryDirectory(prefix="drumline-tlc-") as folder:
        config = Path(folder) / f"{name}.cfg"
        config.write_text(text, encoding="utf-8")
        return run_tlc(SPECS / f"{name}.tla", config)


def mutants(name: str) -> frozenset[str]:
    """Return the protections of a specification that can be switched off."""
    (listed,) = _OFF.findall((SPECS / f"{name}.{MUTANTS}.cfg").read_text(encoding="utf-8"))
    return frozenset(re.findall(r'"(.*?)"', listed))


def run_tlc(spec: Path, config: Path, *, workers: int = 2, java: Sequence[str] = QUICK) -> Verdict:
    """Run TLC on a specification and a configuration."""
    program, jar = find_program("java"), find_files("tlc")
    if program is None or jar is None:
        raise FileNotFoundError(missing("tlc"))
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="drumline-tlc-") as scratch:
        command = [program, *java, f"-Djava.io.tmpdir={scratch}", "-cp", str(jar), "tlc2.TLC"]
        command += ["-workers", str(workers), "-metadir", scratch, "-lncheck", "final"]
        command += ["-config", str(config), spec.name]
        done = subprocess.run(command, cwd=spec.parent, capture_output=True, text=True, check=False)
    output = done.stdout + done.stderr
    states = _STATES.search(output)
    return Verdict(
        passed=done.returncode == 0 and _PASSED in output and states is not None,
        states=int(states[1]) if states else 0,
        distinct=int(states[2]) if states else 0,
        seconds=time.monotonic() - began,
        output=output,
    )


def main() -> int:
    """Check the specifications that the arguments name."""
    parser = argparse.ArgumentParser(description="Check the TLA+ specifications with TLC.")
    parser.add_argument("--large", action="store_true", help="look further: minutes instead of seconds")
    parser.add_argument("--without", metavar="PROTECTION", help="switch a protection off and show what breaks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(NAMES)}")
    given = parser.parse_args()
    if unknown := set(given.names) - set(NAMES):
        parser.error(f"there is no specification {', '.join(sorted(unknown))}")
    if line := missing("tlc"):
        parser.error(line)
    if given.without is not None:
        return _show_without(parser, given.names, given.without)
    return _check_all(given.names or NAMES, LARGE if given.large else SMALL)


def _show_without(parser: argparse.ArgumentParser, names: Sequence[str], protection: str) -> int:
    if len(names) != 1 or protection not in mutants(names[0]):
        known = "; ".join(f"{name}: {', '.join(sorted(mutants(name)))}" for name in NAMES)
        parser.error(f"--without takes one NAME and one of its protections ({known})")
    _say(check_without(names[0], protection).output)
    return 0


def _check_all(names: Sequence[str], bounds: str) -> int:
    _say(f"{'specification':<14} {'bounds':<7} {'states':>10} {'distinct':>10} {'seconds':>8}  mutants found")
    failed = False
    for name in names:
        verdict, switched = check(name, bounds), check(name, MUTANTS)
        listed = mutants(name)
        failed |= not verdict.passed or switched.found != listed
        figures = f"{verdict.states:>10,} {verdict.distinct:>10,} {verdict.seconds:>8.1f}"
        _say(f"{name:<14} {bounds:<7} {figures}  {len(switched.found & listed)} of {len(listed)}")
        if not verdict.passed:
            _say(verdict.output)
    return int(failed)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
