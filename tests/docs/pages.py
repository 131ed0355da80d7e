"""The pages of the documentation, taken apart into their blocks of code and the notes that say how to run them.

A note is an HTML comment right before a block, which readers do not see:

    <!-- not run: REASON -->       leave the block out
    <!-- file: NAME -->            write the block into a file of this name
    <!-- prepare: COMMANDS -->     run these first: what a reader has already, such as a task to look at
    <!-- prints: TEXT -->          the block's output has this text
    <!-- exits: STATUS -->         its last command ends with this status
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
KINDS = ("not run", "file", "prepare", "prints", "exits")

_BLOCK = re.compile(
    r"(?P<notes>(?:^<!--(?:(?!-->).)*-->\n)*)^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL
)
_NOTE = re.compile(r"<!-- ([a-z ]+): (.*?) ?-->", re.DOTALL)
_LIKE_A_NOTE = re.compile(rf"^<!-- (?:{'|'.join(KINDS)})\b(?:(?!-->).)*-->", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A block of code on a page."""

    page: Path
    line: int
    language: str
    code: str
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def pages(*patterns: str) -> list[Path]:
    """Return the pages that fit, in order."""
    return sorted(page for pattern in patterns for page in ROOT.glob(pattern))


def blocks_of(page: Path) -> list[Block]:
    """Return the blocks of a page, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _BLOCK.finditer(text):
        line = text.count("\n", 0, match.start("code"))
        notes = dict(_NOTE.findall(match["notes"]))
        assert set(notes) <= set(KINDS), f"{page}:{line}: there is no such note: {notes}"
        found.append(Block(page, line, match["language"], match["code"], notes))
    return found


def stray_notes(page: Path) -> list[str]:
    """Return the places of notes that say nothing: no block is right below them, or they lack the colon."""
    text = page.read_text(encoding="utf-8")
    above = [range(*match.span("notes")) for match in _BLOCK.finditer(text)]
    return [
        f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, note.start()) + 1}: {note[0]}"
        for note in _LIKE_A_NOTE.finditer(text)
        if not _NOTE.fullmatch(note[0]) or not any(note.start() in span for span in above)
    ]
