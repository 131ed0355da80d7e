"""The documentation site as it is built into the package: whole, from one origin, every link leading somewhere."""

import posixpath
import re
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from drumline._version import __version__
from drumline.api.package_files import SITE

ROOT = Path(__file__).parents[2]
LIMIT = 3 * 1024 * 1024
"""Bytes that the site may add to the wheel."""

pytestmark = pytest.mark.skipif(not SITE.names, reason="the documentation is not built: `make docs` builds it")


class Page(HTMLParser):
    """What a page loads, what it links to, and what can be linked to on it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.inline: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        self.inline += [f"{tag} {name}" for name in given if name == "style" or name.startswith("on")]
        if tag == "style" or (tag == "script" and "src" not in given and given.get("type") != "application/json"):
            self.inline.append(tag)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif "src" in given or (tag == "link" and "href" in given):
            self.loads.append(given.get("src", given.get("href", "")))


def names() -> list[str]:
    return sorted(name.removesuffix(".gz") for name in SITE.names)


@cache
def text(name: str) -> str:
    found = SITE.find(name)
    assert found is not None
    return found.plain.decode()


@cache
def page(name: str) -> Page:
    return Page(text(name))


PAGES = [name for name in names() if name.endswith(".html")]


def target(name: str, link: str) -> tuple[str | None, str]:
    """Return the file that a link on a page leads to, and the anchor in it."""
    parts = urlsplit(link)
    path = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path))) if parts.path else name
    found = SITE.page_name("" if path == "." else path)
    return found, unquote(parts.fragment)


def test_every_link_leads_to_a_page_and_an_anchor_on_it() -> None:
    broken = []
    for name in PAGES:
        for link in page(name).links:
            if link.startswith(("http://", "https://", "mailto:")):
                continue
            found, anchor = target(name, link)
            if found is None or (anchor and found.endswith(".html") and anchor not in page(found).ids | {"__skip"}):
                broken.append(f"{name}: {link}")

    assert len(PAGES) > 60
    assert broken == []


def test_nothing_is_loaded_from_another_origin_and_nothing_runs_inside_a_page() -> None:
    inline = [f"{name}: {what}" for name in PAGES for what in page(name).inline]
    loads = [(name, link) for name in PAGES for link in page(name).loads]
    foreign = [link for _, link in loads if re.match(r"[a-z]+:|//", link)]
    missing = [f"{name}: {link}" for name, link in loads if target(name, link)[0] is None]

    assert (inline, foreign, missing) == ([], [], [])


def test_style_sheets_load_nothing_from_elsewhere() -> None:
    sheets = [name for name in names() if name.endswith(".css")]
    urls = [url for name in sheets for url in re.findall(r"url\(([^)]+)\)", text(name))]

    assert sheets
    assert [url for url in urls if not url.strip("\"'").startswith(("data:", "#", "../", "./"))] == []


def test_every_page_of_the_sources_is_on_the_site_and_in_the_navigation() -> None:
    sources = {path.relative_to(ROOT / "docs").with_suffix("") for path in (ROOT / "docs").rglob("*.md")}
    addresses = {f"{source.parent if source.name == 'index' else source}/index.html" for source in sources}
    wanted = {posixpath.normpath(address) for address in addresses}
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("nav:\n")[2]
    patterns = re.findall(r"- (?:[\w ]+: )?(\S+\.md)$", nav, re.MULTILINE)

    assert sorted(wanted - set(PAGES)) == []
    assert [str(source) for source in sources if not any(Path(f"{source}.md").match(one) for one in patterns)] == []


def test_the_site_says_which_version_it_is_of() -> None:
    assert [name for name in PAGES if f"Drumline {__version__}" not in text(name)] == []


def test_the_index_for_language_models_lists_pages_that_are_there() -> None:
    index = text("llms.txt")
    links = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", index, re.MULTILINE)

    assert index.startswith(f"# Drumline {__version__}\n\n> ")
    assert len(links) > 40
    assert [link for link in links if link not in SITE] == []
    assert "# Tutorial" in text("tutorial/index.md")
    assert "## Exit status" in text("llms-full.txt")


def test_the_site_is_small_enough_for_the_wheel() -> None:
    assert sum(len(place.read_bytes()) for place in SITE.names.values()) < LIMIT
