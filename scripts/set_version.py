"""Move the version: python -m scripts.set_version 0.2.0, and after that release 0.3.0.dev0.

A release gives its number to the package, the chart and the manifests, and names and dates the changelog's section of
what was unreleased. A development version changes the package alone and opens a new section: charts and manifests go
on naming the last release, whose image exists.
"""

import re
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSION = Path("src/drumline/_version.py")
CHART = Path("deploy/helm/drumline/Chart.yaml")
OVERLAY = Path("deploy/kustomize/overlays/production/kustomization.yaml")
CHANGELOG = Path("CHANGELOG.md")
UNRELEASED = "## Unreleased\n"
HEADINGS = "\n### Added\n\n### Changed\n\n### Fixed\n"
PATTERN = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(?:\.dev(0|[1-9]\d*))?")


def rank(version: str) -> tuple[int, int, int, bool, int]:
    """Return what versions are ordered by: a development version comes before its release."""
    match = PATTERN.fullmatch(version)
    if match is None:
        raise ValueError(f"{version} is no version: write 1.2.3 or 1.2.3.dev0")
    major, minor, patch, development = match.groups()
    return int(major), int(minor), int(patch), development is None, int(development or 0)


def read_version(root: Path) -> str:
    """Return the version that a tree has."""
    (version,) = re.findall(r'__version__ = "([^"]+)"', (root / VERSION).read_text(encoding="utf-8"))
    return str(version)


def set_version(root: Path, version: str, today: str) -> None:
    """Write a version into every file of a tree that names it."""
    current = read_version(root)
    if rank(version) <= rank(current):
        raise ValueError(f"{version} does not come after {current}")
    changelog = (root / CHANGELOG).read_text(encoding="utf-8")
    if ".dev" in version:
        changelog = _with_unreleased(changelog)
    else:
        changelog = _released(changelog, version, today)
        _replace(root / CHART, r"^version: .*$", f"version: {version}")
        _replace(root / CHART, r"^appVersion: .*$", f'appVersion: "{version}"')
        _replace(root / OVERLAY, r"newTag: \S+", f"newTag: {version}")
    (root / CHANGELOG).write_text(changelog, encoding="utf-8")
    _replace(root / VERSION, r'__version__ = "[^"]+"', f'__version__ = "{version}"')


def _released(changelog: str, version: str, today: str) -> str:
    before, found, after = changelog.partition(UNRELEASED)
    section, mark, rest = after.partition("\n## ")
    if not found or not re.search(r"^- ", section, flags=re.MULTILINE):
        raise ValueError("CHANGELOG.md says of nothing that it is unreleased")
    section = re.sub(r"### \w+\n+(?=### |\Z)", "", section.strip() + "\n")  # headings with nothing below them
    return f"{before}## {version} ({today})\n\n{section.strip()}\n{mark}{rest}"


def _with_unreleased(changelog: str) -> str:
    if UNRELEASED in changelog:
        return changelog
    before, mark, after = changelog.partition("\n## ")
    return f"{before}\n{UNRELEASED}{HEADINGS}{mark}{after}"


def _replace(path: Path, pattern: str, text: str) -> None:
    new, count = re.subn(pattern, text, path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    if count != 1:
        raise ValueError(f"{path} names its version {count} times")
    path.write_text(new, encoding="utf-8")


def main() -> int:
    """Set the version that was given."""
    if len(sys.argv) != 2:
        print("Error: give one version, such as 1.2.3 or 1.3.0.dev0", file=sys.stderr)
        return 2
    try:
        set_version(ROOT, sys.argv[1], datetime.now(UTC).date().isoformat())
    except ValueError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    if ".dev" not in sys.argv[1]:
        print("Now: python -m scripts.generate_kustomize, commit, and tag v" + sys.argv[1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
