"""Writes each page as Markdown, and for language models `llms.txt`, the index, and `llms-full.txt`, the whole text."""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

SUMMARY = (
    "A distributed task scheduler and job queue in Python that never loses a task. Embedded it is one process on "
    "SQLite; distributed it is PostgreSQL with optional Redis and Kafka. Tasks are submitted over HTTP, from Python or "
    "from the command line, and run at least once by workers that hold fenced leases."
)
OPTIONAL = {"Project"}
"""Sections that can be left out where the context is short; `llms-full.txt` leaves them out."""

Entry = tuple[str, list[str]]


def write_llms(pages: Path, site: Path, nav: list[object], *, version: str) -> None:
    """Write the files into the rendered site."""
    sections = [(title, list(_paths(inner))) for item in nav for title, inner in _items(item)]
    for page in pages.rglob("*.md"):
        target = site / page.relative_to(pages)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(page, target)
    head = f"# Drumline {version}\n\n> {SUMMARY}\n"
    (site / "llms.txt").write_text(head + "".join(_index(pages, sections)), encoding="utf-8")
    whole = [pages / path for title, paths in sections if title not in OPTIONAL for path in paths]
    texts = (
        f"\n\n<!-- {page.relative_to(pages)} -->\n\n{page.read_text(encoding='utf-8').strip()}\n" for page in whole
    )
    (site / "llms-full.txt").write_text(head + "".join(texts), encoding="utf-8")


def _index(pages: Path, sections: list[Entry]) -> Iterator[str]:
    for title, paths in sections:
        yield f"\n## {'Optional' if title in OPTIONAL else title}\n\n"
        for path in paths:
            heading, about = _described((pages / path).read_text(encoding="utf-8"))
            yield f"- [{heading}]({path})" + (f": {about}" if about else "") + "\n"


def _described(text: str) -> tuple[str, str]:
    """Return a page's title and its first sentence."""
    heading = re.search(r"^# (.+)$", text, re.MULTILINE)
    body = re.sub(r"<!--.*?-->", "", text[heading.end() if heading else 0 :], flags=re.DOTALL)
    paragraph = next((part for part in body.split("\n\n") if re.match(r"[A-Z`*\[]", part.strip())), "")
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(paragraph.split()))
    sentence = re.match(r".+?[.:](?= |$)", plain)
    return (heading.group(1) if heading else "Drumline"), (sentence.group(0).rstrip(":") if sentence else "")


def _items(item: object) -> Iterator[tuple[str, object]]:
    if isinstance(item, dict):
        yield from item.items()


def _paths(item: object) -> Iterator[str]:
    if isinstance(item, str):
        yield item
    for inner in item if isinstance(item, list) else item.values() if isinstance(item, dict) else ():
        yield from _paths(inner)
