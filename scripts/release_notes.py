"""Print what the changelog says of a version; its tag, such as v1.2.3, is the argument.

Refuses a tag that is not this tree's version, or that the changelog does not know, or of which it says nothing.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def notes_of(tag: str, *, version: str, changelog: str) -> str:
    """Return the notes, or raise `ValueError` saying what is missing."""
    if tag != f"v{version}":
        raise ValueError(f"the tag is {tag}, but src/drumline/_version.py says {version}")
    parts = re.split(r"^## +", changelog, flags=re.MULTILINE)[1:]
    for part in parts:
        title, _, text = part.partition("\n")
        if re.fullmatch(rf"\[?{re.escape(version)}\]?( .*)?", title.strip()):
            if not re.search(r"\d{4}-\d{2}-\d{2}", title):
                raise ValueError(f"CHANGELOG.md gives {version} no date")
            if not text.strip():
                raise ValueError(f"CHANGELOG.md says nothing of {version}")
            return text.strip()
    raise ValueError(f"CHANGELOG.md has no section for {version}: rename Unreleased")


def main() -> int:
    """Print the notes of the tag that was given."""
    if len(sys.argv) != 2:
        print("Error: give one tag, such as v1.2.3", file=sys.stderr)
        return 2
    (version,) = re.findall(r'__version__ = "([^"]+)"', (ROOT / "src" / "drumline" / "_version.py").read_text())
    try:
        print(notes_of(sys.argv[1], version=version, changelog=(ROOT / "CHANGELOG.md").read_text()))
    except ValueError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
