"""Builds the documentation site: prepares the pages, lets MkDocs render them, and packs the result into the package.

MkDocs does the rendering only. What is ours stands here and in two neighbours, so that another program could take its
place: `docs_pages.py` prepares the pages, `docs_finish.py` makes the rendered site fit our content policy and packs it.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from docs_finish import finish, pack
from docs_pages import prepare
from llms_pages import write_llms

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build" / "docs"
PAGES, SITE = BUILD / "pages", BUILD / "site"
PACKAGED = ROOT / "src" / "drumline" / "_docs"


def main() -> None:
    """Build everything anew."""
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    for folder in (PAGES, SITE):
        shutil.rmtree(folder, ignore_errors=True)
    version = version_of_package()
    prepare(ROOT, PAGES, version=version)
    config["nav"] = [expanded(item) for item in config["nav"]]
    config |= {"site_name": f"Drumline {version}", "docs_dir": str(PAGES), "site_dir": str(SITE)}
    written = BUILD / "mkdocs.yml"
    written.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--config-file", str(written)]
    subprocess.run(command, check=True)  # noqa: S603 - our own configuration
    finish(SITE)
    write_llms(PAGES, SITE, config["nav"], version=version)
    pack(SITE, PACKAGED)


def version_of_package() -> str:
    """Return the version that the documentation is of."""
    text = (ROOT / "src" / "drumline" / "_version.py").read_text(encoding="utf-8")
    return text.partition('__version__ = "')[2].partition('"')[0]


def expanded(item: object) -> object:
    """Return an entry of the navigation with every pattern replaced by the pages that fit it, the index first."""
    if isinstance(item, dict):
        return {title: expanded(inner) for title, inner in item.items()}
    if isinstance(item, list):
        return [page for inner in item for page in _listed(expanded(inner))]
    if isinstance(item, str) and "*" in item:
        found = sorted(PAGES.glob(item), key=lambda path: (path.name != "index.md", path.name))
        return [str(path.relative_to(PAGES)) for path in found]
    return item


def _listed(item: object) -> list[object]:
    return item if isinstance(item, list) else [item]


if __name__ == "__main__":
    main()
