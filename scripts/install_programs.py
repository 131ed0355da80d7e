"""Install the outside programs that the tests start.

    python3 -m scripts.install_programs [--packages] [COMPONENT ...]

Without names it is everything that tests need; `--packages` leaves out what is fetched into the user's cache. Only
programs are wanted, never a running service: the tests start their own, on free ports and in private folders.

Packages are installed where that needs no question: on Debian and its kin, as root. Anywhere else this says in one line
what to install, and ends well: the tests that need it skip, with the same line.
"""

import argparse
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from scripts.fetch_programs import FETCHERS, FetchFailed
from scripts.programs import Component, components, is_there, missing, packages_for, system

POLICY = Path("/usr/sbin/policy-rc.d")
"""Asked by packages of Debian whether they may start the service that they bring."""


def main() -> int:
    """Install what is missing; the exit code is not 0 only for wrong arguments."""
    parser = argparse.ArgumentParser(description="Install the outside programs that the tests start.")
    parser.add_argument("--packages", action="store_true", help="leave out what is fetched into the user's cache")
    parser.add_argument("names", nargs="*", metavar="COMPONENT", help="one of: " + ", ".join(components()))
    given = parser.parse_args()
    if unknown := set(given.names) - components().keys():
        parser.error(f"scripts/programs.toml has no {', '.join(sorted(unknown))}")
    wanted = [
        one for one in components().values() if one.name in given.names or (not given.names and one.purpose == "test")
    ]
    install_packages(wanted)
    if not given.packages:
        fetch(wanted)
    for one in wanted:
        if not (given.packages and one.fetch) and (line := missing(one.name)):
            say(line)
    return 0


def install_packages(wanted: Sequence[Component]) -> None:
    """Install the packages of what is missing, where this may be done."""
    names = sorted({package for one in wanted if not is_there(one) for package in packages_for(one, "debian")})
    if not names or system() != "debian" or os.getuid() != 0 or shutil.which("apt-get") is None:
        return
    say(f"installing {' '.join(names)}")
    with services_kept_from_starting():
        install = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *names]
        if not _apt(install):
            _apt(["apt-get", "update", "-q"])
            if not _apt(install):
                for name in names:  # one that cannot be had keeps nobody else from coming
                    _apt([*install[:5], name])


@contextmanager
def services_kept_from_starting() -> Iterator[None]:
    """Keep packages from starting what they bring."""
    if POLICY.exists():
        yield
        return
    POLICY.write_text("#!/bin/sh\nexit 101\n", encoding="utf-8")
    POLICY.chmod(0o755)
    try:
        yield
    finally:
        POLICY.unlink(missing_ok=True)


def fetch(wanted: Sequence[Component]) -> None:
    """Fetch what no package brings."""
    for one in wanted:
        if not one.fetch or is_there(one):
            continue
        say(f"fetching {one.name}")
        try:
            FETCHERS[one.fetch]()
        except FetchFailed as error:
            say(f"could not fetch {one.name}: {error}")


def say(text: str) -> None:
    """Print a message."""
    print(f"[drumline] {text}", file=sys.stderr)


def _apt(words: Sequence[str]) -> bool:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)  # noqa: S603 - our own words
    if done.returncode:
        say(f"{' '.join(words[:2])}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
