"""Makes the rendered site fit to be served by our own server, and packs it into the package.

The content policy allows no script inside a page: each is moved into a file. What the site does not use is removed.
"""

import gzip
import re
import shutil
from hashlib import sha256
from pathlib import Path

UNUSED = ("**/*.map", "404.html", "sitemap.xml", "sitemap.xml.gz", "assets/javascripts/lunr")
PLAIN = {".png", ".woff2", ".ico"}
"""Files that gain nothing from being compressed."""

_SCRIPT = re.compile(r"<script>(.*?)</script>", re.DOTALL)


def finish(site: Path) -> None:
    """Change the site in place."""
    for pattern in UNUSED:
        for path in list(site.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    for page in site.rglob("*.html"):
        parts = _SCRIPT.split(page.read_text(encoding="utf-8"))
        text = "".join(_moved(part, page, site) if number % 2 else part for number, part in enumerate(parts))
        page.write_text(text, encoding="utf-8")


def _moved(script: str, page: Path, site: Path) -> str:
    """Write a script into a file of its own, and return the element that loads it."""
    name = f"assets/javascripts/inline.{sha256(script.encode()).hexdigest()[:8]}.js"
    (site / name).write_text(script, encoding="utf-8")
    back = "../" * len(page.parent.relative_to(site).parts)
    return f'<script src="{back}{name}"></script>'


def pack(site: Path, packaged: Path) -> None:
    """Put the site into the package, text compressed: browsers take it as it is."""
    fresh = packaged.with_name(packaged.name + ".new")
    shutil.rmtree(fresh, ignore_errors=True)
    for file in sorted(path for path in site.rglob("*") if path.is_file()):
        target = fresh / file.relative_to(site)
        target.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix in PLAIN:
            shutil.copy(file, target)
        else:
            target.with_name(f"{target.name}.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
    shutil.rmtree(packaged, ignore_errors=True)
    fresh.rename(packaged)
