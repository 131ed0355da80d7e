"""Prepares the pages of the documentation: those of `docs/`, the root's own, and the files that they link to."""

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

ROOT_PAGES = {
    "ARCHITECTURE.md": "project/architecture.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "CHANGELOG.md": "project/changelog.md",
}
"""Pages that are not in `docs/`, and where they are on the site."""
SHIPPED = ("deploy/", "examples/")
"""Folders whose files are put on the site where a page links to them."""

_LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
_NOTES = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)
"""What only the tests read: tests/docs/pages.py."""
_CODE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
_LIST = re.compile(r"(^(?![-*|#<]|\d+\. | )\S.*\n)(?=(?:[-*]|\d+\.) )", re.MULTILINE)
"""A line of text right before a list."""


def prepare(root: Path, pages: Path, *, version: str) -> None:
    """Write every page of the site into `pages`."""
    shutil.copytree(root / "docs", pages)
    for source, target in ROOT_PAGES.items():
        (pages / target).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / source, pages / target)
    shutil.copy(root / "ui" / "public" / "icon.svg", pages / "logo.svg")
    _write_decisions(pages)
    places = {(root / source): target for source, target in ROOT_PAGES.items()}
    places |= {root / "docs" / page.relative_to(pages): str(page.relative_to(pages)) for page in pages.rglob("*.md")}
    for source, target in places.items():
        page = pages / target
        text = _NOTES.sub("", page.read_text(encoding="utf-8")).replace("{{ version }}", version)
        links = _Links(root, pages, source.parent, page.parent, places)
        page.write_text(_fitted(text, links.rewrite), encoding="utf-8")


class _Links:
    """Rewrites the links of one page: what is on the site is linked, and of the rest only the text stays."""

    def __init__(self, root: Path, pages: Path, source: Path, target: Path, places: dict[Path, str]) -> None:
        self._root, self._pages = root, pages
        self._source, self._target = source, target
        self._places = places

    def rewrite(self, text: str) -> str:
        """Return a part of the page with its links as they are on the site."""
        return _LINK.sub(self._replaced, text)

    def _replaced(self, match: re.Match[str]) -> str:
        text, link = match.group(1), match.group(2)
        if re.match(r"https?:|mailto:|#", link):
            return match.group(0)
        path, hash_, anchor = link.partition("#")
        place = self._place(Path(os.path.normpath(self._source / path)))
        return text if place is None else f"[{text}]({os.path.relpath(place, self._target)}{hash_}{anchor})"

    def _place(self, file: Path) -> Path | None:
        """Return where a file of the repository is on the site."""
        if file in self._places:
            return self._pages / self._places[file]
        if file / "index.md" in self._places or file == self._root / "docs" / "adr":
            return self._pages / file.relative_to(self._root / "docs") / "index.md"
        if file.is_relative_to(self._root / "docs"):
            return self._pages / file.relative_to(self._root / "docs")
        name = str(file.relative_to(self._root)) if file.is_relative_to(self._root) else ""
        if not name.startswith(SHIPPED) or not file.is_file() or file.suffix == ".md":
            return None
        copy = self._pages / "files" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
        return copy


def _fitted(text: str, rewrite: Callable[[str], str]) -> str:
    """Return a page as MkDocs wants it: links rewritten, an empty line before each list; code stays as it is."""
    parts = _CODE.split(text)
    return "".join(part if number % 2 else _LIST.sub(r"\1\n", rewrite(part)) for number, part in enumerate(parts))


def _write_decisions(pages: Path) -> None:
    """Write the list of the decisions."""
    rows = []
    for page in sorted((pages / "adr").glob("[0-9]*.md")):
        title = page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        rows.append(f"- [{title}]({page.name})")
    text = "# Decisions\n\nWhy things are as they are, one page each.\n\n" + "\n".join(rows) + "\n"
    (pages / "adr" / "index.md").write_text(text, encoding="utf-8")
